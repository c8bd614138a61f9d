//! [`Follows`]: who follows whom.

use anyhow::{Context as _, Result};
use tidefeed::domain::{
    EdgeMode,
    delivery::{AuthorFacts, ReaderFacts, subtask::Range},
    limits::MAX_FOLLOWS,
};
use tidefeed::store::{Accounts as _, Contents as _, Follows as _, StoreError};
use tidefeed::store::{follows::Followed, relations::Pair};

use super::{NOW, World, at_once, content_id, user};
use crate::servers::on_each_backend;

impl World {
    async fn try_follow(&self, follower: i64, author: i64, incarnation: i64) -> Result<Followed, StoreError> {
        self.store.follow(user(follower), user(author), EdgeMode::Fill, incarnation, NOW).await
    }

    async fn try_unfollow(&self, follower: i64, author: i64) -> Result<bool, StoreError> {
        self.store.unfollow(user(follower), user(author), 1065, NOW).await
    }

    /// (followers, following) as profiles show them.
    async fn follow_counts(&self, id: i64) -> Result<(i64, i64)> {
        let counts = self.store.counts(&[user(id)]).await?;
        let (_, counts) = counts.first().context("the user has counts")?;
        Ok((counts.followers, counts.following))
    }

    /// A column of an edge of follower 1: mode, incarnation or time.
    async fn edge(&self, author: i64, column: &str) -> Result<Option<i64>> {
        let sql = format!("SELECT {column} + 0 FROM follows WHERE follower_id = 1 AND author_id = {author}");
        Ok(self.column(&sql).await?.first().copied())
    }

    /// A column of the pending relation of follower 1 and an author.
    async fn relation(&self, author: i64, column: &str) -> Result<Option<i64>> {
        let sql = format!("SELECT {column} + 0 FROM relations WHERE follower_id = 1 AND author_id = {author}");
        Ok(self.column(&sql).await?.first().copied())
    }
}

