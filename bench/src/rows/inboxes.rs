//! Measures the same readers' pages and deliveries with their inboxes in SQL, in Redis and in Cassandra, in turn.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    cassandra::Cassandra,
    client::Client,
    figure::{Figure, Target},
    load::{self, Refusal, burst},
    node::{Settings, set},
    people::{self, Person},
    rounds::Rounds,
    rows::{
        delivery::delivered,
        pages::{SIZE, page_requests},
    },
    site::Site,
};

/// Followers of the author who publishes; all of them read pages.
const FOLLOWERS: (usize, usize) = (200, 8);
/// Each round starts the node twice and moves every reader there and back.
const ROUNDS: usize = 3;
/// Longer than all readers take to move.
const PATIENCE: Duration = Duration::from_mins(5);
const IN_SQL: &str = "tier = 0 AND floor_time IS NOT NULL";
pub const OUTSIDE: &str = "tier = 1 AND basis IS NOT NULL";
/// 1 until all 128 buckets are admitted.
const NOT_ADMITTED: &str = "SELECT COUNT(*) < 128 FROM inbox_buckets WHERE node IS NOT NULL";
const BYTES_IN_SQL: &str = "SELECT CAST(data_length + index_length AS SIGNED) FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_name = 'inboxes'";
/// Counts the inboxes and their bytes.
const MEMORY: &str = "local count, bytes = 0, 0 \
    for _, key in ipairs(redis.call('keys', '*inbox1:{*}:*')) do count = count + 1; bytes = bytes + redis.call('memory', 'usage', key) end \
    return {count, bytes}";

/// The figures of inboxes in one store, a round each.
#[derive(Default)]
struct Seen {
    /// Microseconds of all servers a page.
    cost: Vec<f64>,
    pages_a_second: Vec<f64>,
    rows_a_second: Vec<f64>,
}

/// Costs and rates of pages, rates of deliveries, and the bytes of an inbox, in Redis and in Cassandra against SQL.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let (author, count) = site.author(i64::try_from(site.options.size(FOLLOWERS.0, FOLLOWERS.1))?).await?;
    let handles = format!(
        "SELECT u.handle FROM follows f JOIN users u ON u.id = f.follower_id WHERE f.author_id = {number} AND f.follower_id <> {number}",
        number = author.number
    );
    let handles = site.database().await?.texts(&handles).await?;
    let readers = people::sign_in(site, &handles).await?;
    let mut cassandra = Cassandra::start(site.store.folder()).await?;
    let (mut sql, mut redis, mut outside) = (Seen::default(), Seen::default(), Seen::default());
    let mut in_redis = 0.0;
    for _ in 0..site.options.rounds().min(ROUNDS) {
        settle(site, &readers, IN_SQL).await?;
        sql.take(site, &readers, &author, None).await?;
        move_out(site, &readers, &vec![set("inbox.store", &"redis")]).await?;
        redis.take(site, &readers, &author, None).await?;
        in_redis = bytes_an_inbox(site.store.redis_port().context("no Redis")?)?;
        move_back(site).await?;
        if let Some(cassandra) = &cassandra {
            settle(site, &readers, IN_SQL).await?;
            move_out(site, &readers, &cassandra.settings()).await?;
            outside.take(site, &readers, &author, Some(cassandra.pid())).await?;
            move_back(site).await?;
        }
    }
    let who = (readers.len(), count);
    let mut figures = compared("Redis", who, (&redis, &sql));
    figures.push(Figure::alone("memory of an inbox in Redis", in_redis / 1024.0, "KiB", Target::Free));
    match cassandra.take() {
        Some(running) => {
            figures.extend(compared("Cassandra", who, (&outside, &sql)));
            let (running, bytes) = running.bytes().await?;
            running.stop().await?;
            let kib = load::count(bytes / 1024) / load::count(readers.len() as u64);
            figures.push(Figure::alone("an inbox in Cassandra, one copy, on disk", kib, "KiB", Target::Free));
        }
        None => figures.push(Figure::reported("inboxes in Cassandra", "not measured: run scripts/fetch-cassandra.sh")),
    }
    let mut database = site.database().await?;
    let kib = load::count(u64::try_from(database.number(BYTES_IN_SQL).await?)? / 1024)
        / load::count(u64::try_from(database.number("SELECT COUNT(DISTINCT user_id) FROM inboxes").await?)?);
    figures.push(Figure::alone("an inbox in SQL, its table's pages", kib, "KiB", Target::Free));
    Ok(figures)
}

