//! Tests upkeep over a real store: the work that makes pages cheap again.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use metrics_exporter_prometheus::PrometheusBuilder;
use tidefeed::{
    app::App,
    config::{Config, Environment, Sources},
    domain::{ContentId, Entry, Floor, PageRequest, PageSize, Position, content::Draft, timeline::tier::InboxTiers},
    lifecycle::Lifecycle,
    store::{OutboxCache, contents::OutboxHead},
};

use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::{self, on_each_backend},
    usecases::delivery::{followed_author, user},
};

/// Number of inboxes, every fourth of which is too full.
const INBOXES: i64 = 1_000;
const KEEP: i64 = 20;

async fn fill_inboxes(app: &TestApp) -> Result<()> {
    let database = servers::connect_sql(app.database_url()).await?;
    let rows = |inbox: i64| if inbox % 4 == 0 { KEEP + KEEP / 10 + 1 } else { KEEP + KEEP / 10 };
    for some in (1..=INBOXES).collect::<Vec<_>>().chunks(100) {
        let states: Vec<String> = some.iter().map(|inbox| format!("({inbox}, 0, 0, 5)")).collect();
        let columns = "inbox_states (user_id, floor_time, floor_content, last_seen)";
        servers::execute(&database, &format!("INSERT INTO {columns} VALUES {}", states.join(", "))).await?;
        let all =
            some.iter().flat_map(|inbox| (1..=rows(*inbox)).map(move |row| format!("({inbox}, {row}, {row}, 9)")));
        let columns = "inboxes (user_id, publish_time, content_id, author_id)";
        let all: Vec<String> = all.collect();
        servers::execute(&database, &format!("INSERT INTO {columns} VALUES {}", all.join(", "))).await?;
    }
    Ok(())
}

/// A node configured with nothing but its database, and with a Redis if one is named.
async fn unconfigured(app: &TestApp, redis: Option<&str>) -> Result<App> {
    let secret = "a secret of more than thirty-two bytes";
    let variables = [("STORE__URL", Some(app.database_url())), ("AUTH__SECRET", Some(secret)), ("REDIS__URLS", redis)];
    let named =
        variables.into_iter().filter_map(|(name, value)| Some((format!("TIDEFEED__{name}"), value?.to_owned())));
    let config = Config::load(&Sources::new(None, Environment::of(named)))?;
    Ok(App::open(&config, app.ambient(), &Lifecycle::new()).await?)
}

