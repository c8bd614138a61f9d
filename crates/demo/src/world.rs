//! The seeded world: a pure function from a plan to users, contents and follows, one neighbourhood at a time, so that
//! a world of any size needs little memory.

use std::{collections::BTreeSet, ops::Range};

use domain::{
    ContentId, Media, UserId,
    account::profile::{InvalidRegistration, Registration},
    limits::MAX_FOLLOWS,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    album::Album,
    applause::applaud,
    calendar::{DAY_MS, last_seen, moment},
    lexicon::Language,
    numbers::{fraction, low_half, scramble, signed, whole},
    people::People,
    popularity::{Popularity, skewed},
    seeding::{SeedAuthor, SeedContent, SeedFollow},
    talk::{Neighbour, talk},
};

/// Most contents of one user, so that a user and all their contents fit one transaction.
const MAX_CONTENTS: u64 = 2_000;
/// How long before the first content users may have registered, in days.
const OLDEST_MEMBER_DAYS: u64 = 400;
/// Extra draws that favour followed authors with the same language.
const REDRAWS: usize = 2;
/// Approximate rows of a neighbourhood, which one transaction writes. Ids of contents are spread over weeks, so each
/// row touches pages of its own, and a larger commit shares more pages. A commit still takes well below a second, so
/// that a service can write beside it.
const NEIGHBOURHOOD_ROWS: u64 = 20_000;
/// Rows that each content brings: itself and reactions.
const ROWS_A_CONTENT: u64 = 2;

/// The purpose of a random draw. Draws for different purposes are independent.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Arrival = 1,
    Id,
    Person,
    Contents,
    Follows,
    Talk,
}

/// A description of the world to make.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Another seed, another world.
    pub seed: u64,
    /// Number of users without the guest; at least 1.
    pub users: u64,
    /// Number of users that the database had before. Places, and so handles, continue from there.
    pub first_place: u64,
    /// Average number of authors that a user follows.
    pub follows_per_user: u32,
    /// Average number of contents of a user.
    pub contents_per_user: u32,
    /// Age of the oldest contents in days; at least 1.
    pub days: u32,
    /// The present of the world, ms UTC.
    pub now_ms: i64,
    /// Where pictures and clips are.
    pub album: Album,
    /// Where avatars are, with `{n}` for a user's id; `None` makes people without.
    pub avatars: Option<String>,
    /// The id of a user as the API gives it, by which avatars are named.
    pub public_id: fn(UserId) -> String,
}

/// The world of a plan.
#[derive(Debug)]
pub struct World {
    plan: Plan,
    people: People,
    popularity: Popularity,
}

impl World {
    /// Costs little: people are made when they are asked for.
    pub fn new(plan: Plan) -> Self {
        let popularity = Popularity::among(plan.users);
        Self { plan, people: People::new(), popularity }
    }

    /// Number of users. Ranks go from 0, the most popular first.
    pub const fn users(&self) -> u64 {
        self.plan.users
    }

    /// The present of the world, ms UTC.
    pub const fn now_ms(&self) -> i64 {
        self.plan.now_ms
    }

    /// The seed of the plan.
    pub const fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// The id of the person of that rank.
    pub fn user_id(&self, rank: u64) -> UserId {
        UserId::generate(self.arrival(rank), low_half(self.scramble(rank, Purpose::Id)))
    }

    /// Ranges of ranks that are written together and reply to each other.
    pub fn neighbourhoods(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let one = 1 + ROWS_A_CONTENT * u64::from(self.plan.contents_per_user);
        let (users, size) = (self.plan.users, (NEIGHBOURHOOD_ROWS / one).clamp(20, 1_000));
        (0..users.div_ceil(size)).map(move |nth| nth * size..((nth + 1) * size).min(users))
    }

    /// The users of these ranks with their contents and reactions. Whole neighbourhoods only.
    pub fn neighbourhood(&self, ranks: Range<u64>) -> Result<Vec<SeedAuthor>, InvalidRegistration> {
        let mut rng = self.rng(ranks.start, Purpose::Talk);
        let neighbour = |rank| {
            let (author, language) = (self.author(rank)?, self.language(rank));
            Ok(Neighbour { author, language, fame: self.expected_followers(rank) })
        };
        let mut people: Vec<Neighbour> = ranks.map(neighbour).collect::<Result<_, InvalidRegistration>>()?;
        talk(&mut people, &self.people, &mut rng);
        applaud(&mut people, self.plan.now_ms, &mut rng);
        Ok(people.into_iter().map(|neighbour| neighbour.author).collect())
    }

