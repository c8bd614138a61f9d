//! Tests one reader's way through all tiers: the inbox in Redis, then in SQL, then nowhere, and back. Each change is
//! counted, and every page is right.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, bail, ensure};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tidefeed::{
    accounts::{Caller, RefreshOutcome, SessionSettings, SessionsService, TokenKey, Tokens},
    domain::{Entry, Floor, PageRequest, PageSize, content::Draft},
    publish::PublishOutcome,
    store::redis::RedisOptions,
};

use crate::{
    harness::{CacheBackend, Inboxes, TestApp, settings},
    servers::{Backend, Kind, Server},
    usecases::delivery::{followed_author, user},
};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The value in `settings`.
const DORMANT_DAYS: i64 = 30;
const AUTHOR: i64 = 1;
const READER: i64 = 2;

/// How a reader comes back.
#[derive(Debug, Clone, Copy)]
enum Return {
    Page,
    SignIn,
    Refresh,
}

struct World {
    app: Arc<TestApp>,
    sessions: SessionsService,
    metrics: PrometheusHandle,
    published: usize,
}

/// Sessions that outlast every absence in this test.
fn sessions(app: &TestApp) -> Result<SessionsService> {
    let tokens = Arc::new(Tokens::new(TokenKey::try_new(&[7; 32])?, Duration::from_mins(1), app.clock.clone()));
    let settings = SessionSettings { idle: Duration::from_hours(24 * 365), ..SessionSettings::default() };
    Ok(SessionsService::new(&app.ports, tokens, app.readers.clone(), settings, app.ambient()))
}

impl World {
    /// The number of readers counted from one tier to another so far.
    fn changes(&self, from: &str, to: &str) -> u64 {
        let name = format!("tidefeed_inbox_tier_changes_total{{from=\"{from}\",to=\"{to}\"}} ");
        self.metrics.render().lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
    }

    async fn publish(&mut self) -> Result<()> {
        self.app.clock.advance(1);
        let outcome = self.app.publisher.publish(user(AUTHOR), Draft::try_new("words", Vec::new(), None)?).await?;
        ensure!(matches!(outcome, PublishOutcome::Published(_)), "{outcome:?}");
        self.published += 1;
        Ok(())
    }

    /// Checks a page, without a visit.
    async fn page_is_right(&self) -> Result<()> {
        let request = PageRequest::newest(PageSize::try_new(50)?);
        let entries = self.app.reader.read_raw(user(READER), &request).await?.entries;
        self.is_all(&entries)?;
        let oracle = self.app.ports.timelines.oracle(user(READER), &request).await?;
        ensure!(entries == oracle, "{entries:?}, not {oracle:?}");
        Ok(())
    }

    fn is_all(&self, entries: &[Entry]) -> Result<()> {
        ensure!(entries.len() == self.published, "{} of {} are shown", entries.len(), self.published);
        Ok(())
    }

    async fn floor(&self) -> Result<Floor> {
        Ok(self.app.ports.inboxes.floor(user(READER)).await?)
    }

    async fn is_outside(&self) -> Result<bool> {
        let outside = self.app.outside()?;
        Ok(outside.states.fence(user(READER)).await?.is_some_and(|(_, basis)| basis.is_some()))
    }

    /// The reader stays away for a day, and then a month: from Redis to SQL to nothing.
    async fn stay_away(&mut self, round: u64) -> Result<()> {
        self.app.clock.advance(DAY_MS + 1);
        self.app.ports.tier.run_once().await?;
        ensure!(self.changes("outside", "sql") == round && !self.is_outside().await?);
        ensure!(self.floor().await? != Floor::Off, "the inbox is in SQL");
        self.publish().await?;
        self.app.settle().await?;
        self.page_is_right().await?;
        let before = self.app.store.statements();
        self.page_is_right().await?;
        ensure!(self.app.store.statements() - before == 2, "the inbox in SQL suffices, and the oracle");
        self.app.clock.advance(DORMANT_DAYS * DAY_MS);
        self.app.sweeper.run_once().await?;
        ensure!(self.floor().await? == Floor::Off && !self.is_outside().await?, "there is no inbox");
        self.publish().await?;
        self.app.settle().await?;
        self.page_is_right().await
    }

    async fn come_back(&mut self, way: Return, refresh: &str) -> Result<String> {
        let mut next = refresh.to_owned();
        match way {
            Return::Page => {
                // It is right at once, because it is pulled.
                let page = self.app.reader.page(user(READER), &PageRequest::newest(PageSize::try_new(50)?)).await?;
                self.is_all(&page.entries)?;
            }
            Return::SignIn => next = self.sessions.begin(user(READER), &Caller::default()).await?.refresh.text,
            Return::Refresh => {
                let RefreshOutcome::Refreshed(renewed) = self.sessions.refresh(refresh).await? else {
                    bail!("the session has ended")
                };
                next = renewed.refresh.text;
            }
        }
        self.app.settle().await?;
        Ok(next)
    }
}

/// The recorder of metrics belongs to one thread.
async fn walk(backend: Backend) -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    let _measuring = metrics::set_default_local_recorder(&recorder);
    let server = Server::start(Kind::Redis).await?;
    let inboxes = Inboxes::Redis(RedisOptions { urls: vec![server.url()], ..RedisOptions::default() });
    let app = TestApp::start_outside(backend, CacheBackend::NoCache, inboxes, settings()).await?;
    followed_author(&app, 1).await?;
    let mut world = World { sessions: sessions(&app)?, app, metrics, published: 0 };
    let mut refresh = world.sessions.begin(user(READER), &Caller::default()).await?.refresh.text;
    world.app.settle().await?;
    ensure!(world.is_outside().await? && world.changes("sql", "outside") == 1, "the first visit");
    world.publish().await?;
    world.app.settle().await?;
    world.page_is_right().await?;
    for (round, way) in (1..).zip([Return::Page, Return::SignIn, Return::Refresh]) {
        world.stay_away(round).await?;
        refresh = world.come_back(way, &refresh).await?;
        ensure!(world.is_outside().await? && world.changes("none", "outside") == round, "{way:?}");
        world.page_is_right().await?;
        world.publish().await?;
        world.app.settle().await?;
        world.page_is_right().await?;
    }
    // The author, who never comes, is turned off once.
    ensure!(world.changes("sql", "none") == 4 && world.changes("sql", "outside") == 1, "{}", world.metrics.render());
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test]
    async fn a_reader_goes_from_redis_to_sql_to_nothing_and_comes_back() -> Result<()> {
        walk(Backend::Sqlite).await
    }
}

mod mariadb {
    use super::*;

    #[tokio::test]
    async fn a_reader_goes_through_all_tiers_on_mariadb() -> Result<()> {
        walk(Backend::MariaDb).await
    }
}