/// B4: the newest 300 of 301 entries are in an outbox cache, which says so.
async fn newest_300_are_cached(cache: Option<&Arc<dyn OutboxCache>>) -> Result<()> {
    let cache = cache.context("no outbox cache")?;
    let entry = |time| anyhow::Ok(Entry { publish_time: time, content: ContentId::try_new(time)?, author: user(1) });
    let entries: Vec<Entry> = (1..=301).rev().map(entry).collect::<Result<_>>()?;
    cache.fill(&[OutboxHead { author: user(1), version: 1, entries: entries.clone(), whole: true }]).await?;
    let cached = cache.fetch(&[user(1)]).await?.remove(0).context("not cached")?;
    ensure!(cached.entries == entries[..300], "{} entries", cached.entries.len());
    ensure!(cached.complete_from == Position::bound(2, 2), "{:?}", cached.complete_from);
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// B4: a walk over a thousand inboxes is six statements. Each overfull inbox takes one transaction of four more,
    /// which deletes a tenth of what is kept, and one row more, in one statement. So transactions are rare in
    /// comparison with the rows that deliveries insert, and the cost of a walk does not depend on how many rows there
    /// are.
    async fn the_trimmer_works_in_batches_of_200_inboxes(backend: Backend) -> Result<()> {
        let keep = u32::try_from(KEEP)?;
        let settings = tidefeed::app::Settings { tiers: InboxTiers { keep, ..settings().tiers }, ..settings() };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        fill_inboxes(&app).await?;
        let database = servers::connect_sql(app.database_url()).await?;
        let rows = async || anyhow::Ok(servers::numbers(&database, "SELECT COUNT(*) FROM inboxes").await?[0]);
        let (before, begun) = (rows().await?, (app.store.statements(), app.store.transactions()));
        let mut trimmed = 0;
        loop {
            let (inboxes, round) = app.trimmer.run_once().await?;
            trimmed += inboxes;
            if round {
                break;
            }
        }
        let cost = (app.store.statements() - begun.0, app.store.transactions() - begun.1);
        ensure!(trimmed == 250, "{trimmed} inboxes were too full");
        ensure!(cost == (6 + 4 * 250, 250), "statements and transactions: {cost:?}");
        ensure!(before - rows().await? == 250 * (KEEP / 10 + 1), "{} of {before} rows are left", rows().await?);
        let begun = app.store.statements();
        while !app.trimmer.run_once().await?.1 {}
        ensure!(app.store.statements() - begun == 6, "nothing is too full: a thousand inboxes are looked at, no more");
        Ok(())
    }

    /// A hundred readers who were away, half of whom pull the author meanwhile: one transaction notes all, each of 13
    /// sets is filled in one, and seven of them are promoted in one before.
    async fn a_crowd_comes_back_in_few_transactions(backend: Backend) -> Result<()> {
        const READERS: i64 = 100;
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, READERS).await?;
        let readers: Vec<_> = (2..=READERS + 1).map(user).collect();
        for reader in &readers {
            app.readers.note_present(*reader).await;
        }
        for time in 1..=3 {
            app.set_time(time);
            app.publisher.publish(user(1), Draft::try_new("words", Vec::new(), None)?).await?;
        }
        app.settle().await?;
        ensure!(app.ports.inboxes.turn_off_unseen(i64::MAX, 1_000).await? >= READERS.unsigned_abs());
        app.ports.follows.demote(user(1), &readers[50..], 1_077).await?;
        app.set_time(i64::from(u32::MAX));
        for reader in &readers {
            app.readers.note_present(*reader).await;
        }
        let begun = app.store.transactions();
        ensure!(app.reactivator.run_once("a crowd", Duration::ZERO).await? == readers.len());
        let transactions = app.store.transactions() - begun;
        ensure!(transactions <= 21, "{transactions} transactions");
        for reader in &readers {
            let floor = app.ports.inboxes.floor(*reader).await?;
            ensure!(floor == Floor::At(Position::OLDEST), "{reader}: {floor:?}");
        }
        app.settle().await?;
        for reader in &readers {
            ensure!(app.ports.inboxes.held(*reader, 9).await? == 3 && app.uncovered(*reader).await?.is_empty());
        }
        Ok(())
    }

    /// Following an author with more contents than an inbox keeps raises the floor; unfollowing them lowers it again.
    async fn a_floor_that_a_gone_author_raised_comes_down_again(backend: Backend) -> Result<()> {
        let settings = tidefeed::app::Settings { tiers: InboxTiers { keep: 5, ..settings().tiers }, ..settings() };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 2).await?;
        let (author, reader, steady) = (user(1), user(2), user(3));
        for time in 1..=12 {
            app.set_time(time);
            let by = if time < 3 { steady } else { author };
            app.publisher.publish(by, Draft::try_new("words", Vec::new(), None)?).await?;
        }
        app.settle().await?;
        app.reactivator.visit(reader, None).await?;
        app.following.unfollow(reader, author).await?;
        app.following.follow(reader, steady).await?;
        app.settle().await?;
        app.following.follow(reader, author).await?;
        app.settle().await?;
        let raised = app.ports.inboxes.floor(reader).await?;
        ensure!(raised.trusted_from() > Position::OLDEST, "covering was not cut: {raised:?}");
        app.following.unfollow(reader, author).await?;
        app.settle().await?;
        ensure!(app.ports.inboxes.held(reader, 5).await? < 5);

        let request = PageRequest::newest(PageSize::default());
        let page = app.reader.page(reader, &request).await?;
        ensure!(page.entries.len() == 2 && !page.has_older, "{page:?}");
        app.settle().await?;
        ensure!(app.ports.inboxes.floor(reader).await? == Floor::At(Position::OLDEST), "the visit changed nothing");
        ensure!(app.uncovered(reader).await?.is_empty());
        Ok(())
    }

    /// The node knows at once that a reader's inbox is back: the next page looks there.
    async fn the_first_page_after_a_return_comes_from_the_inbox(backend: Backend) -> Result<()> {
        let recorder = PrometheusBuilder::new().build_recorder();
        let _measuring = metrics::set_default_local_recorder(&recorder);
        let from_inboxes = || {
            let metrics = recorder.handle().render();
            let counted = metrics.lines().find_map(|it| it.strip_prefix("tidefeed_timeline_pages_total{way=\"candidates\"} "));
            counted.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0)
        };
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 2).await?;
        let (reader, request) = (user(2), PageRequest::newest(PageSize::default()));
        for time in 1..=9 {
            app.set_time(time);
            app.publisher.publish(user(1), Draft::try_new("words", Vec::new(), None)?).await?;
        }
        app.settle().await?;
        for _ in 0..2 {
            app.turn_off(reader).await?;
            app.reader.page(reader, &request).await?;
            app.reader.page(reader, &request).await?;
            let before = from_inboxes();
            app.reactivator.visit(reader, None).await?;
            ensure!(app.reader.page(reader, &request).await?.entries.len() == 9);
            ensure!(from_inboxes() == before + 1, "the page was read from the outboxes");
        }
        Ok(())
    }
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        /// B4: what is kept without any configuration. An inbox with a tenth more is left alone.
        async fn a_node_keeps_300_of_an_inbox_and_an_outbox_by_default(backend: Backend) -> Result<()> {
            let app = TestApp::start(backend, CacheBackend::NoCache).await?;
            let keys = servers::fresh_keys().await?;
            let (alone, with_redis) = (unconfigured(&app, None).await?, unconfigured(&app, Some(&keys.url)).await?);
            ensure!(alone.adapters.ports.outbox_cache.is_none(), "a cache without Redis");
            newest_300_are_cached(with_redis.adapters.ports.outbox_cache.as_ref()).await?;
            let database = servers::connect_sql(app.database_url()).await?;
            for (inbox, rows) in [(1, 330), (2, 331)] {
                let state = format!("INSERT INTO inbox_states (user_id, floor_time, floor_content, last_seen) VALUES ({inbox}, 0, 0, 5)");
                servers::execute(&database, &state).await?;
                let all: Vec<String> = (1..=rows).map(|row| format!("({inbox}, {row}, {row}, 9)")).collect();
                let columns = "inboxes (user_id, publish_time, content_id, author_id)";
                servers::execute(&database, &format!("INSERT INTO {columns} VALUES {}", all.join(", "))).await?;
            }
            alone.use_cases.trimmer.run_once().await?;
            let left = "SELECT COUNT(*) FROM inboxes GROUP BY user_id ORDER BY user_id";
            ensure!(servers::numbers(&database, left).await? == [330, 300]);
            let oldest = "SELECT MIN(publish_time) FROM inboxes WHERE user_id = 2";
            ensure!(servers::numbers(&database, oldest).await? == [32], "the newest are kept");
            Ok(())
        }
    }
}

