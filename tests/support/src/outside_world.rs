//! One reader whose inbox lies outside SQL, and one author. Checks each page, and reports where it came from.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use metrics_exporter_prometheus::PrometheusHandle;
use tidefeed::{
    domain::{
        PageRequest, PageSize, UserId, account::profile::Registration, content::Draft, timeline::outside::Bucket,
    },
    publish::PublishOutcome,
    store::accounts::NewAccount,
    tier::OutsideStores,
};

use crate::{
    binary::process::until,
    harness::{CacheBackend, Inboxes, TestApp, settings},
    servers::Backend,
};

/// Entries that its inboxes keep.
const KEEP: u32 = 20;
/// Entries of a page.
const PAGE: i64 = 10;

/// The reader follows the author.
pub struct OutsideWorld {
    /// The service.
    pub app: Arc<TestApp>,
    /// The owner of the inbox.
    pub reader: UserId,
    author: UserId,
    /// Publish times, oldest first; no two are equal.
    published: Vec<i64>,
    metrics: PrometheusHandle,
}

impl OutsideWorld {
    /// Starts on SQLite. The reader has come, and nothing is published yet. `metrics` belongs to the calling thread.
    pub async fn start(inboxes: Inboxes, metrics: PrometheusHandle) -> Result<Self> {
        let mut settings = settings();
        settings.tiers.keep = KEEP;
        let app = TestApp::start_outside(Backend::Sqlite, CacheBackend::NoCache, inboxes, settings).await?;
        let (reader, author) = (UserId::try_new(1)?, UserId::try_new(2)?);
        for id in [reader, author] {
            let registration = Registration::try_new(&format!("user{id}"), "somebody", "", None)?;
            let (password_hash, now_ms) = (None, app.now_ms());
            let account = NewAccount { id, registration, password_hash, incarnation: id.get(), now_ms };
            app.ports.accounts.register(account).await?;
        }
        let world = Self { app, reader, author, published: Vec::new(), metrics };
        // Connecting has a time limit, which creating the tables on several nodes may exceed.
        until("the store of the inboxes is admitted", async || {
            world.app.ports.tier.run_once().await?;
            Ok(!world.stores()?.states.tokens().await?.is_empty())
        })
        .await?;
        world.app.following.follow(reader, author).await?;
        world.come().await?;
        world.app.settle().await?;
        Ok(world)
    }

    /// The stores of the inboxes.
    pub fn stores(&self) -> Result<&OutsideStores> {
        self.app.outside()
    }

    /// Publishes one content, which is not delivered yet.
    pub async fn publish(&mut self) -> Result<()> {
        self.app.clock.advance(1_000);
        let outcome = self.app.publisher.publish(self.author, Draft::try_new("words", Vec::new(), None)?).await?;
        ensure!(matches!(outcome, PublishOutcome::Published(_)), "{outcome:?}");
        self.published.push(self.app.now_ms());
        Ok(())
    }

    /// Publish time of the newest content.
    pub fn newest(&self) -> Option<i64> {
        self.published.last().copied()
    }

    /// Reads the newest page, which must be right. Returns whether it came from the inbox outside SQL.
    pub async fn page(&self) -> Result<bool> {
        let before = self.pages_from_outside();
        let page = self.app.reader.page(self.reader, &PageRequest::newest(PageSize::try_new(PAGE)?)).await?;
        let shown: Vec<i64> = page.entries.iter().map(|entry| entry.publish_time).collect();
        let page_size = usize::try_from(PAGE)?;
        let due: Vec<i64> = self.published.iter().rev().take(page_size).copied().collect();
        ensure!(shown == due, "{shown:?} instead of {due:?}");
        ensure!(page.has_older == (self.published.len() > page_size), "the end of {shown:?}");
        Ok(self.pages_from_outside() > before)
    }

    /// Pages that the service has read from an inbox outside SQL.
    fn pages_from_outside(&self) -> u64 {
        let metrics = self.metrics.render();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(r#"tidefeed_outside_inbox_reads_total{outcome="believed"} "#));
        line.and_then(|count| count.parse().ok()).unwrap_or_default()
    }

    /// Reads pages until they come from the inbox outside SQL; none may be wrong.
    pub async fn until_believed(&self, when: &str) -> Result<()> {
        let fence = self.stores()?.states.fence(self.reader).await?;
        ensure!(fence.is_some_and(|(_, basis)| basis.is_some()), "{when}: the inbox is not outside SQL");
        until(when, async || self.page().await).await
    }

    /// Waits until the store of the inboxes takes writes.
    pub async fn until_reachable(&self, when: &str) -> Result<()> {
        let inboxes = &self.stores()?.inboxes;
        until(when, async || Ok(inboxes.identify(Bucket::of(self.reader)).await.is_ok())).await
    }

    /// Deliveries that are not finished.
    pub async fn unfinished(&self) -> Result<u64> {
        Ok(self.app.ports.deliveries.backlog(i64::MIN, 5).await?.unfinished)
    }

    /// Retries until nothing is left to deliver. Each try moves the clock, so that the reader comes again at some
    /// point.
    pub async fn deliver(&self, when: &str) -> Result<()> {
        until(when, async || {
            self.app.sweep().await?;
            Ok(self.unfinished().await? == 0)
        })
        .await?;
        self.come().await
    }

    /// A visit, after which a missing inbox is built.
    pub async fn come(&self) -> Result<()> {
        self.app.reactivator.visit(self.reader, None).await.map(drop).context("a visit")
    }
}