    /// The language of the user of that rank.
    pub(crate) fn language(&self, rank: u64) -> Language {
        People::language(self.plan.first_place + rank)
    }

    /// The user of that rank with all contents, before any replies.
    fn author(&self, rank: u64) -> Result<SeedAuthor, InvalidRegistration> {
        let place = self.plan.first_place + rank;
        let language = self.language(rank);
        let name = self.people.name(place);
        let mut rng = self.rng(rank, Purpose::Person);
        let bio = self.people.bio(language, &mut rng);
        Ok(SeedAuthor {
            id: self.user_id(rank),
            registration: Registration::try_new(&name.handle, &name.shown, &bio, self.avatar(self.user_id(rank)))?,
            created_at: self.arrival(rank),
            last_seen: last_seen(self.arrival(rank), self.plan.now_ms, &mut rng),
            incarnation: edge_incarnation(&mut rng),
            contents: self.contents(language, &mut self.rng(rank, Purpose::Contents)),
        })
    }

    /// The authors whom the user of that rank follows: each once, never themselves.
    pub fn follows(&self, rank: u64) -> Vec<SeedFollow> {
        let mut rng = self.rng(rank, Purpose::Follows);
        let most = (self.plan.users - 1).min(MAX_FOLLOWS / 2);
        let wanted =
            whole(skewed(f64::from(self.plan.follows_per_user), 0.7, &mut rng).round()).clamp(1.min(most), most);
        let language = self.language(rank);
        let authors = self.choose(wanted, Some(rank), Some(language), &mut rng);
        let follower = self.user_id(rank);
        authors.into_iter().map(|author| self.edge((follower, self.arrival(rank)), author, &mut rng)).collect()
    }

    /// `wanted` popular authors of any language, or all authors.
    pub fn popular(&self, follower: UserId, wanted: u64) -> Vec<SeedFollow> {
        let mut rng = self.rng(u64::MAX, Purpose::Follows);
        let authors = self.choose(wanted.min(self.plan.users), None, None, &mut rng);
        let arrived = self.plan.now_ms - i64::from(self.plan.days) * DAY_MS;
        authors.into_iter().map(|author| self.edge((follower, arrived), author, &mut rng)).collect()
    }

    /// The avatar of that user, as a link.
    pub fn avatar(&self, user: UserId) -> Option<String> {
        Some(self.plan.avatars.as_ref()?.replace("{n}", &(self.plan.public_id)(user)))
    }

    fn contents(&self, language: Language, rng: &mut StdRng) -> Vec<SeedContent> {
        let count = whole(skewed(f64::from(self.plan.contents_per_user), 0.9, rng).round()).min(MAX_CONTENTS);
        let mut ids = BTreeSet::new();
        let mut contents: Vec<_> = (0..count).filter_map(|_| self.content(language, rng)).collect();
        contents.retain(|content| ids.insert(content.id));
        contents
    }

    /// The clip, told of in English; `None` without an address for it.
    pub fn clip(&self) -> Option<Media> {
        self.plan.album.clip(self.people.lexicon(Language::English))
    }

    /// `None` for a text that cannot be published, which the lexicon never produces.
    fn content(&self, language: Language, rng: &mut StdRng) -> Option<SeedContent> {
        let lexicon = self.people.lexicon(language);
        let publish_time = moment(language, self.plan.days, self.plan.now_ms, rng);
        Some(SeedContent {
            id: ContentId::generate(publish_time, rng.random()),
            draft: self.plan.album.post(lexicon, rng).ok()?,
            publish_time,
            reactions: Vec::new(),
        })
    }

    /// The expected number of followers of the user of that rank.
    fn expected_followers(&self, rank: u64) -> f64 {
        let edges = fraction(self.plan.users) * f64::from(self.plan.follows_per_user);
        (edges * self.popularity.share(rank)).min(fraction(self.plan.users))
    }

