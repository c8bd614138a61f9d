//! Inboxes in Cassandra: one that grows too long, and a cluster of three that loses nodes.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{PageRequest, PageSize, UserId, content::Draft},
    publish::PublishOutcome,
    store::{accounts::NewAccount, cassandra::CassandraOptions, cassandra::inspect, inspection::Verdict},
    telemetry::tiers::InboxTier,
    upkeep::renew_tokens,
};

use crate::{
    binary::process::until,
    harness::{Around, Inboxes, TestApp, settings},
    servers::{Backend, CassandraCluster, cassandra},
    store::conformance::account,
};

struct World {
    app: Arc<TestApp>,
    reader: UserId,
    author: UserId,
    published: usize,
    newest: i64,
}

/// The reader follows the author and has come; nothing is published yet.
async fn world(options: CassandraOptions) -> Result<World> {
    let mut settings = settings();
    settings.tiers.keep = 20;
    let inboxes = Inboxes::Cassandra(options);
    let app = TestApp::start_outside(Backend::Sqlite, Around::Memory, inboxes, settings).await?;
    let states = &app.ports.outside.as_ref().context("inboxes outside SQL")?.states;
    // Connecting has a limit, and creating the tables on several nodes may take longer.
    until("Cassandra is admitted", async || {
        app.outside_keeper()?.run_once().await?;
        Ok(!states.tokens().await?.is_empty())
    })
    .await?;
    for id in [1, 2] {
        let account = NewAccount { now_ms: app.now_ms(), ..account(id, &format!("user{id}")) };
        app.ports.accounts.register(account).await?;
    }
    let (reader, author) = (UserId::try_new(1)?, UserId::try_new(2)?);
    app.following.follow(reader, author).await?;
    app.reactivator.wake(reader).await?;
    app.settle().await?;
    Ok(World { app, reader, author, published: 0, newest: 0 })
}

impl World {
    async fn publish(&mut self) -> Result<()> {
        self.app.clock.advance(1_000);
        let draft = Draft::try_new("words", Vec::new(), None)?;
        let outcome = self.app.publisher.publish(self.author, draft).await?;
        ensure!(matches!(outcome, PublishOutcome::Published(_)), "{outcome:?}");
        self.published += 1;
        self.newest = self.app.now_ms();
        Ok(())
    }

    /// The page is right, wherever it comes from. Returns the number of statements.
    async fn page(&self) -> Result<u64> {
        let before = self.app.store.statements();
        let page = self.app.reader.page(self.reader, &PageRequest::newest(PageSize::try_new(10)?)).await?;
        ensure!(page.entries.len() == self.published.min(10), "{} of {}", page.entries.len(), self.published);
        ensure!(page.has_older == (self.published > 10), "more than was published");
        let newest = page.entries.first().map(|entry| entry.publish_time);
        ensure!(newest.is_none_or(|newest| newest == self.newest), "the newest is missing");
        Ok(self.app.store.statements() - before)
    }

    /// Cassandra's inbox is believed again: such a page is one statement.
    async fn until_believed(&self, when: &str) -> Result<()> {
        let states = &self.app.ports.outside.as_ref().context("inboxes outside SQL")?.states;
        ensure!(states.fence(self.reader).await?.is_some_and(|(_, basis)| basis.is_some()), "{when}: not outside");
        until(when, async || Ok(self.page().await? == 1)).await
    }

    async fn unfinished(&self) -> Result<u64> {
        Ok(self.app.ports.deliveries.backlog(5).await?.unfinished)
    }

    /// Tries until nothing is left to deliver. Each try moves the clock, so the reader comes again in the end.
    async fn deliver(&self, when: &str) -> Result<()> {
        until(when, async || {
            self.app.sweep().await?;
            Ok(self.unfinished().await? == 0)
        })
        .await?;
        self.come().await
    }

