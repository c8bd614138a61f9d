//! Tests what keeps inboxes outside SQL: which readers have their inbox there, and a Redis that was
//! replaced or is silent.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{
        Direction, Floor, PageRequest, PageSize, UserId,
        content::Draft,
        limits::INBOX_BUCKETS,
        timeline::outside::{Bucket, NodeId, Window},
    },
    publish::PublishOutcome,
    store::{account_deletions::Deleted, accounts::NewAccount, inbox_tier::Round, redis::RedisOptions},
    tier::{MOVED_AT_ONCE, OutsideStores, OutsideTier},
};

use crate::{
    binary::process::until,
    harness::{CacheBackend, Inboxes, TestApp, settings},
    memory_inboxes::MemoryInboxes,
    servers::{Backend, Kind, Server, connect_redis},
    store::conformance::account,
};

const BUCKETS: usize = INBOX_BUCKETS as usize;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

struct World {
    app: Arc<TestApp>,
    reader: UserId,
    author: UserId,
}

/// The reader follows the author and has come once; the author has published once.
async fn world(inboxes: Inboxes) -> Result<World> {
    let app = TestApp::start_outside(Backend::Sqlite, CacheBackend::NoCache, inboxes, settings()).await?;
    for id in [1, 2] {
        let account = NewAccount { now_ms: app.now_ms(), ..account(id, &format!("user{id}")) };
        app.ports.accounts.register(account).await?;
    }
    let (reader, author) = (UserId::try_new(1)?, UserId::try_new(2)?);
    app.following.follow(reader, author).await?;
    app.reactivator.visit(reader, None).await?;
    let world = World { app, reader, author };
    world.publish().await?;
    world.app.settle().await?;
    Ok(world)
}

impl World {
    async fn publish(&self) -> Result<()> {
        let draft = Draft::try_new("words", Vec::new(), None)?;
        let outcome = self.app.publisher.publish(self.author, draft).await?;
        ensure!(matches!(outcome, PublishOutcome::Published(_)), "{outcome:?}");
        Ok(())
    }

    async fn shown(&self) -> Result<usize> {
        let request = PageRequest::newest(PageSize::try_new(10)?);
        Ok(self.app.reader.page(self.reader, &request).await?.entries.len())
    }

    async fn is_outside(&self) -> Result<bool> {
        let outside = self.app.outside()?;
        Ok(outside.states.fence(self.reader).await?.is_some_and(|(_, basis)| basis.is_some()))
    }
}

async fn redis() -> Result<(Server, Inboxes)> {
    let server = Server::start(Kind::Redis).await?;
    let options = RedisOptions { urls: vec![server.url()], ..RedisOptions::default() };
    Ok((server, Inboxes::Redis(options)))
}

/// Buckets are checked in between, however many readers must be moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inactive_readers_are_moved_in_bounded_rounds() -> Result<()> {
    let app = TestApp::start_outside(Backend::Sqlite, CacheBackend::NoCache, Inboxes::Memory, settings()).await?;
    let readers = i64::try_from(2 * MOVED_AT_ONCE + 1)?;
    for id in 1..=readers {
        let account = NewAccount { now_ms: app.now_ms(), ..account(id, &format!("user{id}")) };
        app.ports.accounts.register(account).await?;
        app.reactivator.visit(UserId::try_new(id)?, None).await?;
    }
    let (keeper, outside) = (app.ports.tier.clone(), app.outside()?.clone());
    ensure!(outside.states.occupancy().await?.readers == u64::try_from(readers)?);
    app.clock.advance(DAY_MS + 1);
    for moved in [MOVED_AT_ONCE, MOVED_AT_ONCE, 1, 0] {
        ensure!(keeper.run_once().await? == Round { moved, ..Round::default() }, "not {moved}");
    }
    ensure!(outside.states.occupancy().await?.readers == 0);
    Ok(())
}

