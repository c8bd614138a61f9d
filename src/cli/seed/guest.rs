//! The account that is there to be tried: follows popular authors, is followed by a few, has said hello.

use super::{
    calendar::HOUR_MS,
    numbers::{scramble, signed},
    world::World,
};
use crate::{
    domain::{ContentId, Counters, UserId, content::Draft, profile::Registration},
    store::seeding::{SeedAuthor, SeedContent, SeedFollow},
};

/// Its handle.
pub const HANDLE: &str = "demo";
/// Its password, and that of every seeded account: for trying, never for a server that others can reach.
pub const PASSWORD: &str = "demo-tidefeed";
/// Authors that it follows.
const FOLLOWS: u64 = 50;
/// People who follow it.
const FOLLOWERS: u64 = 12;

/// The account, and its edges in both directions.
#[derive(Debug, Clone)]
pub struct Guest {
    pub author: SeedAuthor,
    pub follows: Vec<SeedFollow>,
}

impl Guest {
    /// The guest of a world; the same for the same world.
    pub fn of(world: &World) -> anyhow::Result<Self> {
        let now_ms = world.now_ms();
        let created_at = now_ms - 24 * HOUR_MS;
        let number = |purpose| scramble(world.seed(), u64::MAX, purpose);
        let id = UserId::draw(created_at, u32::try_from(number(1) >> 32)?);
        let publish_time = now_ms - 2 * HOUR_MS;
        let hello =
            "Hello! I am here to look around. Follow me back, or better: publish something and watch it arrive.";
        let content = SeedContent {
            id: ContentId::draw(publish_time, u32::try_from(number(2) >> 32)?),
            draft: Draft::try_new(hello, Vec::new(), None)?,
            publish_time,
            counters: Counters { likes: 3, ..Counters::default() },
        };
        let author = SeedAuthor {
            id,
            registration: Registration::try_new(HANDLE, "Demo", "Just looking around.", None)?,
            created_at,
            last_seen: publish_time,
            inc: signed(number(3) >> 1).max(1),
            contents: vec![content],
        };
        let mut follows = world.popular(id, FOLLOWS);
        follows.extend(followers(world, id, created_at));
        Ok(Self { author, follows })
    }
}

/// People from all over the ranks.
fn followers(world: &World, guest: UserId, since_ms: i64) -> impl Iterator<Item = SeedFollow> + '_ {
    let step = (world.users() / FOLLOWERS).max(1);
    let ranks = (0..world.users()).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    ranks.take(usize::try_from(FOLLOWERS).unwrap_or(0)).map(move |rank| {
        let inc = signed(scramble(world.seed(), rank, 99) >> 1).max(1);
        let followed_at = since_ms + signed(scramble(world.seed(), rank, 98) % HOUR_MS.unsigned_abs());
        SeedFollow { follower: world.user_id(rank), author: guest, inc, followed_at }
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::cli::seed::world::Plan;

    #[test]
    fn the_guest_follows_fifty_and_is_followed_by_a_few() {
        let plan = Plan {
            seed: 1,
            users: 200,
            first_place: 0,
            follows_per_user: 20,
            contents_per_user: 20,
            days: 21,
            now_ms: 1_790_000_000_000,
            pictures: None,
        };
        let guest = Guest::of(&World::new(plan)).unwrap();
        let own = guest.author.id;
        let following = guest.follows.iter().filter(|follow| follow.follower == own).count();
        let followers = guest.follows.iter().filter(|follow| follow.author == own).count();
        assert_eq!((following, followers), (50, 12));
        assert!(crate::domain::profile::check_password(PASSWORD).is_ok());
    }
}
