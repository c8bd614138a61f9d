//! Measures a delivery to many followers as a ratio to inserting the same rows in bulk in the same run. The delivery
//! is cut into subtasks, asks the policy, and is served by four executors. The other side is one client that inserts
//! the rows of known readers, as many in a transaction as a batch of the delivery.
//!
//! `make bench` runs it on SQLite, and on a server
//! `cargo bench --package tidefeed-bench --bench fanout -- mysql://user:password@host/empty_database`.
//! The two are timed in turn, A B A B, and the medians are compared.

use std::{
    io::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, Statement, TransactionTrait, Value};
use support::{
    benched::{open_store, use_cases},
    harness::settings,
};
use tidefeed::{
    app::{Settings, UseCases},
    domain::{UserId, account::profile::Registration, content::Draft},
    publish::PublishOutcome,
    store::{
        Seeding,
        seeding::{SeedAuthor, SeedFollow},
        sql::SqlStore,
    },
};

const NOW: i64 = 1_790_000_000_000;
const AUTHOR: i64 = 1;
/// Number of followers, including the author; their ids are 1 up to this.
const FOLLOWERS: i64 = 50_000;
const BATCH: u32 = 1_000;
const EXECUTORS: usize = 4;
const ROUNDS: i64 = 7;

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let embedded = format!("sqlite://{}/bench.db", folder.path().display());
    let url = std::env::args().find(|argument| argument.starts_with("mysql://")).unwrap_or(embedded);
    let store = open_store(url.clone(), 4).await?;
    let raw =
        Database::connect(ConnectOptions::new(url.clone()).max_connections(1).sqlx_logging(false).clone()).await?;
    seed(&store, &raw).await?;
    let settings = Settings { subtask_size: BATCH, batch_size: BATCH, ..settings() };
    let use_cases = Arc::new(use_cases(&store, settings, NOW + 1_000_000).use_cases);
    let (mut ours, mut bulk) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        ours.push(deliver(&use_cases).await?);
        bulk.push(insert(&raw, round + 1).await?);
    }
    let expected = 2 * ROUNDS * FOLLOWERS;
    let rows = raw.query_one_raw(statement(&raw, "SELECT COUNT(*) FROM inboxes", Vec::new())).await?;
    ensure!(rows.map(|row| row.try_get_by_index::<i64>(0)).transpose()? == Some(expected), "not {expected} rows");
    let engine = url.split(':').next().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{FOLLOWERS} followers, batches of {BATCH}, {EXECUTORS} executors; {ROUNDS} rounds; {engine}")?;
    let ratio = median(&mut bulk).as_secs_f64() / median(&mut ours).as_secs_f64();
    writeln!(out, "rows a second of a delivery      {ratio:.2} of the bulk insert's")?;
    Ok(())
}

/// Publishes a content, cuts its delivery and runs all subtasks; how long it took from the publish on.
async fn deliver(use_cases: &Arc<UseCases>) -> Result<Duration> {
    let draft = Draft::try_new("words", Vec::new(), None)?;
    let published = use_cases.publisher.publish(UserId::try_new(AUTHOR)?, draft).await?;
    ensure!(matches!(published, PublishOutcome::Published(_)), "{published:?}");
    let started = now();
    use_cases.dispatcher.run_once("bench", Duration::ZERO).await?;
    let executors = (0..EXECUTORS).map(|number| {
        let use_cases = Arc::clone(use_cases);
        async move {
            while use_cases.executor.run_once(&format!("bench-{number}"), Duration::ZERO).await? > 0 {}
            Ok::<_, anyhow::Error>(())
        }
    });
    let mut running = tokio::task::JoinSet::new();
    executors.for_each(|executor| drop(running.spawn(executor)));
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(started.elapsed())
}

/// Inserts a row for each reader, ascending, a thousand in a statement and a transaction.
async fn insert(raw: &DatabaseConnection, round: i64) -> Result<Duration> {
    let readers: Vec<i64> = (AUTHOR..=FOLLOWERS).collect();
    let started = now();
    for some in readers.chunks(BATCH as usize) {
        let rows = vec!["(?, ?, ?, ?)"; some.len()].join(", ");
        let sql = format!("INSERT INTO inboxes (user_id, publish_time, content_id, author_id) VALUES {rows}");
        let values = some.iter().flat_map(|reader| [*reader, NOW + round, round, AUTHOR]).map(Value::from);
        let transaction = raw.begin().await?;
        transaction.execute_raw(statement(raw, &sql, values.collect())).await?;
        transaction.commit().await?;
    }
    Ok(started.elapsed())
}

fn statement(raw: &DatabaseConnection, sql: &str, values: Vec<Value>) -> Statement {
    Statement::from_sql_and_values(raw.get_database_backend(), sql, values)
}

/// Creates the author and the followers. Deliveries include all of them.
async fn seed(store: &SqlStore, raw: &DatabaseConnection) -> Result<()> {
    let users: Vec<SeedAuthor> = (AUTHOR..=FOLLOWERS).map(user).collect::<Result<_>>()?;
    for some in users.chunks(1_000) {
        store.add_authors(some).await?;
    }
    let author = UserId::try_new(AUTHOR)?;
    let follow = |id| Ok(SeedFollow { follower: UserId::try_new(id)?, author, incarnation: id, followed_at: NOW });
    let follows: Vec<SeedFollow> = (AUTHOR + 1..=FOLLOWERS).map(follow).collect::<Result<_>>()?;
    for some in follows.chunks(1_000) {
        store.add_follows(some).await?;
    }
    let on = format!("UPDATE inbox_states SET floor_time = {0}, floor_content = {0}", i64::MAX);
    raw.execute_unprepared(&on).await?;
    Ok(())
}

fn user(id: i64) -> Result<SeedAuthor> {
    Ok(SeedAuthor {
        id: UserId::try_new(id)?,
        registration: Registration::try_new(&format!("user{id}"), "User", "", None)?,
        created_at: NOW,
        last_seen: NOW,
        incarnation: id,
        contents: Vec::new(),
    })
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
