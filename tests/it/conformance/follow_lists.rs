//! [`FollowLists`]: followers and the followed, newest first.

use anyhow::Result;
use tidefeed::domain::{Direction, EdgeMode, Listing, PageRequest, PageSize, Position, UserId};
use tidefeed::store::{FollowLists as _, Follows as _};

use super::{NOW, World, user};
use crate::servers::on_each_backend;

fn ids(listing: &Listing<UserId>) -> Vec<i64> {
    listing.rows.iter().map(|row| row.item.get()).collect()
}

on_each_backend! {
    async fn follows_are_listed_newest_first_without_ones_own(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(7).await?;
        let store = &world.store;
        for (follower, at) in [(2, 30), (3, 10), (4, 20), (5, 20), (6, 20)] {
            store.follow(user(follower), user(1), EdgeMode::Fill, 7, NOW + at).await?;
            store.follow(user(1), user(follower), EdgeMode::Fill, 7, NOW + at).await?;
        }
        let size = PageSize::try_new(2)?;
        for followers in [true, false] {
            let page = async |request: &PageRequest| {
                if followers { store.followers(user(1), request).await } else { store.following(user(1), request).await }
            };
            let first = page(&PageRequest::newest(size)).await?;
            assert_eq!((ids(&first), first.has_older, first.has_newer), (vec![2, 6], true, false));
            assert_eq!(first.rows[0].since, NOW + 30);
            let after = PageRequest { bound: Some(Position::bound(NOW + 20, 6)), ..PageRequest::newest(size) };
            let second = page(&after).await?;
            assert_eq!((ids(&second), second.has_older, second.has_newer), (vec![5, 4], true, true));
            let after = PageRequest { bound: Some(Position::bound(NOW + 20, 4)), ..PageRequest::newest(size) };
            let last = page(&after).await?;
            assert_eq!((ids(&last), last.has_older, last.has_newer), (vec![3], false, true), "the self-edge is the oldest, and not shown");
            let before = PageRequest { direction: Direction::Newer, ..after };
            let newer = page(&before).await?;
            assert_eq!((ids(&newer), newer.has_older, newer.has_newer), (vec![6, 5], true, true));
        }
        let nobody = store.followers(user(7), &PageRequest::newest(size)).await?;
        assert_eq!((ids(&nobody), nobody.has_older, nobody.has_newer), (vec![], false, false));
        Ok(())
    }

    async fn an_unfollow_leaves_the_lists_and_a_refollow_is_new(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let (store, newest) = (&world.store, PageRequest::newest(PageSize::default()));
        for (follower, at) in [(2, 1), (3, 2)] {
            store.follow(user(follower), user(1), EdgeMode::Fill, 7, NOW + at).await?;
        }
        store.unfollow(user(2), user(1), NOW).await?;
        assert_eq!(ids(&store.followers(user(1), &newest).await?), [3]);
        store.follow(user(2), user(1), EdgeMode::Fill, 8, NOW + 3).await?;
        assert_eq!(ids(&store.followers(user(1), &newest).await?), [2, 3]);
        assert_eq!(ids(&store.following(user(2), &newest).await?), [1]);
        Ok(())
    }
}
