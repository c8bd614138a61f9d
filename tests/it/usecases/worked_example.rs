//! Tests the worked example of docs/protocol.md#a-worked-example: two authors are pulled, three are in the inbox.
//! Every backend answers it page for page.

use anyhow::{Context as _, Result, ensure};
use scylla::client::session_builder::SessionBuilder;
use serde::Deserialize;
use tidefeed::{
    domain::{ContentId, PageRequest, PageSize, Position, UserId, content::Draft},
    follow::FollowOutcome,
    store::{
        accounts::{NewAccount, Registered},
        contents::{NewContent, Published},
        redis::RedisOptions,
    },
};

use crate::{
    harness::{CacheBackend, Inboxes, TestApp, settings},
    servers::{Backend, cassandra, connect_sql, numbers, on_each_backend},
    store::conformance::{
        account,
        adapters::{Adapter, RawConnection},
    },
};

/// (content id, publish time).
type Pair = (i64, i64);

#[derive(Deserialize)]
struct Example {
    viewer: i64,
    follows: Vec<i64>,
    outboxes: std::collections::BTreeMap<String, Vec<Pair>>,
    inbox: Vec<Pair>,
    inbox_authors: Vec<i64>,
    pages: Vec<ExamplePage>,
}

#[derive(Deserialize)]
struct ExamplePage {
    after: Option<Pair>,
    entries: Vec<Pair>,
}

fn example() -> Result<Example> {
    Ok(serde_json::from_str(include_str!("../../fixtures/worked-example.json"))?)
}

async fn register(app: &TestApp, id: i64) -> Result<()> {
    let account = NewAccount { now_ms: app.now_ms(), ..account(id, &format!("user{id}")) };
    ensure!(app.ports.accounts.register(account).await? == Registered::Created);
    Ok(())
}

async fn publish(app: &TestApp, author: i64, (id, publish_time): Pair) -> Result<()> {
    let draft = Draft::try_new("words", Vec::new(), None)?;
    let new =
        NewContent { id: ContentId::try_new(id)?, author: UserId::try_new(author)?, draft, publish_time, version: id };
    ensure!(matches!(app.ports.contents.publish(new).await?, Published::Created { .. }));
    Ok(())
}

/// The example's world: 200 and 211 are pulled, the other authors' contents are delivered.
async fn build(app: &TestApp, example: &Example) -> Result<UserId> {
    let viewer = UserId::try_new(example.viewer)?;
    for user in [example.viewer].iter().chain(&example.follows) {
        register(app, *user).await?;
    }
    for author in &example.follows {
        let author = UserId::try_new(*author)?;
        ensure!(app.following.follow(viewer, author).await? == FollowOutcome::Following);
    }
    app.settle().await?;
    app.reactivator.visit(viewer, None).await?;
    for author in example.outboxes.keys() {
        app.demote(viewer, UserId::try_new(author.parse()?)?).await?;
    }
    for (author, outbox) in &example.outboxes {
        for entry in outbox {
            publish(app, author.parse()?, *entry).await?;
        }
    }
    for (entry, author) in example.inbox.iter().zip(example.inbox_authors.iter().cycle()) {
        publish(app, *author, *entry).await?;
    }
    app.sweep().await?;
    Ok(viewer)
}

async fn holds(backend: Backend, cache_backend: CacheBackend) -> Result<()> {
    let example = example()?;
    let app = TestApp::start(backend, cache_backend).await?;
    let viewer = build(&app, &example).await?;
    pulls_two(&app, viewer).await?;
    pages_are(&app, viewer, &example).await
}

async fn pulls_two(app: &TestApp, viewer: UserId) -> Result<()> {
    let expected = [UserId::try_new(200)?, UserId::try_new(211)?];
    let uncovered = app.uncovered(viewer).await?;
    ensure!(uncovered == expected, "{uncovered:?} are pulled");
    Ok(())
}

async fn pages_are(app: &TestApp, viewer: UserId, example: &Example) -> Result<()> {
    let size = PageSize::try_new(3)?;
    for page in &example.pages {
        let bound = page.after.map(|(id, time)| Position::try_new(time, id)).transpose()?;
        let request = PageRequest { bound, ..PageRequest::newest(size) };
        let read = app.reader.page(viewer, &request).await?;
        let entries: Vec<Pair> = read.entries.iter().map(|it| (it.content.get(), it.publish_time)).collect();
        ensure!(entries == page.entries, "after {:?}: {entries:?} instead of {:?}", page.after, page.entries);
        let last = example.pages.last().is_some_and(|last| last.after == page.after);
        ensure!(read.has_older != last && read.has_newer == page.after.is_some(), "the ends of {:?}", page.after);
    }
    Ok(())
}

