//! Measures how many inboxes a second the trimmer trims if all of them are too full.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::{Instant, sleep};

use crate::{
    database::Database,
    figure::{Figure, Target},
    node::set,
    site::Site,
};

/// Inboxes, as a power of ten.
const POWER: (usize, usize) = (5, 2);
/// What the node keeps of each: the least that it may be told to.
const KEEP: i64 = 20;
/// The fewest rows of an inbox that is trimmed.
const ROWS: i64 = 23;
/// The readers have ids above it, and above those of the world: the trimmer meets them in this order, after the world.
const ABOVE: i64 = 1_000_000_000;
/// Longer than everything takes.
const PATIENCE: Duration = Duration::from_mins(15);
/// Time between two looks at one inbox.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// From the first of these inboxes to the last. The inboxes of the world are trimmed as well, before and after.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let power = site.options.size(POWER.0, POWER.1);
    let count = 10_i64.pow(u32::try_from(power)?);
    let mut database = site.database().await?;
    fill(&mut database, power).await?;
    site.restart(&vec![set("inbox.keep", &KEEP), set("inbox.extend_step", &KEEP)]).await?;
    trimmed(&mut database, ABOVE).await?;
    let began = Instant::now();
    trimmed(&mut database, ABOVE + count - 1).await?;
    let rate = f64::from(u32::try_from(count)?) / began.elapsed().as_secs_f64();
    site.restart(&Vec::new()).await?;
    let what = format!("{count} inboxes with {ROWS} rows trimmed to {KEEP}");
    Ok(vec![Figure::alone(what, rate, "inboxes/s", Target::Free)])
}

/// Makes inboxes that are too full, by one row more than is tolerated.
async fn fill(database: &mut Database, power: usize) -> Result<()> {
    let inboxes = format!("SELECT {ABOVE} + {} AS id FROM {}", number(power), digits(power));
    let states = format!(
        "INSERT INTO inbox_states (user_id, floor_time, floor_content, last_seen) SELECT i.id, 0, 0, 5 FROM ({inboxes}) i"
    );
    database.execute(&states).await?;
    let rows = format!("SELECT 1 + {} AS at FROM {}", number(2), digits(2));
    let insert = format!(
        "INSERT INTO inboxes (user_id, publish_time, content_id, author_id) \
         SELECT i.id, r.at, r.at, 1 FROM ({inboxes}) i JOIN ({rows}) r WHERE r.at <= {ROWS}"
    );
    database.execute(&insert).await?;
    Ok(())
}

/// A table of all numbers with this many digits, each digit in a column; [`number`] puts them together.
fn digits(count: usize) -> String {
    let one = (0..10).map(|digit| format!("SELECT {digit} AS d")).collect::<Vec<_>>().join(" UNION ALL ");
    (0..count).map(|place| format!("({one}) d{place}")).collect::<Vec<_>>().join(" JOIN ")
}

fn number(count: usize) -> String {
    (0..count).map(|place| format!("d{place}.d * 1{}", "0".repeat(place))).collect::<Vec<_>>().join(" + ")
}

/// Waits until this inbox holds no more than is kept.
async fn trimmed(database: &mut Database, inbox: i64) -> Result<()> {
    let rows = format!("SELECT COUNT(*) FROM inboxes WHERE user_id = {inbox}");
    let deadline = Instant::now() + PATIENCE;
    while database.number(&rows).await? > KEEP {
        ensure!(Instant::now() < deadline, "inbox {inbox} is not trimmed in time");
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}
