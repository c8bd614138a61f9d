//! Tests what the relations port promises: one record for each pair, which only a call with its version ends.

use anyhow::{Context as _, Result};
use tidefeed::{
    domain::EdgeMode,
    store::{
        Relations as _,
        relations::{Pair, PendingRelation},
    },
};

use super::{World, at_once, user};
use crate::servers::on_each_backend;

const fn pair_of(follower: tidefeed::domain::UserId, author: tidefeed::domain::UserId) -> Pair {
    Pair { follower, author }
}

/// Pairs (1, n) for n up to `count`, due at time n.
async fn world(backend: crate::servers::Backend, count: i64) -> Result<World> {
    let world = World::on(backend).await?;
    let rows: Vec<String> = (1..=count).map(|author| format!("(1, {author}, 10, {author})")).collect();
    world.insert("relations", "follower_id, author_id, version, look_at", &rows).await?;
    Ok(world)
}

on_each_backend! {
    async fn a_pending_pair_is_found_and_another_is_not(backend: Backend) -> Result<()> {
        let world = world(backend, 1).await?;
        let pair = pair_of(user(1), user(1));
        let expected = PendingRelation { pair, version: 10, attempts: 0, author_exists: false };
        assert_eq!(world.store.find(pair).await?, Some(expected));
        world.insert("user_counts", "user_id", &["(1)".to_owned()]).await?;
        assert_eq!(world.store.find(pair).await?, Some(PendingRelation { author_exists: true, ..expected }));
        assert_eq!(world.store.find(pair_of(user(1), user(2))).await?, None);
        Ok(())
    }

    async fn only_the_version_that_was_looked_at_is_done(backend: Backend) -> Result<()> {
        let world = world(backend, 2).await?;
        let pair = pair_of(user(1), user(1));
        let old = world.store.find(pair).await?.context("a record")?;
        world.run("UPDATE relations SET version = 11 WHERE author_id = 1").await?;
        world.store.done(&old).await?;
        let new = world.store.find(pair).await?.context("the operation in between still waits")?;
        world.store.done(&new).await?;
        world.store.done(&new).await?;
        assert_eq!(world.store.find(pair).await?, None);
        assert!(world.store.find(pair_of(user(1), user(2))).await?.is_some(), "another pair is left alone");
        Ok(())
    }

    async fn a_pair_whose_covering_was_lost_is_not_done(backend: Backend) -> Result<()> {
        let world = world(backend, 1).await?;
        let pair = pair_of(user(1), user(1));
        let covered = world.store.find(pair).await?.context("a record")?;
        let fill = EdgeMode::Fill.code();
        let edge = format!("(1, 1, {fill}, 10, 5)");
        world.insert("follows", "follower_id, author_id, mode, inc, followed_at", &[edge]).await?;
        world.store.done(&covered).await?;
        assert!(world.store.find(pair).await?.is_some(), "the edge is still to be filled");
        world.run(&format!("UPDATE follows SET mode = {}", EdgeMode::Push.code())).await?;
        world.store.done(&covered).await?;
        assert_eq!(world.store.find(pair).await?, None);
        Ok(())
    }

    async fn a_failure_is_counted_unless_the_pair_has_changed(backend: Backend) -> Result<()> {
        let world = world(backend, 1).await?;
        let pair = pair_of(user(1), user(1));
        let old = world.store.find(pair).await?.context("a record")?;
        world.store.record_failure(&old, 700).await?;
        assert_eq!(world.store.find(pair).await?.context("a record")?.attempts, 1);
        assert!(world.store.due(i64::MIN, 699, 900, 9).await?.is_empty());
        assert_eq!(world.store.due(i64::MIN, 700, 900, 9).await?.len(), 1);
        world.run("UPDATE relations SET version = 11, attempts = 0, look_at = 5").await?;
        world.store.record_failure(&old, 800).await?;
        assert_eq!(world.store.find(pair).await?.context("a record")?.attempts, 0);
        assert_eq!(world.store.due(i64::MIN, 5, 900, 9).await?.len(), 1, "the new operation is not put off");
        Ok(())
    }

    async fn due_pairs_come_oldest_first_and_are_put_off(backend: Backend) -> Result<()> {
        let world = world(backend, 5).await?;
        let authors = |due: &[Pair]| due.iter().map(|pair| pair.author.get()).collect::<Vec<_>>();
        assert_eq!(authors(&world.store.due(i64::MIN, 4, 50, 3).await?), [1, 2, 3]);
        assert_eq!(authors(&world.store.due(i64::MIN, 4, 50, 3).await?), [4]);
        assert!(world.store.due(i64::MIN, 4, 50, 3).await?.is_empty());
        assert_eq!(authors(&world.store.due(i64::MIN, 50, 90, 9).await?), [5, 1, 2, 3, 4]);
        assert!(world.store.due(91, 95, 99, 9).await?.is_empty(), "a sweep passes over what was due before its start");
        assert_eq!(world.store.due(90, 95, 99, 9).await?.len(), 5);
        Ok(())
    }

    async fn sweepers_share_the_pairs_that_are_due(backend: Backend) -> Result<()> {
        let world = world(backend, 50).await?;
        let mut seen: Vec<i64> = Vec::new();
        while seen.len() < 50 {
            let shares = at_once((0..4).map(|_| world.store.due(i64::MIN, 50, 9_000, 8))).await?;
            seen.extend(shares.iter().flatten().map(|pair| pair.author.get()));
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=50).collect::<Vec<_>>(), "each to one sweeper");
        Ok(())
    }
}
