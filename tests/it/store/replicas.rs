//! Tests pages that are read on a replica: each shows what was acknowledged before it was asked for, whatever becomes
//! of the replica.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{Entry, PageRequest, PageSize, UserId},
    store::{
        Inspect as _, Timelines as _,
        inspection::{Finding, Verdict},
        sql::{ReplicaOptions, SqlOptions, SqlStore},
    },
};
use tokio::task::JoinSet;

use crate::{
    binary::process::until,
    harness::TestApp,
    servers::{self, Backend, Kind, Replicated, execute, on_each_backend},
    usecases::delivery::{followed_author, publish, user},
};

/// Longer than this test may run: a read waits until the replica has caught up, or is found to be away.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);
/// Writers at once, so that the replica has something to apply in parallel.
const WRITERS: i64 = 4;

/// A service that reads on a replica.
struct World {
    servers: Replicated,
    kind: Kind,
    app: Arc<TestApp>,
    reader: UserId,
}

pub(super) fn options(url: &str) -> SqlOptions {
    SqlOptions { url: url.to_owned(), max_connections: 8, acquire_timeout: PATIENCE, statement_timeout: PATIENCE }
}

impl World {
    async fn new(backend: Backend) -> Result<Self> {
        let kind = if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb };
        let servers = Box::pin(Replicated::start(kind)).await?;
        let database = servers.migrated().await?;
        let primary = servers::connect_sql(&database.url).await?;
        execute(&primary, "CREATE TABLE noise (id INT PRIMARY KEY, value INT)").await?;
        let store = Self::store(&servers, &database.url, PATIENCE).await?;
        let app = TestApp::over(database, store).await?;
        followed_author(&app, 1).await?;
        Ok(Self { servers, kind, app, reader: user(2) })
    }

    /// A store whose reads wait for the replica as long as this.
    async fn store(servers: &Replicated, url: &str, wait: Duration) -> Result<SqlStore> {
        let replicas = ReplicaOptions { urls: vec![servers.replica_of(url)?], wait };
        let options = options(url);
        Ok(SqlStore::connect(&options).await?.with_replicas(&options, &replicas)?)
    }

    /// Publishes, and reads the page at once.
    async fn publishes_are_seen(&self, times: usize) -> Result<()> {
        for _ in 0..times {
            self.app.clock.advance(1);
            let published = publish(&self.app).await?;
            let page = self.page().await?;
            ensure!(page.first() == Some(&published), "{page:?} lacks {published:?}");
        }
        Ok(())
    }

    /// Publishes, and reads the page's definition at once by another store.
    async fn is_seen_through(&self, store: &SqlStore) -> Result<()> {
        self.app.clock.advance(1);
        let published = publish(&self.app).await?;
        let request = PageRequest::newest(PageSize::default());
        let page = store.definition(self.reader, &request, false).await?.snapshot.page(&request);
        ensure!(page.is_some_and(|page| page.entries.first() == Some(&published)), "{published:?} is not there");
        Ok(())
    }

    async fn page(&self) -> Result<Vec<Entry>> {
        Ok(self.app.reader.page(self.reader, &PageRequest::newest(PageSize::default())).await?.entries)
    }

    /// What doctor says of the replica.
    async fn finding(&self) -> Result<Finding> {
        let findings = self.app.store.inspect().await;
        findings.into_iter().find(|finding| finding.subject.starts_with("replica ")).context("no replica was looked at")
    }

    /// A primary that is too busy to answer in time is found silent, so doctor may have to come again.
    async fn is_found(&self, verdict: Verdict, word: &str) -> Result<()> {
        until(&format!("the replica is {verdict:?}: {word}"), async || {
            let finding = self.finding().await?;
            Ok(finding.verdict == verdict && finding.seen.contains(word))
        })
        .await
    }

    async fn is_refused(&self, word: &str) -> Result<()> {
        self.is_found(Verdict::Broken, word).await
    }

    async fn until_it_serves(&self) -> Result<()> {
        until("the replica serves again", async || {
            self.page().await?;
            Ok(self.app.store.serving_replicas() == Some((1, 1)))
        })
        .await
    }

    /// What doctor refuses while it is so, and how it is undone.
    fn wrong_settings(&self) -> [(&'static str, &'static str, &'static str); 3] {
        let writable = ("SET GLOBAL read_only = OFF", "SET GLOBAL read_only = ON", "takes writes");
        match self.kind {
            Kind::Mysql => [
                writable,
                (
                    "SET GLOBAL replica_preserve_commit_order = OFF",
                    "SET GLOBAL replica_preserve_commit_order = ON",
                    "order of commits",
                ),
                (
                    "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (other)",
                    "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = ()",
                    "Replicate_Ignore_DB",
                ),
            ],
            _ => [
                writable,
                (
                    "SET GLOBAL slave_parallel_mode = 'aggressive'",
                    "SET GLOBAL slave_parallel_mode = 'optimistic'",
                    "order of commits",
                ),
                (
                    "SET GLOBAL replicate_ignore_db = 'other'",
                    "SET GLOBAL replicate_ignore_db = ''",
                    "Replicate_Ignore_DB",
                ),
            ],
        }
    }
}