    /// Draws `wanted` ranks, ascending; fewer if chance misses them for very long.
    fn choose(&self, wanted: u64, but: Option<u64>, language: Option<Language>, rng: &mut StdRng) -> BTreeSet<u64> {
        let mut chosen = BTreeSet::new();
        for _ in 0..wanted.saturating_mul(8) {
            if chosen.len() as u64 >= wanted {
                break;
            }
            let rank = self.sample_author(language, rng);
            if Some(rank) != but {
                chosen.insert(rank);
            }
        }
        chosen
    }

    fn sample_author(&self, language: Option<Language>, rng: &mut StdRng) -> u64 {
        let mut rank = self.popularity.sample(rng);
        for _ in 0..REDRAWS {
            let understood = language.is_none_or(|own| self.language(rank) == own);
            if understood {
                break;
            }
            rank = self.popularity.sample(rng);
        }
        rank
    }

    /// An edge made some time after both users had registered.
    fn edge(&self, (follower, arrived): (UserId, i64), author: u64, rng: &mut StdRng) -> SeedFollow {
        let both = arrived.max(self.arrival(author));
        let followed_at = rng.random_range(both..self.plan.now_ms.max(both + 1));
        SeedFollow { follower, author: self.user_id(author), incarnation: edge_incarnation(rng), followed_at }
    }

    /// When the user of that rank registered, ms UTC; before all contents.
    fn arrival(&self, rank: u64) -> i64 {
        let before = u64::from(self.plan.days) + 2;
        let span = OLDEST_MEMBER_DAYS * DAY_MS.unsigned_abs();
        let jitter = self.scramble(rank, Purpose::Arrival) % span;
        self.plan.now_ms - signed(before) * DAY_MS - signed(jitter)
    }

    fn scramble(&self, rank: u64, purpose: Purpose) -> u64 {
        scramble(self.plan.seed, self.plan.first_place.wrapping_add(rank), purpose as u64)
    }

    fn rng(&self, rank: u64, purpose: Purpose) -> StdRng {
        StdRng::seed_from_u64(self.scramble(rank, purpose))
    }
}

fn edge_incarnation(rng: &mut StdRng) -> i64 {
    rng.random_range(1..i64::MAX)
}

