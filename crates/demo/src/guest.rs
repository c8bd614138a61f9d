//! The account `demo`: follows popular authors, has a few followers, a conversation and bookmarks.

use std::collections::HashSet;

use domain::{
    ContentId, Media, Reaction, UserId,
    account::profile::{InvalidRegistration, Registration},
    content::{Draft, InvalidDraft},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    applause::react,
    calendar::{HOUR_MS, MINUTE_MS},
    lexicon::Language,
    numbers::{low_half, scramble, signed},
    seeding::{SeedAuthor, SeedContent, SeedFollow},
    world::World,
};

/// Its handle.
pub const HANDLE: &str = "demo";
/// The password of every seeded account: for trying things out, never for a public server.
pub const PASSWORD: &str = "demo-tidefeed";
/// How old it is when its world is seeded.
const AGE_MS: i64 = 24 * HOUR_MS;
/// Authors that it follows.
const FOLLOWS: u64 = 50;
/// People who follow it.
const FOLLOWERS: u64 = 12;
/// Contents that it likes, and how many of those it bookmarks.
const LIKES: usize = 36;
const BOOKMARKS: usize = 24;
const HELLO: &str =
    "Hello! I am here to look around. Follow me back, or better: publish something and watch it arrive.";
/// Replies from neighbours, the first with the clip. It thanks for the last one, whose author reposts its greeting.
const WELCOMES: [&str; 2] = [
    "Welcome aboard! Start with the people you find interesting; the rest follows.",
    "Hello! Open a thread or two: the best things here are in the replies.",
];
const THANKS: &str = "Thank you! That was quick.";

/// Words of the guest's are not accepted.
#[derive(Debug, thiserror::Error)]
pub enum InvalidGuest {
    /// Its handle, name or bio.
    #[error(transparent)]
    Registration(#[from] InvalidRegistration),
    /// What it publishes, or what it is answered.
    #[error(transparent)]
    Draft(#[from] InvalidDraft),
}

/// The account, and its edges in both directions.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The account with its greeting.
    pub author: SeedAuthor,
    /// Who follows whom, it among them.
    pub follows: Vec<SeedFollow>,
}

impl Guest {
    /// The guest of a world. The same world has the same guest.
    pub fn of(world: &World) -> Result<Self, InvalidGuest> {
        let now_ms = world.now_ms();
        let created_at = now_ms - AGE_MS;
        let number = |purpose| scramble(world.seed(), u64::MAX, purpose);
        let id = UserId::generate(created_at, low_half(number(1) >> 32));
        let publish_time = now_ms - 2 * HOUR_MS;
        let draft = Draft::try_new(HELLO, Vec::new(), None)?;
        let hello = content(draft, publish_time, low_half(number(2) >> 32));
        let author = SeedAuthor {
            id,
            registration: Registration::try_new(HANDLE, "Demo", "Just looking around.", world.avatar(id))?,
            created_at,
            last_seen: publish_time,
            incarnation: signed(number(3) >> 1).max(1),
            contents: vec![hello],
        };
        let mut follows = world.popular(id, FOLLOWS);
        follows.extend(followers(world, id, created_at));
        Ok(Self { author, follows })
    }

    /// When a world was seeded whose guest was created then; both ms UTC.
    pub const fn seeded_at(created_at: i64) -> i64 {
        created_at + AGE_MS
    }

    /// Joins the first neighbourhood, where users whom it follows and who write English reply to it and repost it.
    /// Then it reacts to some contents.
    pub fn move_in(&self, world: &World, people: &mut Vec<SeedAuthor>) -> Result<(), InvalidGuest> {
        let mut rng = StdRng::seed_from_u64(scramble(world.seed(), u64::MAX, 4));
        let mut author = self.author.clone();
        let hello = &mut author.contents[0];
        let (mut last, mut thanks) = (hello.publish_time, None);
        for (host, words) in self.hosts(world, people).into_iter().zip(WELCOMES) {
            last += 10 * MINUTE_MS;
            let media = world.clip().filter(|_| thanks.is_none()).into_iter().collect();
            let welcome = reply((words, media), hello.id, last, rng.random())?;
            let host = &mut people[host];
            hello.reactions.push(react((host.id, Reaction::Like), hello.publish_time, world.now_ms(), &mut rng));
            thanks = Some((host.id, reply((THANKS, Vec::new()), welcome.id, last + 10 * MINUTE_MS, rng.random())?));
            host.contents.push(welcome);
        }
        if let Some((host, thanks)) = thanks {
            let publish_time = thanks.publish_time + 10 * MINUTE_MS;
            let repost = content(Draft::repost(hello.id), publish_time, rng.random());
            people.iter_mut().filter(|other| other.id == host).for_each(|other| other.contents.push(repost.clone()));
            author.contents.push(thanks);
        }
        self.react_to_followed(world.now_ms(), people, &mut rng);
        people.push(author);
        Ok(())
    }