/// Writes rows until it is dropped.
async fn write_beside(url: &str) -> Result<JoinSet<Result<()>>> {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let connection = servers::connect_sql(url).await?;
        writers.spawn(async move {
            for row in 0.. {
                execute(&connection, &format!("REPLACE INTO noise VALUES ({}, {row})", row % 8 * WRITERS + writer))
                    .await?;
            }
            Ok(())
        });
    }
    Ok(writers)
}

on_each_backend! {
    on mariadb, mysql in soak;

    async fn pages_on_a_replica_show_all_that_was_acknowledged(backend: Backend) -> Result<()> {
        let world = Box::pin(World::new(backend)).await?;
        let url = world.app.database_url().to_owned();

        // Beside other writers the replica is behind all the time.
        let before = world.servers.read_statements().await?;
        let writers = write_beside(&url).await?;
        world.publishes_are_seen(40).await?;
        drop(writers);
        let served = world.servers.read_statements().await? - before;
        ensure!(served >= 40, "the replica has run {served} statements for 40 pages: {:?}", world.finding().await?);
        world.until_it_serves().await?;
        world.is_found(Verdict::Fine, "").await?;

        // It stands still: the primary serves after the bound, and the replica once it has caught up.
        let hasty = World::store(&world.servers, &url, Duration::from_millis(50)).await?;
        world.servers.stop("SQL_THREAD").await?;
        world.is_seen_through(&hasty).await?;
        ensure!(hasty.serving_replicas() == Some((1, 0)), "it is known to be late");
        world.is_refused("behind the primary").await?;
        world.servers.go_on("SQL_THREAD").await?;
        world.until_it_serves().await?;

        for (wrong, right, word) in world.wrong_settings() {
            world.servers.stop("").await?;
            execute(&world.servers.root, wrong).await?;
            world.servers.go_on("").await?;
            world.is_refused(word).await?;
            world.publishes_are_seen(1).await?;
            world.servers.stop("").await?;
            execute(&world.servers.root, right).await?;
            world.servers.go_on("").await?;
        }
        world.until_it_serves().await?;

        // The primary comes back without what the replica has: its history is another one from there on.
        world.app.clock.advance(1);
        let lost = publish(&world.app).await?;
        ensure!(world.page().await?.contains(&lost), "the replica has it");
        world.servers.primary.kill().await?;
        world.servers.primary.restart().await?;
        let reset = if world.kind == Kind::Mysql { "RESET BINARY LOGS AND GTIDS" } else { "RESET MASTER" };
        let forgotten = ["contents", "counters", "deliveries"]
            .map(|table| (table, if table == "contents" { "id" } else { "content_id" }))
            .map(|(table, id)| format!("DELETE FROM {table} WHERE {id} = {}", lost.content));
        let primary = servers::connect_sql(&url).await?;
        execute(&primary, "SET SESSION sql_log_bin = 0").await?;
        for sql in forgotten {
            execute(&primary, &sql).await?;
        }
        execute(&primary, reset).await?;
        world.publishes_are_seen(2).await?;
        let page = world.page().await?;
        ensure!(!page.contains(&lost), "{page:?} has {lost:?}");
        world.is_refused("").await?;

        world.servers.replica.kill().await?;
        world.is_seen_through(&hasty).await
    }
}
