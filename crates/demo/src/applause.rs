//! Creates likes and bookmarks within a neighbourhood as reactions of seeded users, so that counters are the sums of
//! real rows.

use domain::{Reaction, UserId};
use rand::{Rng, RngExt, seq::index};

use crate::{
    calendar::DAY_MS,
    numbers::{fraction, whole},
    popularity::skewed,
    seeding::SeedReaction,
    talk::Neighbour,
};

/// Average likes of a content. Users with more followers than their neighbours get more. The number does not grow with
/// the world, because all reactions are written with the neighbourhood.
const LIKES: f64 = 1.2;
/// Average bookmarks for each like.
const BOOKMARKS: f64 = 0.25;
/// Time within which a content is liked.
const WHILE_MS: i64 = 2 * DAY_MS;

/// Lets neighbours react to each other's contents, but not to reposts.
pub fn applaud(people: &mut [Neighbour], now_ms: i64, rng: &mut impl Rng) {
    let average = people.iter().map(|neighbour| neighbour.fame).sum::<f64>() / fraction(people.len() as u64);
    let ids: Vec<UserId> = people.iter().map(|neighbour| neighbour.author.id).collect();
    for neighbour in people {
        let others: Vec<UserId> = ids.iter().copied().filter(|id| *id != neighbour.author.id).collect();
        for content in &mut neighbour.author.contents {
            if content.draft.reference.repost_of().is_some() {
                continue;
            }
            let likes = skewed(LIKES * neighbour.fame / average, 1.0, rng).min(neighbour.fame).round();
            let bookmarks = skewed(likes * BOOKMARKS, 0.8, rng).round();
            for (reaction, count) in [(Reaction::Like, likes), (Reaction::Bookmark, bookmarks)] {
                let at = content.publish_time;
                let fans = some(&others, whole(count), rng);
                content.reactions.extend(fans.into_iter().map(|user| react((user, reaction), at, now_ms, rng)));
            }
        }
    }
}

/// A user's reaction to a content published at that time, made before now.
pub fn react((user, reaction): (UserId, Reaction), published: i64, now_ms: i64, rng: &mut impl Rng) -> SeedReaction {
    SeedReaction { user, reaction, at: published + rng.random_range(0..(now_ms - published).clamp(1, WHILE_MS)) }
}

/// `count` of the users, or all of them, each once.
fn some(users: &[UserId], count: u64, rng: &mut impl Rng) -> Vec<UserId> {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(users.len());
    index::sample(rng, users.len(), count).into_iter().map(|index| users[index]).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use crate::world::{
        Plan, World,
        tests::{plan, world},
    };

    #[test]
    fn reactions_per_neighbourhood_do_not_grow_with_the_world() {
        for users in [200, 1_000_000] {
            let world = world(1, users);
            let people = world.neighbourhood(world.neighbourhoods().next().unwrap()).unwrap();
            let contents = || people.iter().flat_map(|author| &author.contents);
            let reactions: usize = contents().map(|content| content.reactions.len()).sum();
            assert!((contents().count() / 2..contents().count() * 3).contains(&reactions), "{users}: {reactions}");
        }
    }

    #[test]
    fn without_follows_there_are_no_reactions() {
        let world = World::new(Plan { follows_per_user: 0, ..plan(1, 30) });
        let people = world.neighbourhood(0..30).unwrap();
        assert!(people.iter().flat_map(|author| &author.contents).all(|content| content.reactions.is_empty()));
    }
}