    /// A visit that has the inbox built if it is not there.
    async fn come(&self) -> Result<()> {
        self.app.reactivator.wake(self.reader).await.map(drop).context("a visit")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_in_cassandra_that_is_too_long_is_built_anew() -> Result<()> {
    let mut world = world(cassandra().await?.fresh_keyspace(1)).await?;
    let outside = world.app.ports.outside.clone().context("inboxes outside SQL")?;
    let keep = outside.rows_kept();
    for _ in 0..=4 * keep {
        world.publish().await?;
    }
    world.app.settle().await?;
    ensure!(outside.inboxes.is_too_long(world.reader, keep).await?);
    let former = outside.states.fence(world.reader).await?.context("a fence")?.0;
    let keeper = world.app.outside_keeper()?;
    keeper.settle(world.reader, InboxTier::Outside).await?;
    let fence = outside.states.fence(world.reader).await?.context("a fence")?.0;
    ensure!(fence.generation != former.generation && !outside.inboxes.is_too_long(world.reader, keep).await?);
    world.until_believed("it was built at once").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_a_cassandra_that_acknowledges_before_it_writes() -> Result<()> {
    let options = cassandra().await?.fresh_keyspace(1);
    let _world = world(options.clone()).await?;
    let findings = inspect(&options).await;
    ensure!(findings.iter().any(|it| it.subject == "cassandra tables" && it.verdict == Verdict::Fine), "{findings:?}");
    ensure!(
        findings.iter().any(|it| it.seen == "commitlog_sync: group" && it.verdict == Verdict::Fine),
        "{findings:?}"
    );
    let copies = findings.iter().find(|it| it.subject == "cassandra copies").context("copies")?;
    ensure!(copies.verdict == Verdict::Doubtful && copies.seen.starts_with('1'), "{copies:?}");
    let nobody = CassandraOptions { contact_points: vec!["127.0.0.1:9".to_owned()], ..options };
    ensure!(inspect(&nobody).await[0].verdict == Verdict::Broken);
    Ok(())
}

/// One node killed, two killed, one silent, one replaced by an empty one: every page is right, and with two of three
/// nodes everything goes on in Cassandra.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cassandra_of_three_nodes_at_quorum_may_lose_any_of_them() -> Result<()> {
    let mut cluster = CassandraCluster::start(3, "group").await?;
    let options = CassandraOptions { timeout: Duration::from_secs(8), ..cluster.fresh_keyspace(3) };
    let mut world = world(options).await?;
    world.publish().await?;
    world.deliver("all nodes are there").await?;
    world.until_believed("an inbox in Cassandra").await?;

    cluster.nodes()[2].kill().await?;
    world.publish().await?;
    world.deliver("two nodes take it").await?;
    world.until_believed("two nodes are a quorum").await?;

    cluster.nodes()[1].kill().await?;
    world.publish().await?;
    world.app.settle().await?;
    let unfinished = world.unfinished().await?;
    ensure!(unfinished == 1, "{unfinished} deliveries wait for a quorum");
    ensure!(world.page().await? > 1, "one of three is believed");
    cluster.nodes()[1].restart().await?;
    cluster.nodes()[2].restart().await?;
    world.deliver("what has waited").await?;
    world.until_believed("all nodes are back").await?;

    cluster.nodes()[0].freeze()?;
    world.publish().await?;
    world.deliver("a silent node delays only").await?;
    world.until_believed("a silent node delays pages only").await?;
    cluster.nodes()[0].thaw()?;
    world.until_believed("it goes on where it was").await?;

    cluster.replace_by_empty(2).await?;
    let states = &world.app.ports.outside.as_ref().context("inboxes outside SQL")?.states;
    ensure!(renew_tokens(&**states, &world.app.rng).await? > 0);
    ensure!(world.page().await? > 1, "an inbox of the former epoch is believed");
    world.come().await?;
    world.publish().await?;
    world.deliver("under the new epoch").await?;
    world.until_believed("it was built under the new epoch").await
}