on_each_backend! {
    async fn a_follow_makes_the_edge_the_counts_and_a_pending_relation(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        assert_eq!(world.store.follow(user(1), user(2), EdgeMode::Fill, 77, NOW).await?, Followed::New);
        assert_eq!(world.store.follow(user(1), user(3), EdgeMode::Pull, 78, NOW + 1).await?, Followed::New);
        assert_eq!(world.store.followed_by(user(1)).await?, [1, 2, 3].map(user));
        assert_eq!(world.store.followed_by(user(2)).await?, [user(2)]);
        let mut among = world.store.followed_among(user(1), &[3, 9, 2].map(user)).await?;
        among.sort_unstable();
        assert_eq!(among, [2, 3].map(user));
        assert!(world.store.followed_among(user(2), &[1, 3].map(user)).await?.is_empty());
        assert!(world.store.followed_among(user(2), &[]).await?.is_empty());
        assert_eq!((world.follow_counts(1).await?, world.follow_counts(2).await?), ((0, 2), (1, 0)));
        let pulled = world.store.pulled_authors(&[user(1)]).await?;
        assert_eq!(pulled.iter().map(|(_, author)| author.followers).collect::<Vec<_>>(), [1], "not the author's own edge");
        assert_eq!((world.edge(2, "mode").await?, world.edge(2, "inc").await?), (Some(1), Some(77)));
        assert_eq!((world.edge(3, "mode").await?, world.edge(3, "followed_at").await?), (Some(0), Some(NOW + 1)));
        assert_eq!(
            (world.relation(3, "attempts").await?, world.relation(3, "look_at").await?),
            (Some(0), Some(NOW + 5_001))
        );
        Ok(())
    }

    async fn a_second_follow_changes_nothing(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.try_follow(1, 2, 77).await?;
        world.run("UPDATE follows SET mode = 2 WHERE author_id = 2").await?;
        world.run("DELETE FROM relations").await?;
        assert_eq!(world.try_follow(1, 2, 78).await?, Followed::Already);
        assert_eq!((world.edge(2, "mode").await?, world.edge(2, "inc").await?), (Some(2), Some(77)));
        assert_eq!(world.relation(2, "version").await?, None);
        assert_eq!(world.follow_counts(2).await?, (1, 0));
        Ok(())
    }

    async fn following_needs_a_known_author_and_never_begins_as_push(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        assert_eq!(world.try_follow(1, 99, 77).await?, Followed::UnknownAuthor);
        let pushed = world.store.follow(user(1), user(2), EdgeMode::Push, 77, NOW).await;
        assert!(matches!(pushed, Err(StoreError::Refused(_))));
        assert_eq!(world.store.followed_by(user(1)).await?, [user(1)]);
        assert_eq!(world.number("SELECT COUNT(*) FROM relations").await?, 0);
        assert_eq!(world.follow_counts(1).await?, (0, 0));
        Ok(())
    }

    async fn an_unfollow_ends_the_edge_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.try_follow(1, 2, 77).await?;
        world.run("UPDATE relations SET attempts = 3, look_at = 1").await?;
        assert!(world.try_unfollow(1, 2).await?);
        assert_eq!(world.store.followed_by(user(1)).await?, [user(1)]);
        assert_eq!((world.follow_counts(1).await?, world.follow_counts(2).await?), ((0, 0), (0, 0)));
        assert_eq!(
            (world.relation(2, "attempts").await?, world.relation(2, "look_at").await?),
            (Some(0), Some(NOW + 5_000))
        );
        world.run("DELETE FROM relations").await?;
        assert!(!world.try_unfollow(1, 2).await?);
        assert!(!world.try_unfollow(1, 99).await?);
        assert_eq!(world.number("SELECT COUNT(*) FROM relations").await?, 0);
        assert_eq!(world.follow_counts(2).await?, (0, 0));
        Ok(())
    }

    async fn no_two_operations_on_a_pair_give_its_relation_one_version(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let mut versions = Vec::new();
        for round in 0..4 {
            world.try_follow(1, 2, 77 + round).await?;
            versions.extend(world.relation(2, "version").await?);
            if round % 2 == 0 {
                world.run("DELETE FROM relations").await?;
            }
            world.try_unfollow(1, 2).await?;
            versions.extend(world.relation(2, "version").await?);
            if round > 1 {
                world.run("DELETE FROM relations").await?;
            }
        }
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions.len(), 8, "a worker at an earlier version never ends a later record");
        Ok(())
    }

    async fn the_own_edge_is_not_counted(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        assert_eq!(world.try_follow(1, 1, 77).await?, Followed::Already);
        assert!(world.try_unfollow(1, 1).await?);
        assert_eq!(world.try_follow(1, 1, 78).await?, Followed::New);
        assert_eq!(world.follow_counts(1).await?, (0, 0));
        Ok(())
    }

    async fn nobody_follows_more_than_the_limit(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(8).await?;
        world.try_follow(1, 8, 77).await?;
        world.run(&format!("UPDATE user_counts SET following = {} WHERE user_id = 1", MAX_FOLLOWS - 1)).await?;
        let mut outcomes = at_once((2..=6).map(|author| world.try_follow(1, author, author))).await?;
        outcomes.sort_unstable_by_key(|outcome| *outcome == Followed::TooMany);
        assert_eq!(
            outcomes,
            [Followed::New, Followed::TooMany, Followed::TooMany, Followed::TooMany, Followed::TooMany]
        );
        assert_eq!(world.store.followed_by(user(1)).await?.len(), 3);
        assert_eq!(world.number("SELECT COUNT(*) FROM relations").await?, 2);
        assert_eq!(world.number("SELECT COUNT(*) FROM user_counts WHERE followers > 0").await?, 2);
        assert_eq!(world.try_follow(1, 8, 78).await?, Followed::Already);
        assert_eq!(world.try_follow(1, 99, 78).await?, Followed::UnknownAuthor);
        Ok(())
    }

    async fn everybody_that_a_user_follows_is_listed_up_to_the_limit(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        for thousand in 1..=11 {
            let edges: Vec<String> = (0..1_000).map(|n| format!("(1, {}, 2, 1, 1)", thousand * 1_000 + n)).collect();
            world
                .run(&format!(
                    "INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) VALUES {}",
                    edges.join(", ")
                ))
                .await?;
        }
        let expected: Vec<_> = std::iter::once(1).chain(1_000..11_000).map(user).collect();
        assert_eq!(world.store.followed_by(user(1)).await?, expected);
        let asked: Vec<_> = (500..20_500).map(user).collect();
        assert_eq!(world.store.followed_among(user(1), &asked).await?.len(), 11_000);
        Ok(())
    }

    async fn the_policy_knows_which_readers_are_pushed_to(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(9).await?;
        for follower in 2..=9 {
            world.try_follow(follower, 1, follower).await?;
        }
        world
            .run("UPDATE inbox_states SET last_seen = user_id * 100, read_every_ms = user_id * 7 WHERE user_id > 5")
            .await?;
        world.run("UPDATE inbox_states SET last_seen = NULL WHERE user_id = 4").await?;
        world.run("DELETE FROM inbox_states WHERE user_id = 3").await?;
        world.run("UPDATE follows SET mode = 2 WHERE follower_id = 4 AND author_id = 1").await?;
        world.run("UPDATE follows SET mode = 0 WHERE follower_id = 5 AND author_id = 1").await?;
        let of = |id, last_seen, read_every_ms| ReaderFacts { reader: user(id), last_seen, read_every_ms };
        let expected = [of(3, None, None), of(4, None, None), of(6, Some(600), Some(42)), of(7, Some(700), Some(49))];
        let range = Range { after: 2, through: 7 };
        assert_eq!(world.store.pushed_readers(user(1), range, None).await?, expected, "5 is pulled");
        let unseen = world.store.pushed_readers(user(1), range, Some(700)).await?;
        assert_eq!(unseen, expected[..3], "7 was seen just then");
        let nobody = Range { after: 9, through: i64::MAX };
        assert_eq!(world.store.pushed_readers(user(1), nobody, None).await?, []);
        Ok(())
    }

    async fn named_edges_are_demoted_and_no_others(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        for follower in 2..=5 {
            world.try_follow(follower, 1, follower).await?;
        }
        world.try_follow(4, 2, 4).await?;
        world.run("UPDATE follows SET mode = 2 WHERE follower_id = 4").await?;
        assert_eq!(world.store.demote(user(1), &[3, 4, 6].map(user), 1066).await?, 2, "6 does not follow");
        let pulled = "SELECT follower_id FROM follows WHERE author_id = 1 AND mode = 0 ORDER BY follower_id";
        assert_eq!(world.column::<i64>(pulled).await?, [3, 4]);
        assert_eq!(world.number("SELECT COUNT(*) FROM follows WHERE author_id = 2 AND mode = 0").await?, 0);
        assert_eq!(world.store.demote(user(1), &[3, 4].map(user), 1067).await?, 0, "what is pulled is not touched");
        Ok(())
    }

    async fn the_policy_knows_how_often_an_author_publishes(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.store.follow(user(1), user(2), EdgeMode::Pull, 5, NOW).await?;
        world.store.follow(user(1), user(3), EdgeMode::Fill, 6, NOW).await?;
        // Authors follow themselves, which does not count as a follower.
        let of = |every| (user(1), AuthorFacts { author: user(2), followers: 1, publish_every_ms: every });
        assert_eq!(world.store.pulled_authors(&[user(1)]).await?, [of(None)]);
        world.publish(5, 2, NOW).await?;
        assert_eq!(world.store.pulled_authors(&[user(1)]).await?, [of(None)], "one publish has no rate");
        world.publish(6, 2, NOW + 40_000).await?;
        world.store.remove(user(2), content_id(5), 9, NOW + 50_000).await?;
        assert_eq!(world.store.pulled_authors(&[user(1)]).await?, [of(Some(40_000))], "a removal is no publish");
        world.publish(7, 2, NOW + 60_000).await?;
        world.publish(8, 2, NOW).await?;
        let rate = world.store.pulled_authors(&[user(1)]).await?;
        assert_eq!(rate, [of(Some(35_000))], "and a time that went back none either");
        assert_eq!(world.store.pulled_authors(&[user(2)]).await?, []);
        world.store.follow(user(2), user(3), EdgeMode::Pull, 5, NOW).await?;
        world.store.follow(user(2), user(1), EdgeMode::Pull, 5, NOW).await?;
        let pulled = world.store.pulled_authors(&[1, 2, 3].map(user)).await?;
        let pulled: Vec<_> = pulled.into_iter().map(|(reader, it)| (reader, it.author)).collect();
        assert_eq!(pulled, [(1, 2), (2, 1), (2, 3)].map(|(reader, author)| (user(reader), user(author))));
        Ok(())
    }

    async fn pulled_edges_are_promoted_to_filling_with_a_new_identity(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(7).await?;
        for author in 2..=6 {
            world.store.follow(user(1), user(author), EdgeMode::Pull, author, NOW).await?;
        }
        world.store.follow(user(7), user(2), EdgeMode::Pull, 5, NOW).await?;
        world.run("UPDATE follows SET mode = 2 WHERE follower_id = 1 AND author_id = 6").await?;
        world.run("DELETE FROM relations WHERE author_id > 2").await?;
        world.run("UPDATE relations SET attempts = 4 WHERE author_id = 2").await?;
        let pairs = |authors: &[i64]| -> Vec<Pair> {
            authors.iter().map(|author| Pair { follower: user(1), author: user(*author) }).collect()
        };
        let mut promoted = world.store.promote(&pairs(&[2, 4, 5, 6, 7]), 900, NOW + 1).await?;
        promoted.sort_unstable();
        assert_eq!(promoted, pairs(&[2, 4, 5]), "6 is pushed already, 7 is not followed");
        for Pair { author, .. } in &promoted {
            let author = author.get();
            assert_eq!(world.edge(author, "mode").await?, Some(1));
            assert!(
                world.edge(author, "inc").await?.is_some_and(|incarnation| incarnation != author),
                "the identity is a new one"
            );
            assert_eq!(
                (world.relation(author, "attempts").await?, world.relation(author, "look_at").await?),
                (Some(0), Some(NOW + 5_001))
            );
        }
        assert_eq!(world.store.promote(&pairs(&[2, 3]), 901, NOW).await?, pairs(&[3]));
        assert_eq!(world.store.promote(&pairs(&[2, 3]), 902, NOW).await?, []);
        assert_eq!(world.store.promote(&[], 903, NOW).await?, []);
        assert_eq!(
            (world.edge(6, "mode").await?, world.edge(6, "inc").await?, world.relation(6, "version").await?),
            (Some(2), Some(6), None)
        );
        assert_eq!(world.number("SELECT COUNT(*) FROM follows WHERE follower_id = 7 AND mode = 0").await?, 1);
        world.run("UPDATE follows SET mode = 0 WHERE author_id IN (2, 6) AND follower_id = 1").await?;
        let of_two = [pairs(&[2, 4, 6]), vec![Pair { follower: user(7), author: user(2) }]].concat();
        let promoted = world.store.promote(&of_two, 904, NOW).await?;
        assert_eq!(promoted, [of_two[0], of_two[2], of_two[3]], "4 is being filled already");
        assert_eq!(world.number("SELECT COUNT(*) FROM relations WHERE version = 904").await?, 3);
        assert_eq!(world.number("SELECT COUNT(*) FROM follows WHERE inc = 904 AND mode = 1").await?, 3);
        Ok(())
    }

    async fn parallel_follows_and_unfollows_of_a_pair_keep_the_counts(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        for round in 0..3 {
            let follows = at_once((0..8).map(|n| world.try_follow(1, 2, 100 * round + n)));
            let unfollows = at_once((0..8).map(|_| world.try_unfollow(1, 2)));
            let (made, ended) = tokio::try_join!(follows, unfollows)?;
            assert!(made.iter().all(|outcome| matches!(outcome, Followed::New | Followed::Already)));
            assert!(!ended.is_empty());
            let there = i64::from(world.edge(2, "mode").await?.is_some());
            assert_eq!((world.follow_counts(1).await?, world.follow_counts(2).await?), ((0, there), (there, 0)));
        }
        Ok(())
    }

    async fn mutual_follows_at_once_do_not_deadlock(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        let pairs = || {
            (1..=6).flat_map(|follower| {
                (1..=6).filter(move |author| *author != follower).map(move |author| (follower, author))
            })
        };
        let outcomes = at_once(pairs().map(|(follower, author)| world.try_follow(follower, author, 7))).await?;
        assert!(outcomes.iter().all(|outcome| *outcome == Followed::New));
        for id in 1..=6 {
            assert_eq!(world.follow_counts(id).await?, (5, 5));
        }
        let ended = at_once(pairs().map(|(follower, author)| world.try_unfollow(follower, author))).await?;
        assert!(ended.iter().all(|ended| *ended));
        assert_eq!(world.number("SELECT COUNT(*) FROM user_counts WHERE followers = 0 AND following = 0").await?, 6);
        Ok(())
    }
}