/// Otherwise both would replace the other's token in every round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_see_different_servers_change_a_bucket_ever_more_rarely() -> Result<()> {
    let app = TestApp::start_outside(Backend::Sqlite, CacheBackend::NoCache, Inboxes::Memory, settings()).await?;
    let here = app.ports.tier.clone();
    let outside = app.outside()?.clone();
    let elsewhere = Arc::new(MemoryInboxes::new(NodeId::of([6; 20])));
    let stores = OutsideStores { inboxes: elsewhere, ..outside };
    let there = OutsideTier::new(stores, here.in_sql().clone(), 300, app.ambient());
    let mut changes = 0;
    for _ in 0..40 {
        for keeper in [&*here, &there] {
            changes += keeper.run_once().await?.admitted;
        }
    }
    ensure!(changes.is_multiple_of(BUCKETS) && (2..10).contains(&(changes / BUCKETS)), "{changes} in 40 rounds");
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn active_readers_are_in_redis_and_inactive_ones_in_sql() -> Result<()> {
        let (_server, inboxes) = redis().await?;
        let world = world(inboxes).await?;
        let (app, keeper) = (&world.app, world.app.ports.tier.clone());
        ensure!(world.is_outside().await? && world.shown().await? == 1);
        app.clock.advance(DAY_MS);
        ensure!(keeper.run_once().await?.moved == 0, "a day is not over a day");
        app.clock.advance(1);
        // The author was never seen: registration opens an inbox in SQL, and there it stays.
        ensure!(keeper.run_once().await? == Round { moved: 1, ..Round::default() });
        ensure!(!world.is_outside().await? && app.ports.inboxes.floor(world.reader).await? != Floor::Off);
        ensure!(world.shown().await? == 1);
        let before = app.store.statements();
        ensure!(world.shown().await? == 1 && app.store.statements() - before == 1, "the inbox in SQL suffices");
        world.publish().await?;
        app.settle().await?;
        ensure!(world.shown().await? == 2);
        app.reactivator.visit(world.reader, None).await?;
        ensure!(world.is_outside().await? && world.shown().await? == 2);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_restarted_redis_is_admitted_anew_and_visits_rebuild_inboxes() -> Result<()> {
        let (server, inboxes) = redis().await?;
        let world = world(inboxes).await?;
        let outside = world.app.outside()?.clone();
        let before = outside.states.tokens().await?;
        server.restart().await?;
        ensure!(world.shown().await? == 1, "the old token is of no node that answers");
        let bucket = Bucket::of(world.reader);
        until("Redis answers", async || Ok(outside.inboxes.identify(bucket).await.is_ok())).await?;
        ensure!(world.app.ports.tier.run_once().await? == Round { admitted: BUCKETS, ..Round::default() });
        let after = outside.states.tokens().await?;
        ensure!(before.iter().zip(&after).all(|(old, new)| old.1.node != new.1.node && old.1.epoch != new.1.epoch));
        world.publish().await?;
        world.app.settle().await?;
        ensure!(world.shown().await? == 2);
        world.app.reactivator.visit(world.reader, None).await?;
        let header = Window { direction: Direction::Older, bound: None, limit: 10 };
        let slice = outside.inboxes.slice(world.reader, &header).await?.context("it was built")?;
        ensure!(slice.rows.len() == 2 && world.shown().await? == 2);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_silent_redis_is_given_up_and_readers_move_to_sql() -> Result<()> {
        let (server, inboxes) = redis().await?;
        let world = world(inboxes).await?;
        let (app, keeper) = (&world.app, world.app.ports.tier.clone());
        server.kill().await?;
        world.publish().await?;
        app.settle().await?;
        ensure!(
            app.ports.deliveries.backlog(i64::MIN, 1).await?.unfinished == 1,
            "nobody knows whether the inbox is served"
        );
        ensure!(world.shown().await? == 2, "it is read from the delivery");
        for _ in 0..2 {
            ensure!(keeper.run_once().await? == Round::default());
        }
        ensure!(keeper.run_once().await? == Round { given_up: BUCKETS, ..Round::default() });
        app.sweep().await?;
        ensure!(app.ports.deliveries.backlog(i64::MIN, 1).await?.unfinished == 0);
        app.reactivator.visit(world.reader, None).await?;
        ensure!(app.ports.inboxes.floor(world.reader).await? != Floor::Off && world.shown().await? == 2);
        Ok(())
    }

    /// The inbox in SQL is not given up for one that nobody can build.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_reader_keeps_the_inbox_in_sql_while_redis_is_silent() -> Result<()> {
        let (server, inboxes) = redis().await?;
        let world = world(inboxes).await?;
        let (app, keeper) = (&world.app, world.app.ports.tier.clone());
        ensure!(keeper.move_to_sql(world.reader).await? && !world.is_outside().await?);
        server.kill().await?;
        app.reactivator.visit(world.reader, None).await?;
        let outside = app.outside()?;
        ensure!(outside.states.fence(world.reader).await?.is_none(), "the tier was entered");
        ensure!(app.ports.inboxes.floor(world.reader).await? != Floor::Off);
        world.publish().await?;
        app.settle().await?;
        ensure!(app.ports.deliveries.backlog(i64::MIN, 1).await?.unfinished == 0 && world.shown().await? == 2);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_inbox_that_could_not_be_removed_goes_in_a_later_round() -> Result<()> {
        let (server, inboxes) = redis().await?;
        let world = world(inboxes).await?;
        let (app, keeper) = (&world.app, world.app.ports.tier.clone());
        let outside = app.outside()?.clone();
        let mut line = connect_redis(&server.url()).await?;
        let mut rule = async |rule: &str| -> Result<()> {
            Ok(redis::cmd("ACL").arg(&["SETUSER", "default", rule]).exec_async(&mut line).await?)
        };
        let window = Window { direction: Direction::Older, bound: None, limit: 1 };
        let is_there = async || Ok::<_, anyhow::Error>(outside.inboxes.slice(world.reader, &window).await?.is_some());
        rule("-unlink").await?;
        ensure!(keeper.move_to_sql(world.reader).await? && is_there().await?, "nobody may remove it");
        keeper.run_once().await?;
        ensure!(is_there().await?, "nobody may remove it now either");
        rule("+unlink").await?;
        keeper.run_once().await?;
        ensure!(!is_there().await?, "it was not tried again");
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_inbox_of_whoever_leaves_or_is_deleted_is_forgotten() -> Result<()> {
        let (_server, inboxes) = redis().await?;
        let world = world(inboxes).await?;
        let (app, reader) = (&world.app, world.reader);
        let outside = app.outside()?.clone();
        let window = Window { direction: Direction::Older, bound: None, limit: 1 };
        ensure!(outside.inboxes.slice(reader, &window).await?.is_some());
        app.ports.tier.move_to_sql(reader).await?;
        ensure!(outside.inboxes.slice(reader, &window).await?.is_none(), "the reader has left");
        app.reactivator.visit(reader, None).await?;
        ensure!(outside.inboxes.slice(reader, &window).await?.is_some());
        let password = account(1, "user1").password_hash;
        let deleted = app.ports.accounts.delete(reader, password.as_ref(), app.now_ms()).await?;
        ensure!(matches!(deleted, Deleted::Gone { .. }), "{deleted:?}");
        while app.remover.run_once().await? {}
        ensure!(outside.inboxes.slice(reader, &window).await?.is_none(), "the account is deleted");
        Ok(())
    }
}
