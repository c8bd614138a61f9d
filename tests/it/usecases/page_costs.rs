//! Counts the statements that the entries of a page cost, in every state that a reader may be in.

use anyhow::{Result, bail, ensure};
use tidefeed::{
    clock::Clock as _,
    domain::{Direction, PageRequest, PageSize, Position, content::Draft, timeline::route::MOST_STATEMENTS},
    follow::ExclusionOutcome,
};

use crate::{
    harness::{CacheBackend, TestApp},
    servers::{Backend, definition_takes_more, on_each_backend},
    usecases::delivery::{followed_author, publish, user},
};

/// Whose pages are read. The author is user 1, and 3 another follower.
const READER: i64 = 2;

/// Pages at the top, in the middle, towards newer entries, and beyond the end.
fn requests(oldest: i64) -> Result<Vec<PageRequest>> {
    let newest = PageRequest::newest(PageSize::try_new(10)?);
    let middle = Some(Position::bound(oldest + 12, i64::MAX));
    Ok(vec![
        newest,
        PageRequest { bound: middle, ..newest },
        PageRequest { bound: middle, direction: Direction::Newer, ..newest },
        PageRequest { bound: Some(Position::OLDEST), direction: Direction::Newer, ..newest },
    ])
}

/// Reads each page three times. Every page is the oracle's, and costs no more than three statements; after that two,
/// of which one fills the cache of outboxes; and then as many as `again`.
async fn read(app: &TestApp, state: &str, oldest: i64, again: u64) -> Result<()> {
    for request in requests(oldest)? {
        for most in [u64::from(MOST_STATEMENTS), 2, again] {
            let before = app.store.statements();
            let page = app.reader.read_raw(user(READER), &request).await?;
            let cost = app.store.statements() - before;
            let mut due = app.ports.timelines.oracle(user(READER), &request).await?;
            due.truncate(request.size.get());
            if request.direction == Direction::Newer {
                due.reverse();
            }
            ensure!(page.entries == due, "{state}, {request:?}: {page:?}, due is {due:?}");
            let most = most + definition_takes_more();
            ensure!(cost <= most, "{state}, {request:?}: {cost} statements, at most {most}");
        }
    }
    Ok(())
}

async fn every_state_costs_few_statements(backend: Backend, cache: CacheBackend) -> Result<()> {
    let app = TestApp::start(backend, cache).await?;
    followed_author(&app, 4).await?;
    let (reader, author, other) = (user(READER), user(1), user(3));
    for _ in 0..30 {
        app.clock.advance(1);
        publish(&app).await?;
    }
    let oldest = app.clock.now_ms() - 30;
    app.reactivator.visit(reader, None).await?;
    read(&app, "in flight", oldest, 1).await?;
    app.settle().await?;
    read(&app, "delivered", oldest, 1).await?;
    app.following.follow(reader, other).await?;
    read(&app, "one new edge", oldest, 1).await?;
    app.settle().await?;
    read(&app, "covered", oldest, 1).await?;
    app.following.unfollow(reader, other).await?;
    read(&app, "one edge less", oldest, 1).await?;
    let ExclusionOutcome::Done = app.excluding.mute(reader, other).await? else { bail!("not muted") };
    read(&app, "with an exclusion", oldest, 1).await?;
    app.demote(reader, author).await?;
    read(&app, "pulled", oldest, 1).await?;
    app.turn_off(reader).await?;
    read(&app, "off", oldest, 2).await?;
    app.reactivator.visit(reader, None).await?;
    app.settle().await?;
    read(&app, "back", oldest, 1).await?;
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn every_state_of_a_reader_costs_few_statements(backend: Backend) -> Result<()> {
        every_state_costs_few_statements(backend, CacheBackend::NoCache).await
    }

    /// Also of contents whose cards no page has shown.
    async fn an_original_is_looked_up_once(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 4).await?;
        let original = publish(&app).await?;
        app.clock.advance(1);
        app.publisher.publish(user(1), Draft::repost(original.content)).await?;
        for (entries, first) in [(1, 3), (2, 2)] {
            app.settle().await?;
            let mut costs = Vec::new();
            for _ in 0..3 {
                let before = app.store.statements();
                let page = app.reader.page(user(READER), &PageRequest::newest(PageSize::try_new(10)?)).await?;
                costs.push(app.store.statements() - before);
                ensure!((page.entries.len(), page.unfolded.len()) == (entries, entries + 1), "{page:?}");
            }
            let most = first + definition_takes_more();
            ensure!((first..=most).contains(&costs[0]) && costs[1..] == [1, 1], "authors at first, the page, and what is reposted: {costs:?}");
            app.clock.advance(1);
            publish(&app).await?;
        }
        Ok(())
    }
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn every_state_of_a_reader_costs_few_statements_with_redis(backend: Backend) -> Result<()> {
            every_state_costs_few_statements(backend, CacheBackend::Redis).await
        }
    }
}
