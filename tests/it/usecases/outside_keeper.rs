//! What keeps inboxes outside SQL: who is where, and a Redis that is another one, or silent.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{Floor, PageRequest, PageSize, UserId, content::Draft, limits::INBOX_BUCKETS, timeline::outside::Bucket},
    publish::PublishOutcome,
    store::{accounts::NewAccount, redis::RedisOptions},
    upkeep::Round,
};

use crate::{
    binary::process::until,
    harness::{Around, Inboxes, TestApp, settings},
    servers::{Backend, Kind, Server},
    store::conformance::account,
};

const BUCKETS: usize = INBOX_BUCKETS as usize;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

struct World {
    app: Arc<TestApp>,
    reader: UserId,
    author: UserId,
}

/// The reader follows the author and has come; the author has published once.
async fn world(inboxes: Inboxes) -> Result<World> {
    let app = TestApp::start_outside(Backend::Sqlite, Around::Memory, inboxes, settings()).await?;
    for id in [1, 2] {
        let account = NewAccount { now_ms: app.now_ms(), ..account(id, &format!("user{id}")) };
        app.ports.accounts.register(account).await?;
    }
    let (reader, author) = (UserId::try_new(1)?, UserId::try_new(2)?);
    app.following.follow(reader, author).await?;
    app.reactivator.wake(reader).await?;
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
        let outside = self.app.ports.outside.as_ref().context("inboxes outside SQL")?;
        Ok(outside.states.fence(self.reader).await?.is_some_and(|(_, basis)| basis.is_some()))
    }
}

async fn redis() -> Result<(Server, Inboxes)> {
    let server = Server::start(Kind::Redis).await?;
    let options = RedisOptions { urls: vec![server.url()], ..RedisOptions::default() };
    Ok((server, Inboxes::Redis(options)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_are_in_redis_while_they_come_and_in_sql_when_they_stay_away() -> Result<()> {
    let (_server, inboxes) = redis().await?;
    let world = world(inboxes).await?;
    let (app, keeper) = (&world.app, world.app.outside_keeper()?);
    ensure!(world.is_outside().await? && world.shown().await? == 1);
    app.clock.advance(DAY_MS);
    ensure!(keeper.run_once().await?.moved == 0, "a day is not over a day");
    app.clock.advance(1);
    // The author was never seen: registration opens an inbox in SQL, and that is where it stays.
    ensure!(keeper.run_once().await? == Round { moved: 1, ..Round::default() });
    ensure!(!world.is_outside().await? && app.ports.inboxes.floor(world.reader).await? != Floor::Off);
    ensure!(world.shown().await? == 1);
    let before = app.store.statements();
    // One of them finds what is left in Redis to be of another tier.
    ensure!(world.shown().await? == 1 && app.store.statements() - before == 2, "the inbox in SQL suffices");
    world.publish().await?;
    app.settle().await?;
    ensure!(world.shown().await? == 2);
    app.reactivator.wake(world.reader).await?;
    ensure!(world.is_outside().await? && world.shown().await? == 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_redis_is_admitted_as_another_one_and_inboxes_are_built_as_readers_come() -> Result<()> {
    let (server, inboxes) = redis().await?;
    let world = world(inboxes).await?;
    let outside = world.app.ports.outside.clone().context("inboxes outside SQL")?;
    let before = outside.states.tokens().await?;
    server.restart().await?;
    ensure!(world.shown().await? == 1, "the old token is of no node that answers");
    let bucket = Bucket::of(world.reader);
    until("Redis answers", async || Ok(outside.inboxes.identify(bucket).await.is_ok())).await?;
    ensure!(world.app.outside_keeper()?.run_once().await? == Round { admitted: BUCKETS, ..Round::default() });
    let after = outside.states.tokens().await?;
    ensure!(before.iter().zip(&after).all(|(old, new)| old.1.node != new.1.node && old.1.epoch != new.1.epoch));
    world.publish().await?;
    world.app.settle().await?;
    ensure!(world.shown().await? == 2);
    world.app.reactivator.wake(world.reader).await?;
    let header = tidefeed::domain::timeline::outside::Window {
        direction: tidefeed::domain::Direction::Older,
        bound: None,
        limit: 10,
    };
    let slice = outside.inboxes.slice(world.reader, &header).await?.context("it was built")?;
    ensure!(slice.rows.len() == 2 && world.shown().await? == 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_stays_silent_is_given_up_and_readers_come_to_sql() -> Result<()> {
    let (server, inboxes) = redis().await?;
    let world = world(inboxes).await?;
    let (app, keeper) = (&world.app, world.app.outside_keeper()?);
    server.kill().await?;
    world.publish().await?;
    app.settle().await?;
    ensure!(app.ports.deliveries.backlog(1).await?.unfinished == 1, "nobody knows whether the inbox is served");
    ensure!(world.shown().await? == 2, "it is read from the delivery");
    for _ in 0..2 {
        ensure!(keeper.run_once().await? == Round::default());
    }
    ensure!(keeper.run_once().await? == Round { given_up: BUCKETS, ..Round::default() });
    app.sweep().await?;
    ensure!(app.ports.deliveries.backlog(1).await?.unfinished == 0);
    app.reactivator.wake(world.reader).await?;
    ensure!(app.ports.inboxes.floor(world.reader).await? != Floor::Off && world.shown().await? == 2);
    Ok(())
}