/// The figures of a store beside those of SQL.
fn compared(store: &str, (readers, followers): (usize, i64), (ours, sql): (&Seen, &Seen)) -> Vec<Figure> {
    let figure = |what: String, of: fn(&Seen) -> &Vec<f64>, unit: &'static str| {
        let rounds = Rounds { ours: of(ours).clone(), theirs: of(sql).clone() };
        Figure::multiple(format!("{what}, inboxes in {store} against SQL"), &rounds, (unit, unit), Target::Free)
    };
    vec![
        figure(format!("page of 20 by {readers} readers, all servers' CPU"), |seen| &seen.cost, "us"),
        figure(format!("pages a second by {readers} readers"), |seen| &seen.pages_a_second, "/s"),
        figure(format!("deliveries to {followers} followers"), |seen| &seen.rows_a_second, "rows/s"),
    ]
}

impl Seen {
    /// One round. `beside` is a process that works for requests, besides those of the site.
    async fn take(&mut self, site: &Site, readers: &[Person], author: &Person, beside: Option<u32>) -> Result<()> {
        let mut asking = page_requests(site.address(), readers, json!({ "first": SIZE })).await?;
        burst(&mut asking, &[], site.options.length() / 4, Refusal::Fails).await?;
        let pids: Vec<u32> = site.pids().into_iter().chain(beside).collect();
        let pages = burst(&mut asking, &pids, site.options.length(), Refusal::Fails).await?;
        self.cost.push(pages.cost_us());
        self.pages_a_second.push(pages.rate());
        let seconds = delivered(site, &mut site.database().await?, author).await?;
        self.rows_a_second.push(load::count(readers.len() as u64) / seconds);
        Ok(())
    }
}

/// Starts a node with these settings, and waits until the inboxes of all readers are outside SQL.
pub async fn move_out(site: &mut Site, readers: &[Person], settings: &Settings) -> Result<()> {
    site.restart(settings).await?;
    admitted(site).await?;
    settle(site, readers, OUTSIDE).await
}

/// Moves all inboxes back into SQL.
pub async fn move_back(site: &mut Site) -> Result<()> {
    site.restart(&Vec::new()).await?;
    site.command(&["inbox", "move"])
}

/// Waits until all buckets are admitted: who comes before that is moved at a later visit.
pub async fn admitted(site: &Site) -> Result<()> {
    people::wait_for_none(&mut site.database().await?, NOT_ADMITTED, "buckets not yet admitted").await
}

/// Reads pages as everybody until all their inboxes are where this condition says.
pub async fn settle(site: &Site, readers: &[Person], condition: &str) -> Result<()> {
    let numbers: Vec<String> = readers.iter().map(|reader| reader.number.to_string()).collect();
    let settled =
        format!("SELECT COUNT(*) FROM inbox_states WHERE user_id IN ({}) AND {condition}", numbers.join(", "));
    let (mut database, mut client) = (site.database().await?, Client::to(site.address()).await?);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let moved = database.number(&settled).await?;
        if moved >= i64::try_from(readers.len())? {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "only {moved} of {} inboxes are moved in time", readers.len());
        for reader in readers {
            client.data(Some(&reader.token), people::PAGE, json!({ "first": SIZE })).await?;
        }
        sleep(Duration::from_millis(500)).await;
    }
}

/// Bytes of memory of an inbox in the Redis on this port.
pub fn bytes_an_inbox(port: u16) -> Result<f64> {
    let done = Command::new("redis-cli").args(["-p", &port.to_string(), "--raw", "eval", MEMORY, "0"]).output()?;
    let output = String::from_utf8(done.stdout)?;
    let numbers: Vec<f64> = output.lines().map(str::parse).collect::<Result<_, _>>().with_context(|| output.clone())?;
    let [count, bytes] = numbers.as_slice() else { anyhow::bail!("Redis answers {output}") };
    ensure!(*count > 0.0, "Redis has no inbox");
    Ok(bytes / count)
}
