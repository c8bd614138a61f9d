//! Measures the same readers' pages and deliveries with their inboxes in SQL and in Redis, in turn.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    client::Client,
    figure::{Figure, Target},
    load::burst,
    node::set,
    people::{self, Person},
    rounds::Rounds,
    rows::{
        delivery::delivered,
        pages::{SIZE, turns},
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
pub const IN_REDIS: &str = "tier = 1 AND basis IS NOT NULL";
/// 1 until all 128 buckets are admitted.
const NOT_ADMITTED: &str = "SELECT COUNT(*) < 128 FROM inbox_buckets WHERE node IS NOT NULL";
/// Counts the inboxes and their bytes.
const MEMORY: &str = "local count, bytes = 0, 0 \
    for _, key in ipairs(redis.call('keys', '*inbox1:{*}:*')) do count = count + 1; bytes = bytes + redis.call('memory', 'usage', key) end \
    return {count, bytes}";

/// Costs of pages and rates of deliveries, and the memory of an inbox in Redis.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let (author, count) = site.author(i64::try_from(site.options.size(FOLLOWERS.0, FOLLOWERS.1))?).await?;
    let handles = format!(
        "SELECT u.handle FROM follows f JOIN users u ON u.id = f.follower_id WHERE f.author_id = {number} AND f.follower_id <> {number}",
        number = author.number
    );
    let handles = site.database().await?.texts(&handles).await?;
    let readers = people::sign_in(site, &handles).await?;
    let (mut pages, mut deliveries, mut bytes) = (Rounds::default(), Rounds::default(), 0.0);
    for _ in 0..site.options.rounds().min(ROUNDS) {
        settle(site, &readers, IN_SQL).await?;
        let (cost, rate) = used(site, &readers, &author).await?;
        pages.theirs.push(cost);
        deliveries.theirs.push(rate);
        site.restart(&vec![set("inbox.store", &"redis")]).await?;
        admitted(site).await?;
        settle(site, &readers, IN_REDIS).await?;
        let (cost, rate) = used(site, &readers, &author).await?;
        pages.ours.push(cost);
        deliveries.ours.push(rate);
        bytes = bytes_an_inbox(site.store.redis_port().context("no Redis")?)?;
        site.restart(&Vec::new()).await?;
        site.command(&["inbox", "move"])?;
    }
    let what = format!("page of 20 by {} readers, all servers' CPU, inboxes in Redis against SQL", readers.len());
    Ok(vec![
        Figure::multiple(what, &pages, ("us", "us"), Target::Free),
        Figure::multiple(
            format!("deliveries to {count} followers, inboxes in Redis against SQL"),
            &deliveries,
            ("rows/s", "rows/s"),
            Target::Free,
        ),
        Figure::alone("memory of an inbox in Redis", bytes / 1024.0, "KiB", Target::Free),
    ])
}

/// The cost of a page, and rows delivered a second.
async fn used(site: &Site, readers: &[Person], author: &Person) -> Result<(f64, f64)> {
    let mut asking = turns(site.address(), readers, json!({ "first": SIZE })).await?;
    burst(&mut asking, &[], site.options.length() / 4, false).await?;
    let cost = burst(&mut asking, &site.pids(), site.options.length(), false).await?.cost_us();
    let seconds = delivered(site, &mut site.database().await?, author).await?;
    Ok((cost, f64::from(u32::try_from(readers.len())?) / seconds))
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
    while database.number(&settled).await? < i64::try_from(readers.len())? {
        ensure!(Instant::now() < deadline, "the inboxes of {} readers are not moved in time", readers.len());
        for reader in readers {
            client.data(Some(&reader.token), people::PAGE, json!({ "first": SIZE })).await?;
        }
        sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}

fn bytes_an_inbox(port: u16) -> Result<f64> {
    let done = Command::new("redis-cli").args(["-p", &port.to_string(), "--raw", "eval", MEMORY, "0"]).output()?;
    let told = String::from_utf8(done.stdout)?;
    let numbers: Vec<f64> = told.lines().map(str::parse).collect::<Result<_, _>>().with_context(|| told.clone())?;
    let [count, bytes] = numbers.as_slice() else { anyhow::bail!("Redis answers {told}") };
    ensure!(*count > 0.0, "Redis has no inbox");
    Ok(bytes / count)
}