#[cfg(test)]
pub mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::collections::{HashMap, HashSet};

    use domain::MediaKind;

    use super::*;
    use crate::pictures;

    pub fn plan(seed: u64, users: u64) -> Plan {
        Plan {
            seed,
            users,
            first_place: 0,
            follows_per_user: 20,
            contents_per_user: 20,
            days: 21,
            now_ms: 1_790_000_000_000,
            album: Album {
                pictures: Some("https://pictures.example/{n}".to_owned()),
                clips: Some("https://clips.example/{n}".to_owned()),
            },
            avatars: Some("https://avatars.example/{n}".to_owned()),
            public_id: |user| user.get().to_string(),
        }
    }

    pub fn world(seed: u64, users: u64) -> World {
        World::new(plan(seed, users))
    }

    fn followers(world: &World) -> Vec<usize> {
        let mut counts: HashMap<UserId, usize> = HashMap::new();
        for rank in 0..world.users() {
            for follow in world.follows(rank) {
                *counts.entry(follow.author).or_default() += 1;
            }
        }
        let mut all: Vec<usize> =
            (0..world.users()).map(|rank| counts.get(&world.user_id(rank)).copied().unwrap_or(0)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all
    }

    #[test]
    fn the_same_seed_makes_the_same_world_and_another_makes_another() {
        let shown = |seed| {
            let world = world(seed, 50);
            let follows: Vec<_> = (0..50).map(|rank| world.follows(rank)).collect();
            format!("{:?} {follows:?}", world.neighbourhood(0..50).unwrap())
        };
        assert_eq!(shown(7), shown(7));
        assert_ne!(shown(7), shown(8));
    }

    #[test]
    fn the_most_followed_hundredth_has_more_than_ten_times_the_median() {
        for users in [200, 5000] {
            let degrees = followers(&world(1, users));
            let hundredth = degrees.len() / 100;
            let top = degrees[..hundredth].iter().sum::<usize>() / hundredth;
            let median = degrees[degrees.len() / 2].max(1);
            assert!(top > 10 * median, "{users}: {top} against {median}");
            let mean = degrees.iter().sum::<usize>() / degrees.len();
            assert!((15..25).contains(&mean), "{users}: {mean} follows a user");
        }
    }

    #[test]
    fn made_up_users_follow_others_once_and_never_themselves() {
        let world = world(3, 100);
        for rank in 0..100 {
            let follows = world.follows(rank);
            let authors: HashSet<_> = follows.iter().map(|follow| follow.author).collect();
            assert!(authors.len() == follows.len() && !authors.contains(&world.user_id(rank)) && !follows.is_empty());
            assert!(follows.iter().all(|follow| follow.followed_at < 1_790_000_000_000 && follow.incarnation > 0));
        }
    }

    #[test]
    fn contents_lie_between_their_authors_arrival_and_now() {
        let world = world(4, 300);
        let authors = world.neighbourhood(0..300).unwrap();
        let contents: Vec<_> = authors.iter().flat_map(|author| &author.contents).collect();
        assert!((4500..7500).contains(&contents.len()), "{}", contents.len());
        assert!(authors.iter().all(|author| {
            author
                .contents
                .iter()
                .all(|content| content.publish_time > author.created_at && content.publish_time < 1_790_000_000_000)
        }));
        let ids: HashSet<_> = contents.iter().map(|content| content.id).collect();
        let texts: HashSet<_> = contents.iter().map(|content| &content.draft.text).collect();
        assert!(ids.len() == contents.len() && texts.len() > contents.len() / 2, "{} texts", texts.len());
        let pictured = contents.iter().filter(|content| !content.draft.media.is_empty()).count();
        assert!((contents.len() / 40..contents.len() / 10).contains(&pictured), "{pictured}");
    }

    #[test]
    fn the_words_for_a_picture_are_those_of_its_scene() {
        let world = world(1, 200);
        let mut scenes = HashSet::new();
        for (rank, author) in (0..200).zip(world.neighbourhood(0..200).unwrap()) {
            let alts = world.people.lexicon(world.language(rank)).lines("alt");
            assert_eq!(alts.len(), pictures::SCENES as usize, "{:?}", world.language(rank));
            let shown = author.contents.iter().flat_map(|content| &content.draft.media);
            for Media { url, alt, .. } in shown.filter(|media| media.kind == MediaKind::Picture) {
                let number: usize = url.strip_prefix("https://pictures.example/").unwrap().parse().unwrap();
                assert_eq!(alt, alts[number % alts.len()], "{url}");
                scenes.insert(alt.clone());
            }
        }
        assert!(scenes.len() > 3 * pictures::SCENES as usize, "{scenes:?}");
    }

    #[test]
    fn neighbourhoods_cover_each_rank_once_and_shrink_with_more_contents() {
        for (contents_per_user, most) in [(0, 1000), (20, 487), (1000, 20)] {
            let plan = Plan { contents_per_user, ..plan(1, 2345) };
            let ranges: Vec<_> = World::new(plan).neighbourhoods().collect();
            assert_eq!(ranges.iter().cloned().flatten().collect::<Vec<_>>(), (0..2345).collect::<Vec<_>>());
            assert_eq!(ranges.iter().map(|range| range.end - range.start).max(), Some(most));
        }
    }

    #[test]
    fn consecutive_worlds_share_no_users() {
        let first = world(5, 100);
        let second = World::new(Plan { first_place: 100, ..first.plan.clone() });
        let handles = |world: &World| -> HashSet<String> {
            (0..100).map(|rank| world.author(rank).unwrap().registration.handle.to_string()).collect()
        };
        assert!(handles(&first).is_disjoint(&handles(&second)));
        let ids: HashSet<_> = (0..100).flat_map(|rank| [first.user_id(rank), second.user_id(rank)]).collect();
        assert_eq!(ids.len(), 200);
    }

    #[test]
    fn a_single_user_follows_no_one() {
        let world = world(6, 1);
        assert!(world.follows(0).is_empty());
        assert_eq!(world.popular(UserId::try_new(5).unwrap(), 50).len(), 1);
    }
}