    /// The places of those who reply.
    fn hosts(&self, world: &World, people: &[SeedAuthor]) -> Vec<usize> {
        let followed = self.followed();
        let ranked = (0..world.users()).zip(people).enumerate();
        let welcoming = ranked
            .filter(|(_, (rank, author))| world.language(*rank) == Language::English && followed.contains(&author.id));
        welcoming.map(|(index, _)| index).take(WELCOMES.len()).collect()
    }

    fn followed(&self) -> HashSet<UserId> {
        self.follows.iter().map(|follow| follow.author).collect()
    }

    /// Likes and bookmarks some contents of followed authors.
    fn react_to_followed(&self, now_ms: i64, people: &mut [SeedAuthor], rng: &mut StdRng) {
        let followed = self.followed();
        let known = people.iter_mut().filter(|author| followed.contains(&author.id));
        let mut seen: Vec<&mut SeedContent> = known.flat_map(|author| &mut author.contents).collect();
        seen.retain(|content| content.draft.reference.repost_of().is_none());
        for nth in 0..LIKES.min(seen.len()) {
            let content = seen.swap_remove(rng.random_range(0..seen.len()));
            let wanted = if nth < BOOKMARKS { &[Reaction::Like, Reaction::Bookmark][..] } else { &[Reaction::Like] };
            let own = wanted.iter().map(|what| react((self.author.id, *what), content.publish_time, now_ms, rng));
            content.reactions.extend(own);
        }
    }
}

fn content(draft: Draft, publish_time: i64, drawn: u32) -> SeedContent {
    SeedContent { id: ContentId::generate(publish_time, drawn), draft, publish_time, reactions: Vec::new() }
}

fn reply(
    (text, media): (&str, Vec<Media>),
    to: ContentId,
    publish_time: i64,
    drawn: u32,
) -> Result<SeedContent, InvalidDraft> {
    Ok(content(Draft::try_new(text, media, None)?.replying_to(to), publish_time, drawn))
}

/// Followers from all ranks.
fn followers(world: &World, guest: UserId, since_ms: i64) -> impl Iterator<Item = SeedFollow> + '_ {
    let step = (world.users() / FOLLOWERS).max(1);
    let ranks = (0..world.users()).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    ranks.take(usize::try_from(FOLLOWERS).unwrap_or(0)).map(move |rank| {
        let incarnation = signed(scramble(world.seed(), rank, 99) >> 1).max(1);
        let followed_at = since_ms + signed(scramble(world.seed(), rank, 98) % HOUR_MS.unsigned_abs());
        SeedFollow { follower: world.user_id(rank), author: guest, incarnation, followed_at }
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{
        seeding::tally,
        world::{
            Plan,
            tests::{plan, world},
        },
    };

    #[test]
    fn the_guest_follows_fifty_and_is_followed_by_a_few() {
        let guest = Guest::of(&world(1, 200)).unwrap();
        let own = guest.author.id;
        let following = guest.follows.iter().filter(|follow| follow.follower == own).count();
        let followers = guest.follows.iter().filter(|follow| follow.author == own).count();
        assert_eq!((following, followers), (50, 12));
        assert!(domain::account::profile::check_password(PASSWORD).is_ok());
    }

    #[test]
    fn the_guest_is_greeted_answers_and_has_bookmarks() {
        let world = world(1, 200);
        let (guest, mut people) = (Guest::of(&world).unwrap(), world.neighbourhood(0..200).unwrap());
        guest.move_in(&world, &mut people).unwrap();
        let tally = tally(&people).unwrap();
        let (hello, thanks) = (&people.last().unwrap().contents[0], &people.last().unwrap().contents[1]);
        let of_hello = tally[&hello.id].1;
        assert_eq!((of_hello.replies, of_hello.likes, of_hello.reposts), (2, 2, 1));
        assert!(thanks.draft.reference.reply_to().is_some_and(|to| tally[&to].1.replies == 1));
        let own = people.iter().flat_map(|it| &it.contents).flat_map(|it| &it.reactions);
        let own: Vec<_> = own.filter(|it| it.user == guest.author.id).map(|it| it.reaction).collect();
        let count = |of| own.iter().filter(|it| **it == of).count();
        assert_eq!((count(Reaction::Like), count(Reaction::Bookmark)), (LIKES, BOOKMARKS));
    }

    #[test]
    fn only_english_speakers_greet_the_demo_guest() {
        let world = World::new(Plan { first_place: 1, ..plan(1, 1) });
        let (guest, mut people) = (Guest::of(&world).unwrap(), world.neighbourhood(0..1).unwrap());
        guest.move_in(&world, &mut people).unwrap();
        assert_eq!(people.last().unwrap().contents.len(), 1);
    }
}
