//! The book's worked example (chapter 11.6.7, table 11-6) and its two further pages: two authors are pulled, three are
//! in the inbox; every backend answers it page for page.

use anyhow::{Result, ensure};
use serde::Deserialize;
use tidefeed::{
    domain::{
        ContentId, PageRequest, PageSize, Position, UserId, account::profile::Registration, content::Draft,
        timeline::plan::UncoveredAuthor,
    },
    follow::FollowOutcome,
    store::{
        accounts::{NewAccount, PasswordHash, Registered},
        contents::{NewContent, Published},
        timelines::Depth,
    },
};

use crate::{
    harness::{Around, TestApp},
    servers::{Backend, on_each_backend},
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
    let account = NewAccount {
        id: UserId::try_new(id)?,
        registration: Registration::try_new(&format!("user{id}"), "User", "", None)?,
        password_hash: Some(PasswordHash("nobody signs in here".to_owned())),
        incarnation: id,
        now_ms: app.now_ms(),
    };
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

/// The example's world: 200 and 211 are pulled, the others' contents are delivered.
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
    app.reactivator.wake(viewer).await?;
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

async fn holds(backend: Backend, around: Around) -> Result<()> {
    let example = example()?;
    let app = TestApp::start(backend, around).await?;
    let viewer = build(&app, &example).await?;
    let size = PageSize::try_new(3)?;
    let inbox = app.ports.timelines.read(viewer, &PageRequest::newest(size), Depth::Inbox).await?;
    for author in ["200", "211"] {
        let author = UserId::try_new(author.parse()?)?;
        let version = app.ports.contents.outbox_heads(&[author], 1).await?[0].version;
        let uncovered = UncoveredAuthor { author, version };
        ensure!(version > 0 && inbox.uncovered.contains(&uncovered), "{author} is not pulled: {:?}", inbox.uncovered);
    }
    ensure!(inbox.uncovered.len() == 2, "others are pulled, too: {:?}", inbox.uncovered);
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

on_each_backend! {
    async fn the_worked_example_holds_without_a_cache(backend: Backend) -> Result<()> {
        holds(backend, Around::NoCache).await
    }

    async fn the_worked_example_holds_with_a_cache_in_process(backend: Backend) -> Result<()> {
        holds(backend, Around::Memory).await
    }

    async fn the_worked_example_holds_with_redis(backend: Backend) -> Result<()> {
        holds(backend, Around::Redis).await
    }

    async fn the_worked_example_holds_with_redis_cluster(backend: Backend) -> Result<()> {
        holds(backend, Around::Cluster).await
    }
}