/// Tests it with the inbox in Redis. The pages come from there: an entry that the test deletes from it is missing.
async fn holds_in(backend: Backend, options: RedisOptions) -> Result<()> {
    let example = example()?;
    let app =
        TestApp::start_outside(backend, CacheBackend::NoCache, Inboxes::Redis(options.clone()), settings()).await?;
    let viewer = build(&app, &example).await?;
    pulls_two(&app, viewer).await?;
    pages_are(&app, viewer, &example).await?;
    let rows = "SELECT COUNT(*) FROM inboxes WHERE user_id = ";
    let sql = connect_sql(app.database_url()).await?;
    ensure!(numbers(&sql, &format!("{rows}{viewer}")).await? == [0], "nothing of it is in SQL");
    let before = app.store.statements();
    let newest = app.reader.page(viewer, &PageRequest::newest(PageSize::try_new(3)?)).await?;
    ensure!(app.store.statements() - before == 1, "a page is one statement");
    let delivered = |id: i64| example.inbox.iter().any(|(other, _)| *other == id);
    let gone = newest.entries.iter().find(|entry| delivered(entry.content.get())).context("one of the inbox")?;
    let (bucket, member) = (viewer.get() % 128, format!("{:020}", gone.content.get()));
    let key = format!("{}inbox1:{{{bucket}}}:{viewer}", options.prefix);
    let removed: i64 = RawConnection::open(&options).await?.run(redis::cmd("ZREM").arg(key).arg(member)).await?;
    ensure!(removed == 1, "the row is where the tables' description says");
    let without = app.reader.page(viewer, &PageRequest::newest(PageSize::try_new(3)?)).await?;
    ensure!(without.entries.iter().all(|entry| entry.content != gone.content), "the page came from elsewhere");
    Ok(())
}

/// As [`holds_in`], with the inbox in Cassandra.
async fn holds_in_cassandra(backend: Backend) -> Result<()> {
    let example = example()?;
    let options = cassandra().await?.fresh_keyspace(1);
    let inboxes = Inboxes::Cassandra(options.clone());
    let app = TestApp::start_outside(backend, CacheBackend::NoCache, inboxes, settings()).await?;
    let viewer = build(&app, &example).await?;
    pulls_two(&app, viewer).await?;
    pages_are(&app, viewer, &example).await?;
    let before = app.store.statements();
    let newest = app.reader.page(viewer, &PageRequest::newest(PageSize::try_new(3)?)).await?;
    ensure!(app.store.statements() - before == 1, "a page is one statement");
    let delivered = |id: i64| example.inbox.iter().any(|(other, _)| *other == id);
    let gone = newest.entries.iter().find(|entry| delivered(entry.content.get())).context("one of the inbox")?;
    let session = SessionBuilder::new().known_nodes(&options.contact_points).build().await?;
    let outside = app.outside()?;
    let fence = outside.states.fence(viewer).await?.context("a fence")?.0;
    let row = "user_id = ? AND generation = ? AND node = ? AND epoch = ? AND publish_time = ? AND content_id = ?";
    let node = fence.token.node.bytes().to_vec();
    let of = (viewer.get(), fence.generation.0, node, fence.token.epoch, gone.publish_time, gone.content.get());
    session.query_unpaged(format!("DELETE FROM {}.inbox_rows WHERE {row}", options.keyspace), of).await?;
    let without = app.reader.page(viewer, &PageRequest::newest(PageSize::try_new(3)?)).await?;
    ensure!(without.entries.iter().all(|entry| entry.content != gone.content), "the page came from elsewhere");
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn the_worked_example_holds_without_a_cache(backend: Backend) -> Result<()> {
        holds(backend, CacheBackend::NoCache).await
    }
}

mod redis_cluster {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn the_worked_example_holds_with_inboxes_in_a_cluster(backend: Backend) -> Result<()> {
            holds_in(backend, Adapter::Cluster.options().await?.context("a cluster")?).await
        }

        async fn the_worked_example_holds_with_redis_cluster(backend: Backend) -> Result<()> {
            holds(backend, CacheBackend::Cluster).await
        }
    }
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn the_worked_example_holds_with_inboxes_in_redis(backend: Backend) -> Result<()> {
            holds_in(backend, Adapter::Redis.options().await?.context("a server")?).await
        }

        async fn the_worked_example_holds_with_redis(backend: Backend) -> Result<()> {
            holds(backend, CacheBackend::Redis).await
        }
    }
}

mod cassandra {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn the_worked_example_holds_with_inboxes_in_cassandra(backend: Backend) -> Result<()> {
            holds_in_cassandra(backend).await
        }
    }
}