/// The workers pause after it, so that a store that takes no writes is not asked again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_that_cannot_be_trimmed_fails_the_step() -> Result<()> {
    let settings = tidefeed::app::Settings { tiers: InboxTiers { keep: 20, ..settings().tiers }, ..settings() };
    let app = TestApp::start_with(servers::Backend::Sqlite, CacheBackend::NoCache, settings).await?;
    fill_inboxes(&app).await?;
    let database = servers::connect_sql(app.database_url()).await?;
    let refuse =
        "CREATE TRIGGER refuse BEFORE DELETE ON inboxes WHEN OLD.user_id = 4 BEGIN SELECT RAISE(FAIL, 'no'); END";
    servers::execute(&database, refuse).await?;
    ensure!(app.trimmer.run_once().await.is_err());
    let left = "SELECT COUNT(*) FROM inboxes WHERE user_id IN (4, 8) GROUP BY user_id ORDER BY user_id";
    ensure!(servers::numbers(&database, left).await? == [KEEP + KEEP / 10 + 1, KEEP], "others are trimmed");
    while !app.trimmer.run_once().await?.1 {}
    servers::execute(&database, "DROP TRIGGER refuse").await?;
    ensure!(app.trimmer.run_once().await?.0 == 1, "the walk comes by again");
    Ok(())
}
