//! [`Exclusions`]: mutes, hides, blocks. No edge outlives a block, however the operations interleave.

use anyhow::Result;
use tidefeed::domain::{EdgeMode, PageRequest, PageSize, timeline::exclusion::ExclusionState};
use tidefeed::store::exclusions::{Blocked, Excluded, ExclusionList};
use tidefeed::store::follows::Followed;
use tidefeed::store::relations::Pair;
use tidefeed::store::{Accounts as _, Contents as _, Exclusions as _, Follows as _, StoreError};

use super::{NOW, World, at_once, content_id, only, user};
use crate::servers::on_each_backend;

impl World {
    async fn try_block(&self, from: i64, to: i64) -> Result<Blocked, StoreError> {
        self.store.block(user(from), user(to), 1034, NOW).await
    }

    async fn try_edge(&self, follower: i64, author: i64, incarnation: i64) -> Result<Followed, StoreError> {
        self.store.follow(user(follower), user(author), EdgeMode::Fill, incarnation, NOW).await
    }

    async fn exclusions(&self) -> Result<i64> {
        self.number("SELECT COUNT(*) FROM exclusions").await
    }
}

on_each_backend! {
    async fn mutes_and_hides_are_made_and_lifted_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        assert_eq!(world.store.mute(user(1), user(2), 1011).await?, Excluded::New);
        assert_eq!(world.store.mute(user(1), user(2), 1012).await?, Excluded::Already);
        assert_eq!(world.store.hide(user(2), user(1), 1013).await?, Excluded::New);
        assert_eq!(world.store.hide(user(2), user(1), 1014).await?, Excluded::Already);
        assert_eq!(world.store.mute(user(1), user(99), 1015).await?, Excluded::UnknownUser);
        assert_eq!(world.store.hide(user(1), user(99), 1016).await?, Excluded::UnknownUser);
        assert_eq!(world.exclusions().await?, 2, "one row a cause, though both keep 2 out of 1's timeline");
        assert!(world.store.unmute(user(1), user(2), 1017).await?);
        assert!(!world.store.unmute(user(1), user(2), 1018).await?);
        assert!(!world.store.unhide(user(1), user(2), 1019).await?, "only who hides lifts it");
        assert!(world.store.unhide(user(2), user(1), 1020).await?);
        assert_eq!(world.exclusions().await?, 0);
        Ok(())
    }

    async fn a_block_ends_the_edges_of_both_with_their_counts_and_records(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        for (follower, author) in [(1, 2), (2, 1), (3, 2)] {
            assert_eq!(world.try_edge(follower, author, 7).await?, Followed::New);
        }
        world.run("DELETE FROM relations").await?;
        let ended = vec![Pair { follower: user(1), author: user(2) }, Pair { follower: user(2), author: user(1) }];
        assert_eq!(world.try_block(1, 2).await?, Blocked::New { ended });
        assert_eq!(world.try_block(1, 2).await?, Blocked::Already);
        assert_eq!(world.try_block(1, 99).await?, Blocked::UnknownUser);
        assert_eq!(world.store.followed_by(user(1)).await?, [user(1)]);
        assert_eq!(world.store.followed_by(user(2)).await?, [user(2)]);
        let counts = "SELECT followers * 10 + following FROM user_counts ORDER BY user_id";
        assert_eq!(world.column::<i64>(counts).await?, [0, 10, 1], "3 follows 2 as before");
        assert_eq!(world.number("SELECT COUNT(*) FROM relations WHERE version = -7").await?, 2);
        for (follower, author) in [(1, 2), (2, 1)] {
            assert_eq!(world.try_edge(follower, author, 8).await?, Followed::Blocked);
        }
        assert_eq!(world.number("SELECT COUNT(*) FROM relations").await?, 2, "a refused follow leaves nothing");
        Ok(())
    }

    async fn a_block_is_lifted_by_whoever_has_put_it(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        assert_eq!(world.try_block(1, 2).await?, Blocked::New { ended: Vec::new() });
        assert_eq!(world.try_block(2, 1).await?, Blocked::New { ended: Vec::new() });
        assert!(world.store.unblock(user(1), user(2), 1021).await?);
        assert!(!world.store.unblock(user(1), user(2), 1022).await?);
        assert_eq!(world.try_edge(1, 2, 7).await?, Followed::Blocked, "the other block stays");
        assert!(world.store.unblock(user(2), user(1), 1023).await?);
        assert_eq!(world.try_edge(1, 2, 7).await?, Followed::New);
        assert_eq!(world.exclusions().await?, 0);
        Ok(())
    }

    async fn a_user_sees_their_own_exclusions_and_never_those_of_others(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        world.store.mute(user(1), user(2), 1024).await?;
        world.store.hide(user(1), user(2), 1025).await?;
        world.store.hide(user(1), user(3), 1026).await?;
        world.try_block(1, 4).await?;
        world.store.mute(user(5), user(1), 1027).await?;
        world.store.hide(user(5), user(1), 1028).await?;
        world.try_block(6, 1).await?;
        let exclusions = |has_muted, has_blocked, is_hiding| ExclusionState { has_muted, has_blocked, is_hiding };
        let found = world.store.exclusion_states(user(1), &[6, 5, 4, 3, 2, 77].map(user)).await?;
        let found: Vec<_> = found.into_iter().filter(|(_, it)| *it != ExclusionState::default()).collect();
        let expected = [
            (user(2), exclusions(true, false, true)),
            (user(3), exclusions(false, false, true)),
            (user(4), exclusions(false, true, false)),
        ];
        assert_eq!(found, expected);
        assert!(world.store.exclusion_states(user(1), &[]).await?.is_empty());
        Ok(())
    }

    async fn decisions_are_listed_page_by_page(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(9).await?;
        for other in [7, 3, 5] {
            world.store.mute(user(1), user(other), 1029).await?;
            world.store.hide(user(1), user(other + 1), 1030).await?;
        }
        world.try_block(1, 9).await?;
        world.try_block(2, 1).await?;
        world.store.hide(user(2), user(1), 1031).await?;
        assert_eq!(world.store.excluded(user(1), ExclusionList::Muted, None, 2).await?, [3, 5].map(user));
        assert_eq!(world.store.excluded(user(1), ExclusionList::Muted, Some(user(5)), 2).await?, [user(7)]);
        assert_eq!(world.store.excluded(user(1), ExclusionList::HiddenFrom, None, 9).await?, [4, 6, 8].map(user));
        assert_eq!(world.store.excluded(user(1), ExclusionList::Blocked, None, 9).await?, [user(9)]);
        assert!(world.store.excluded(user(2), ExclusionList::Muted, None, 9).await?.is_empty());
        Ok(())
    }

    async fn contents_are_not_shown_across_a_block_and_are_across_the_rest(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        for (id, author) in [(5, 2), (6, 3), (7, 4)] {
            world.publish(id, author, NOW).await?;
        }
        world.try_block(1, 2).await?;
        world.try_block(3, 1).await?;
        world.store.mute(user(1), user(4), 1032).await?;
        world.store.hide(user(4), user(1), 1033).await?;
        let ids = [5, 6, 7].map(content_id);
        let newest = PageRequest::newest(PageSize::default());
        for (viewer, expected) in
            [(Some(1), vec![7]), (Some(2), vec![5, 6, 7]), (Some(3), vec![5, 6, 7]), (None, vec![5, 6, 7])]
        {
            let viewer = viewer.map(user);
            let mut shown: Vec<i64> = world.store.by_ids(viewer, &ids).await?.iter().map(|it| it.id.get()).collect();
            shown.sort_unstable();
            assert_eq!(shown, expected, "{viewer:?}");
            for (id, author) in [(5, 2), (6, 3), (7, 4)] {
                let page = only(world.store.outbox(viewer, &[user(author)], &newest).await)?;
                assert_eq!(page.ahead.entries().len(), usize::from(expected.contains(&id)), "{viewer:?} {author}");
            }
        }
        assert_eq!(world.store.by_ids(Some(user(2)), &[content_id(5)]).await?.len(), 1, "one's own");
        Ok(())
    }

    async fn no_edge_outlives_a_block_that_comes_at_once_with_follows(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        for round in 0..6 {
            world.run("DELETE FROM exclusions").await?;
            let follows = at_once((0..6).map(|n| {
                let (follower, author) = if n % 2 == 0 { (1, 2) } else { (2, 1) };
                world.try_edge(follower, author, 100 * round + n)
            }));
            let unfollows = at_once((0..2).map(|_| world.store.unfollow(user(2), user(1), 1035, NOW)));
            let blocks = at_once([(1, 2), (2, 1)].map(|(from, to)| world.try_block(from, to)));
            let (made, _, blocked) = tokio::try_join!(follows, unfollows, blocks)?;
            assert!(blocked.iter().all(|it| matches!(it, Blocked::New { .. })), "{blocked:?}");
            assert!(made.iter().all(|it| !matches!(it, Followed::UnknownAuthor | Followed::TooMany)), "{made:?}");
            let edges = "SELECT COUNT(*) FROM follows WHERE follower_id <> author_id";
            assert_eq!(world.number(edges).await?, 0, "round {round}: {made:?} {blocked:?}");
            let counts = world.store.counts(&[1, 2].map(user)).await?;
            assert!(counts.iter().all(|(_, it)| it.followers == 0 && it.following == 0), "{counts:?}");
            assert_eq!(world.try_edge(1, 2, 1_000 + round).await?, Followed::Blocked);
        }
        Ok(())
    }

    async fn mutual_blocks_and_follows_at_once_do_not_deadlock(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(5).await?;
        let pairs =
            || (1..=5).flat_map(|one| (1..=5).filter(move |other| *other != one).map(move |other| (one, other)));
        let follows = at_once(pairs().map(|(one, other)| world.try_edge(one, other, 7)));
        let blocks =
            at_once(pairs().filter(|(one, other)| one < other).map(|(one, other)| world.try_block(one, other)));
        let (_, blocked) = tokio::try_join!(follows, blocks)?;
        assert_eq!(blocked.len(), 10);
        assert_eq!(world.number("SELECT COUNT(*) FROM follows").await?, 5, "everybody follows themselves alone");
        assert_eq!(world.number("SELECT COUNT(*) FROM user_counts WHERE followers = 0 AND following = 0").await?, 5);
        Ok(())
    }
}
