//! [`FollowLists`]: followers and followees, newest first.

use anyhow::Result;
use tidefeed::domain::{Direction, EdgeMode, Listing, PageRequest, PageSize, Position, UserId};
use tidefeed::store::{Exclusions as _, FollowLists as _, Follows as _};

use super::{NOW, World, only, user};
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
                only(if followers {
                    store.followers(None, &[user(1)], request).await
                } else {
                    store.following(None, &[user(1)], request).await
                })
            };
            let first = page(&PageRequest::newest(size)).await?;
            assert_eq!((ids(&first), first.has_older, first.has_newer), (vec![2, 6], true, false));
            assert_eq!(first.rows[0].since, NOW + 30);
            let after = PageRequest { bound: Some(Position::bound(NOW + 20, 6)), ..PageRequest::newest(size) };
            let second = page(&after).await?;
            assert_eq!((ids(&second), second.has_older, second.has_newer), (vec![5, 4], true, true));
            let after = PageRequest { bound: Some(Position::bound(NOW + 20, 4)), ..PageRequest::newest(size) };
            let last = page(&after).await?;
            assert_eq!(
                (ids(&last), last.has_older, last.has_newer),
                (vec![3], false, true),
                "the self-edge is the oldest, and not shown"
            );
            let before = PageRequest { direction: Direction::Newer, ..after };
            let newer = page(&before).await?;
            assert_eq!((ids(&newer), newer.has_older, newer.has_newer), (vec![6, 5], true, true));
        }
        let nobody = only(store.followers(None, &[user(7)], &PageRequest::newest(size)).await)?;
        assert_eq!((ids(&nobody), nobody.has_older, nobody.has_newer), (vec![], false, false));
        Ok(())
    }

    async fn an_unfollow_leaves_the_lists_and_a_refollow_is_new(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let (store, newest) = (&world.store, PageRequest::newest(PageSize::default()));
        for (follower, at) in [(2, 1), (3, 2)] {
            store.follow(user(follower), user(1), EdgeMode::Fill, 7, NOW + at).await?;
        }
        store.unfollow(user(2), user(1), 1048, NOW).await?;
        assert_eq!(ids(&only(store.followers(None, &[user(1)], &newest).await)?), [3]);
        store.follow(user(2), user(1), EdgeMode::Fill, 8, NOW + 3).await?;
        assert_eq!(ids(&only(store.followers(None, &[user(1)], &newest).await)?), [2, 3]);
        assert_eq!(ids(&only(store.following(None, &[user(2)], &newest).await)?), [1]);
        Ok(())
    }
    async fn a_block_hides_both_users_from_each_other_only(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?.with_users(7).await?;
        let store = &world.store;
        for (other, at) in (2..).zip([50, 40, 30, 20, 10, 0]) {
            store.follow(user(other), user(1), EdgeMode::Fill, 7, NOW + at).await?;
            store.follow(user(1), user(other), EdgeMode::Fill, 7, NOW + at).await?;
        }
        store.block(user(3), user(5), 1049, NOW).await?;
        store.mute(user(3), user(4), 1044).await?;
        store.hide(user(3), user(6), 1045).await?;
        let size = PageSize::try_new(2)?;
        for followers in [true, false] {
            let page = async |viewer: Option<i64>, request: &PageRequest| {
                let viewer = viewer.map(user);
                only(if followers {
                    store.followers(viewer, &[user(1)], request).await
                } else {
                    store.following(viewer, &[user(1)], request).await
                })
            };
            for (viewer, seen) in [
                (Some(3), vec![2, 3, 4, 6, 7]),
                (Some(5), vec![2, 4, 5, 6, 7]),
                (Some(4), vec![2, 3, 4, 5, 6, 7]),
                (None, vec![2, 3, 4, 5, 6, 7]),
            ] {
                let all = page(viewer, &PageRequest::newest(PageSize::default())).await?;
                assert_eq!(ids(&all), seen, "as {viewer:?} sees it");
                let (mut walked, mut request) = (Vec::new(), PageRequest::newest(size));
                loop {
                    let read = page(viewer, &request).await?;
                    assert_eq!(read.has_newer, request.bound.is_some());
                    walked.extend(ids(&read));
                    let Some(last) = read.rows.last().filter(|_| read.has_older) else { break };
                    assert_eq!(read.rows.len(), size.get(), "a page is full");
                    request.bound = Some(last.position(last.item));
                }
                assert_eq!(walked, seen, "as {viewer:?} walks it");
            }
        }
        Ok(())
    }

    async fn a_page_followed_only_by_blocked_users_is_the_last(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(5).await?;
        let (store, viewer) = (&world.store, Some(user(5)));
        for (follower, at) in [(2, 30), (3, 20), (4, 10)] {
            store.follow(user(follower), user(1), EdgeMode::Fill, 7, NOW + at).await?;
        }
        store.block(user(5), user(2), 1050, NOW).await?;
        store.block(user(4), user(5), 1051, NOW).await?;
        let one = PageRequest::newest(PageSize::try_new(1)?);
        let page = only(store.followers(viewer, &[user(1)], &one).await)?;
        assert_eq!((ids(&page), page.has_older, page.has_newer), (vec![3], false, false));
        let after_a_blocked_one = PageRequest { bound: Some(Position::bound(NOW + 30, 2)), ..one };
        let page = only(store.followers(viewer, &[user(1)], &after_a_blocked_one).await)?;
        assert_eq!((ids(&page), page.has_newer), (vec![3], false), "its place is a place still, and tells nothing");
        store.unblock(user(5), user(2), 1046).await?;
        store.unblock(user(4), user(5), 1047).await?;
        let page = only(store.followers(viewer, &[user(1)], &one).await)?;
        assert_eq!((ids(&page), page.has_older), (vec![2], true));
        Ok(())
    }
}
