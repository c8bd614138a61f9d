//! Likes and favourites in a neighbourhood, as reactions of people who are there: counters have nothing else to count.

use rand::{Rng, RngExt, seq::index};

use super::{calendar::DAY_MS, numbers::whole, popularity::skewed, talk::Neighbour};
use crate::{
    domain::{Reaction, UserId},
    store::seeding::SeedReaction,
};

/// What share of its author's followers likes a content, on average.
const LIKES: f64 = 0.06;
/// How many favourites there are for each like, on average.
const FAVOURITES: f64 = 0.25;
/// Contents are liked within this time.
const WHILE_MS: i64 = 2 * DAY_MS;

/// Lets the neighbours react to what each other has published; nobody to reposts, which stand for their originals.
pub fn applaud(people: &mut [Neighbour], now_ms: i64, rng: &mut impl Rng) {
    let ids: Vec<UserId> = people.iter().map(|neighbour| neighbour.author.id).collect();
    for neighbour in people {
        let others: Vec<UserId> = ids.iter().copied().filter(|id| *id != neighbour.author.id).collect();
        for content in &mut neighbour.author.contents {
            if content.draft.reference.repost_of().is_some() {
                continue;
            }
            let likes = skewed(neighbour.fame * LIKES, 1.0, rng).min(neighbour.fame).round();
            let favourites = skewed(likes * FAVOURITES, 0.8, rng).round();
            for (reaction, count) in [(Reaction::Like, likes), (Reaction::Favourite, favourites)] {
                let at = content.publish_time;
                let fans = some(&others, whole(count), rng);
                content.reactions.extend(fans.into_iter().map(|user| react((user, reaction), at, now_ms, rng)));
            }
        }
    }
}

/// A user's reaction to what was published at that time, before now.
pub fn react((user, reaction): (UserId, Reaction), published: i64, now_ms: i64, rng: &mut impl Rng) -> SeedReaction {
    SeedReaction { user, reaction, at: published + rng.random_range(0..(now_ms - published).clamp(1, WHILE_MS)) }
}

/// So many of them, or all, each once.
fn some(users: &[UserId], count: u64, rng: &mut impl Rng) -> Vec<UserId> {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(users.len());
    index::sample(rng, users.len(), count).into_iter().map(|place| users[place]).collect()
}
