//! Measures likes, follows and publishes on SQLite as ratios to bare commits of the same durability on the same disk:
//! with one client, and with sixteen at once, whose transactions share commits.
//!
//! `make bench` runs it. Each round times all of them in turn; the medians of the rates are compared.

use std::{
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use support::benched::open_store;
use tidefeed::{
    domain::{ContentId, EdgeMode, Reaction, Reference, UserId, account::profile::Registration, content::Draft},
    store::{Accounts, Contents, Follows, Reactions, accounts::NewAccount, contents::NewContent, sql::SqlStore},
};
use tokio::task::JoinSet;

const CLIENTS: i64 = 16;
const ROUNDS: usize = 5;
/// Writes of each kind in a round, by all clients together.
const WRITES: i32 = 320;
const NOW: i64 = 1_790_000_000_000;

#[derive(Clone, Copy)]
enum Kind {
    Like,
    Follow,
    Publish,
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = open_store(format!("sqlite://{}", folder.path().join("bench.db").display()), 2).await?;
    for number in 1..=2 * CLIENTS {
        store.register(account(number)?).await?;
    }
    let of_each = [("likes", Kind::Like), ("follows", Kind::Follow), ("publishes", Kind::Publish)];
    let mut bare = Vec::new();
    let mut rates: Vec<(String, Vec<f64>)> = Vec::new();
    let mut shared = Vec::new();
    let mut next = 0;
    for _ in 0..ROUNDS {
        bare.push(bare_commits(&folder.path().join("bare.db"))?);
        for (name, kind) in of_each {
            for clients in [1, CLIENTS] {
                let from = next;
                next += i64::from(WRITES);
                let before = store.commits();
                let rate = rate_of(&store, kind, clients, from).await?;
                let name = format!("{name}, {clients} at once");
                if clients > 1 {
                    shared.push(i64::try_from(store.commits() - before)?);
                }
                match rates.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, rates)) => rates.push(rate),
                    None => rates.push((name, vec![rate])),
                }
            }
        }
    }
    let bare_rate = median(&mut bare);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{bare_rate:.0} bare commits a second; {ROUNDS} rounds of {WRITES}; rates as ratios to that")?;
    for (name, mut rates) in rates {
        writeln!(out, "{name:<24} {:.2}", median(&mut rates) / bare_rate)?;
    }
    let transactions = i64::from(WRITES) * i64::try_from(shared.len())?;
    writeln!(out, "{transactions} transactions of {CLIENTS} clients took {} commits", shared.iter().sum::<i64>())?;
    Ok(())
}

/// Commits of one row each, a second.
fn bare_commits(file: &Path) -> Result<f64> {
    let connection = rusqlite::Connection::open(file)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS rows (it)")?;
    let mut insert = connection.prepare("INSERT INTO rows VALUES (?)")?;
    let started = now();
    for number in 0..WRITES {
        insert.execute([number])?;
    }
    Ok(per_second(started.elapsed()))
}

/// Writes of this kind per second by `clients` at once. They use the ids from `base` on, and no other caller does.
async fn rate_of(store: &SqlStore, kind: Kind, clients: i64, base: i64) -> Result<f64> {
    let contents = base + 1_000_000;
    if let Kind::Like = kind {
        store.publish(content(contents, 1)?).await?;
    }
    let started = now();
    let mut all = JoinSet::new();
    for client in 0..clients {
        let store = store.clone();
        let work = async move {
            for (step, number) in (client..i64::from(WRITES)).step_by(usize::try_from(clients)?).enumerate() {
                let subject = if let Kind::Like = kind { contents } else { base + number + 1 };
                write(&store, kind, (client + 1, step % 2 == 0), subject).await?;
            }
            Ok::<_, anyhow::Error>(())
        };
        all.spawn(work);
    }
    joined(&mut all).await?;
    Ok(per_second(started.elapsed()))
}

async fn joined(all: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok(())
}

/// Alternates like and unlike, follow and unfollow, so that each call is a transaction that writes.
async fn write(store: &SqlStore, kind: Kind, (client, is_given): (i64, bool), subject: i64) -> Result<()> {
    let (user, other) = (UserId::try_new(client)?, UserId::try_new(client + CLIENTS)?);
    match kind {
        Kind::Like => {
            let (content, like) = (ContentId::try_new(subject)?, Reaction::Like);
            if is_given {
                store.react(user, content, like, subject, NOW).await?;
            } else {
                store.take_back(user, content, like, -subject).await?;
            }
        }
        Kind::Follow if is_given => drop(store.follow(user, other, EdgeMode::Fill, subject, NOW).await?),
        Kind::Follow => drop(store.unfollow(user, other, 1073, NOW).await?),
        Kind::Publish => drop(store.publish(content(subject, client)?).await?),
    }
    Ok(())
}

fn content(id: i64, author: i64) -> Result<NewContent> {
    let draft = Draft {
        text: "High water at six, and the boats go out.".to_owned(),
        media: Vec::new(),
        idempotency_key: None,
        reference: Reference::Nothing,
        object: None,
    };
    Ok(NewContent {
        id: ContentId::try_new(id)?,
        author: UserId::try_new(author)?,
        draft,
        publish_time: NOW + id,
        version: id,
    })
}

fn account(number: i64) -> Result<NewAccount> {
    let name = format!("user{number}");
    let registration = Registration::try_new(&name, &name, "", None)?;
    Ok(NewAccount { id: UserId::try_new(number)?, registration, password_hash: None, incarnation: number, now_ms: NOW })
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn per_second(took: Duration) -> f64 {
    f64::from(WRITES) / took.as_secs_f64()
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}
