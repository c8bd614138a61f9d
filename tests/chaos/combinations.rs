//! The table: one run for each combination of servers. `OPERATIONS` says how long each is at least, `SEED` what it
//! draws.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context as _, Result, ensure};
use tokio::time::Instant;

use crate::deployment::{PrimaryStore, RedisSetup};
use crate::faults::Fault;
use crate::master_faults::MasterFault;
use crate::replica::ReplicaFault;
use crate::run::Run;

/// Calls of the API in a short run, at least.
const FEW: u64 = 500;
/// Calls of a round, at least.
const OF_A_ROUND: u64 = 5_000;

async fn endure(primary_store: PrimaryStore, redis: RedisSetup) -> Result<()> {
    let operations = number("OPERATIONS")?.unwrap_or(FEW);
    let seed = number("SEED")?.unwrap_or(1);
    let (began, name) = (Instant::now(), format!("{primary_store:?} with {redis:?}"));
    let mut run = Run::start((primary_store, redis), seed).await.with_context(|| name.clone())?;
    let mut ended = Ok(());
    while ended.is_ok() && run.operations() < operations && run.found.mismatches.is_empty() {
        let left = operations - run.operations();
        if left <= operations / 2 {
            run.replace_former_nodes().await?;
        }
        ended = run.round(left.min(OF_A_ROUND)).await;
        let (done, wrong) = (run.operations(), run.found.mismatches.len());
        print(&format!(
            "    {name}: {done} of {operations} calls, {wrong} mismatches, {} s",
            began.elapsed().as_secs()
        ));
    }
    print(&row(&run, &name, began.elapsed().as_secs(), seed)?);
    ended.with_context(|| format!("{name}, seed {seed}"))?;
    let outside = run.found.readers_outside;
    ensure!(redis.holds_inboxes() == (outside > 0), "{name}: {outside} readers had their inboxes outside SQL");
    if run.deployment.replica.is_some() {
        ensure!(run.found.reads_on_replica > 0, "{name}: nothing was read on the replica");
        ensure!(run.found.faults.contains_key(&Fault::Replica(ReplicaFault::Promoted)), "{name}: nobody was promoted");
    }
    for fault in MasterFault::of(redis) {
        ensure!(run.found.faults.contains_key(&Fault::Master(*fault)), "{name}: no {}", fault.name());
    }
    let done = &run.product.done;
    for (what, count) in [("file", &done.files), ("name", &done.renamed), ("revoked key", &done.revoked)] {
        ensure!(count.load(Relaxed) > 0, "{name}: no {what} of the product");
    }
    run.verdict().with_context(|| format!("{name}, seed {seed}"))
}

/// A line of the table that scripts/chaos.sh heads.
fn row(run: &Run, name: &str, seconds: u64, seed: u64) -> Result<String> {
    let (found, counts) = (&run.found, &run.clients.counts);
    let mut faults = String::new();
    for (fault, times) in &found.faults {
        write!(faults, "{}{} {times}", if faults.is_empty() { "" } else { ", " }, fault.name())?;
    }
    if run.deployment.disk.is_some() {
        write!(faults, " ({} changes unanswered while the disk was full)", found.without_room)?;
    } else {
        faults += ", disk full NOT RUN";
    }
    let [operations, failed, unknown] =
        [&counts.operations, &counts.failed_reads, &counts.unknown].map(|count| count.load(Relaxed));
    let done = &run.product.done;
    let [files, lines, killed, went_on, renamed, revoked] =
        [&done.files, &done.lines, &done.killed, &done.went_on, &done.renamed, &done.revoked]
            .map(|count| count.load(Relaxed));
    let product = format!(
        "{lines} lines of {files} files, {killed} loads killed, {went_on} gone on with; {renamed} names; {revoked} keys"
    );
    Ok(format!(
        "| {name} | {operations} | {product} | {} | {} | {} | {faults} | {failed} | {unknown} | {} | {} | {} | {seconds} | {seed} |",
        found.pages,
        found.entries,
        run.events.load(Relaxed),
        found.mismatches.len(),
        found.slowest_quiescence_ms,
        found.slowest_device_ms,
    ))
}

#[expect(
    clippy::print_stdout,
    reason = "scripts/chaos.sh reads the table's lines from the output, a person how far it is"
)]
fn print(line: &str) {
    println!("{line}");
}

/// A number that the environment may name.
fn number(name: &str) -> Result<Option<u64>> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    text.parse().map(Some).with_context(|| format!("{name} is no number: {text}"))
}

mod sqlite {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_stay_exact_under_faults_alone() -> Result<()> {
        endure(PrimaryStore::Sqlite, RedisSetup::Nothing).await
    }

    mod redis_server {
        use super::*;

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn pages_stay_exact_under_faults_with_redis() -> Result<()> {
            endure(PrimaryStore::Sqlite, RedisSetup::Redis).await
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "`make chaos` runs it"]
        async fn pages_stay_exact_under_faults_with_inboxes_in_redis() -> Result<()> {
            endure(PrimaryStore::Sqlite, RedisSetup::RedisInboxes).await
        }
    }

    mod redis_cluster {
        use super::*;

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "`make chaos` runs it"]
        async fn pages_stay_exact_under_faults_with_a_redis_cluster() -> Result<()> {
            endure(PrimaryStore::Sqlite, RedisSetup::Cluster).await
        }
    }
}

mod mariadb {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_stay_exact_under_faults_with_redis() -> Result<()> {
        endure(PrimaryStore::MariaDb, RedisSetup::Redis).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_stay_exact_under_faults_with_a_redis_cluster() -> Result<()> {
        endure(PrimaryStore::MariaDb, RedisSetup::Cluster).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_stay_exact_under_faults_with_inboxes_in_redis() -> Result<()> {
        endure(PrimaryStore::MariaDb, RedisSetup::RedisInboxes).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn pages_stay_exact_under_faults_with_a_replica() -> Result<()> {
        endure(PrimaryStore::MariaDbReplicated, RedisSetup::Redis).await
    }

    mod cassandra {
        use super::*;

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "minutes, with three Java processes: `make chaos` runs it"]
        async fn nothing_is_lost_and_no_read_is_wrong_with_inboxes_in_cassandra() -> Result<()> {
            endure(PrimaryStore::MariaDb, RedisSetup::CassandraInboxes).await
        }
    }
}

mod mysql {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn pages_stay_exact_under_faults_with_redis() -> Result<()> {
        endure(PrimaryStore::Mysql, RedisSetup::Redis).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn pages_stay_exact_under_faults_with_a_redis_cluster() -> Result<()> {
        endure(PrimaryStore::Mysql, RedisSetup::Cluster).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn pages_stay_exact_under_faults_with_a_replica() -> Result<()> {
        endure(PrimaryStore::MysqlReplicated, RedisSetup::Redis).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_stay_exact_under_faults_with_inboxes_in_a_cluster() -> Result<()> {
        endure(PrimaryStore::Mysql, RedisSetup::ClusterInboxes).await
    }
}
