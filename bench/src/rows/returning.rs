//! Measures how soon the pages of a crowd of readers who were away come from their inboxes again, and what pages cost
//! until then.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::{Instant, sleep};

use crate::{
    database::Database,
    figure::{Figure, Target},
    load::{Asking, Refusal, burst},
    metrics::Metrics,
    people::Person,
    rounds::Rounds,
    rows::{away::AWAY_MS, stampede::each_in_turn},
    site::Site,
    world::now_ms,
};

/// Clients that read the pages of all readers in turn.
const CLIENTS: usize = 4;
/// The share of pages from inboxes at which the crowd counts as back.
const BACK: f64 = 0.95;
/// Longest time until then.
const PATIENCE: Duration = Duration::from_mins(5);
/// Longest time over which a share is measured.
const WINDOW: Duration = Duration::from_secs(1);
/// Readers sent away by one statement.
const AWAY_AT_ONCE: usize = 200;
const WAITING: &str = "tidefeed_queue_messages{topic=\"timeline_visit\"} ";

/// All readers of the world are away, and their pages are read from then on.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let readers = site.readers()?;
    let mut asking = each_in_turn(site, &readers, CLIENTS).await?;
    let site = &*site;
    let before = settled(site, &mut asking).await?;
    send_away(&mut site.database().await?, &readers).await?;
    let began = Instant::now();
    let (mut costs, mut waiting) = (Vec::new(), 0.0_f64);
    loop {
        let window = Window::read(site, &mut asking).await?;
        costs.push(window.cost_us);
        waiting = waiting.max(window.waiting);
        if window.share >= BACK {
            break;
        }
        ensure!(began.elapsed() < PATIENCE, "{} of the pages come from inboxes.", window.share);
    }
    let seconds = began.elapsed().as_secs_f64();
    let rounds = Rounds { theirs: vec![before; costs.len()], ours: costs };
    let count = readers.len();
    Ok(vec![
        Figure::alone(
            format!("until 95 % of pages come from inboxes, {count} readers who were away, {CLIENTS} clients"),
            seconds,
            "s",
            Target::AtMost(15.0, 10.0),
        ),
        Figure::multiple("CPU of a page until then, against before", &rounds, ("us", "us"), Target::Free),
        Figure::alone("visits that wait, the most of all looks", waiting, "", Target::Free),
    ])
}

/// The cost of a page once all of them come from inboxes.
async fn settled(site: &Site, asking: &mut [Asking]) -> Result<f64> {
    let began = Instant::now();
    loop {
        let window = Window::read(site, asking).await?;
        if window.share >= BACK {
            return Ok(Window::read(site, asking).await?.cost_us);
        }
        ensure!(began.elapsed() < PATIENCE, "{} of the pages come from inboxes.", window.share);
        sleep(WINDOW).await;
    }
}

/// What was seen of some pages.
struct Window {
    /// Of pages that come from inboxes.
    share: f64,
    cost_us: f64,
    /// Visits, as of the last look of the node's own.
    waiting: f64,
}

impl Window {
    async fn read(site: &Site, asking: &mut [Asking]) -> Result<Self> {
        let before = Pages::of(site).await?;
        let length = WINDOW.min(site.options.length());
        let pages = burst(asking, &site.pids(), length, Refusal::Fails).await?;
        let after = Pages::of(site).await?;
        let share = (after.from_inboxes - before.from_inboxes) / (after.all - before.all).max(1.0);
        Ok(Self { share, cost_us: pages.cost_us(), waiting: after.waiting })
    }
}

/// What the node says of the pages since its start; nothing before the first.
struct Pages {
    from_inboxes: f64,
    all: f64,
    waiting: f64,
}

impl Pages {
    async fn of(site: &Site) -> Result<Self> {
        let metrics = Metrics::of(site.address()).await?;
        let way = |way| metrics.number(&format!("tidefeed_timeline_pages_total{{way=\"{way}\"}} "));
        let from_inboxes = way("candidates").unwrap_or(0.0);
        let others = ["stretch", "definition"].map(|name| way(name).unwrap_or(0.0));
        let all = from_inboxes + others.iter().sum::<f64>();
        Ok(Self { from_inboxes, all, waiting: metrics.number(WAITING).unwrap_or(0.0) })
    }
}

/// Puts readers into the state in which the sweeper and the trimmer leave them after a long absence.
async fn send_away(database: &mut Database, readers: &[Person]) -> Result<()> {
    let seen = now_ms()? - AWAY_MS;
    for some in readers.chunks(AWAY_AT_ONCE) {
        let ids: Vec<String> = some.iter().map(|reader| reader.number.to_string()).collect();
        let ids = ids.join(", ");
        let off = format!(
            "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL, rev = rev + 1, deep_until = NULL, \
             last_seen = {seen} WHERE user_id IN ({ids})"
        );
        database.execute(&off).await?;
        database.execute(&format!("DELETE FROM inboxes WHERE user_id IN ({ids})")).await?;
    }
    Ok(())
}
