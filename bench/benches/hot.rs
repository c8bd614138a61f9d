//! Measures follows of one author and likes of one content by 64 clients as ratios to follows of as many authors and
//! likes of as many contents, on SQLite, MariaDB and MySQL, while counts are gathered as by a node.
//!
//! `make bench ROW=hot` runs it. Both sides are timed in turn; the medians of the rates are compared. MySQL is measured
//! where `scripts/fetch-mysql.sh` has run.

#![recursion_limit = "256"]

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Result;
use support::{
    benched::open_store,
    servers::{Backend, connect_sql, execute},
};
use tidefeed::{
    domain::{
        ContentId, EdgeMode, Reaction, Reference, UserId, account::profile::Registration, content::Draft,
        limits::MAX_GATHERED,
    },
    store::{
        Accounts, Contents, Follows, Reactions, SpreadCounts, accounts::NewAccount, contents::NewContent, sql::SqlStore,
    },
};
use tokio::{task::JoinSet, time::sleep};

const CLIENTS: i64 = 64;
const ROUNDS: usize = 5;
/// Writes of each client in a round, each of which the next takes back.
const WRITES: i64 = 20;
const NOW: i64 = 1_790_000_000_000;
const LIMIT: f64 = 0.7;
/// Whom and what everybody follows and likes on the hot side; on the other it is the client's own.
const STAR: i64 = 2 * CLIENTS + 1;

#[derive(Clone, Copy)]
enum Kind {
    Follow,
    Like,
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{CLIENTS} clients, {ROUNDS} rounds of {WRITES} writes each; rates of the hot one to the spread ones"
    )?;
    for (backend, name) in [(Backend::Sqlite, "SQLite"), (Backend::MariaDb, "MariaDB"), (Backend::Mysql, "MySQL")] {
        let database = match backend.empty_database().await {
            Ok(database) => database,
            Err(error) => {
                writeln!(out, "{name}: not measured: {error:#}")?;
                continue;
            }
        };
        let store = open_store(database.url.clone(), 64).await?;
        people(&store, &database.url).await?;
        let mut gatherer = JoinSet::new();
        gatherer.spawn({
            let store = store.clone();
            async move {
                loop {
                    // The next round finds what this one has left.
                    let _ = store.gather(MAX_GATHERED).await;
                    sleep(Duration::from_secs(1)).await;
                }
            }
        });
        for (what, kind) in [("follows of one author", Kind::Follow), ("likes of one content", Kind::Like)] {
            let (mut hot, mut spread) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                hot.push(rate(&store, kind, |_| STAR).await?);
                spread.push(rate(&store, kind, |client| client + CLIENTS).await?);
            }
            let (hot, spread) = (median(&mut hot), median(&mut spread));
            let met = if hot / spread >= LIMIT { "met" } else { "missed" };
            writeln!(out, "{name:<8} {what:<22} {hot:.0}/s of {spread:.0}/s: {:.2}, >= {LIMIT} {met}", hot / spread)?;
        }
        gatherer.shutdown().await;
        store.close().await?;
    }
    Ok(())
}

/// Clients, their own authors and the star, each with a content of the same number; the star's counts are spread.
async fn people(store: &SqlStore, url: &str) -> Result<()> {
    for number in 1..=STAR {
        let name = format!("user{number}");
        let registration = Registration::try_new(&name, &name, "", None)?;
        let (id, incarnation) = (UserId::try_new(number)?, number);
        store.register(NewAccount { id, registration, password_hash: None, incarnation, now_ms: NOW }).await?;
        let draft = Draft { reference: Reference::Nothing, ..Draft::try_new("High water at six.", Vec::new(), None)? };
        let content = ContentId::try_new(number)?;
        store.publish(NewContent { id: content, author: id, draft, publish_time: NOW, version: number }).await?;
    }
    let rows = connect_sql(url).await?;
    execute(&rows, &format!("UPDATE counters SET spread = 1 WHERE content_id = {STAR}")).await?;
    execute(&rows, &format!("UPDATE user_counts SET spread = 1 WHERE user_id = {STAR}")).await
}

/// Writes a second by all clients at once.
async fn rate(store: &SqlStore, kind: Kind, subject: fn(i64) -> i64) -> Result<f64> {
    let started = now();
    let mut all = JoinSet::new();
    for client in 1..=CLIENTS {
        let store = store.clone();
        all.spawn(async move {
            for step in 0..WRITES {
                write(&store, kind, (client, step % 2 == 0), subject(client)).await?;
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(done) = all.join_next().await {
        done??;
    }
    let writes = u32::try_from(CLIENTS * WRITES)?;
    Ok(f64::from(writes) / started.elapsed().as_secs_f64())
}

async fn write(store: &SqlStore, kind: Kind, (client, is_given): (i64, bool), subject: i64) -> Result<()> {
    let user = UserId::try_new(client)?;
    let (author, content) = (UserId::try_new(subject)?, ContentId::try_new(subject)?);
    match kind {
        Kind::Follow if is_given => drop(store.follow(user, author, EdgeMode::Fill, subject, NOW).await?),
        Kind::Follow => drop(store.unfollow(user, author, 7, NOW).await?),
        Kind::Like if is_given => drop(store.react(user, content, Reaction::Like, 7, NOW).await?),
        Kind::Like => drop(store.take_back(user, content, Reaction::Like, 8).await?),
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}
