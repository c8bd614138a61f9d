//! Measures publishes of authors with many followers: how fast inboxes fill, and how long the author waits.

use std::{thread::sleep, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    client::{Client, request},
    database::Database,
    figure::{Figure, Target},
    load,
    people::{self, Person},
    rounds::{Rounds, alternate, median},
    site::Site,
};

/// A publish.
pub const PUBLISH: &str = "mutation($text: String!) { publishContent(input: { text: $text }) { \
    timelineEdge { node { id } } userErrors { code } } }";
/// Counts the unfinished deliveries.
pub const OPEN: &str = "SELECT COUNT(*) FROM deliveries";
/// More followers than anybody has.
pub const MANY: i64 = 1_000_000_000;
const USUAL: i64 = 10;
/// Publishes of one side of a round.
const PUBLISHES: (usize, usize) = (10, 1);
/// Time between two counts of unfinished deliveries.
const POLL_INTERVAL: Duration = Duration::from_micros(250);

/// Rows a second of a delivery against one `INSERT .. SELECT` of the same rows into a copy of all inboxes: of the most
/// followed author, and of one whom about a tenth of the users follow, so that each row lands on a page of its own; and
/// the time until the last of 10,000 inboxes has the content.
pub async fn fan_out(site: &mut Site) -> Result<Vec<Figure>> {
    copy_inboxes(&mut site.database().await?).await?;
    let mut figures = Vec::new();
    let (star, followers) = site.author(MANY).await?;
    let rounds = against_raw(site, &star, 0).await?;
    figures.push(compared(followers, &rounds));
    let tenth = i64::try_from(site.options.users() / 10)?;
    let (author, followers) = site.author(tenth).await?;
    let rounds = against_raw(site, &author, 1_000).await?;
    figures.push(compared(followers, &rounds));
    let (delivered, _) = rounds.medians();
    let what = format!("last of 10,000 materialised, at the rate of the delivery to {followers}");
    figures.push(Figure::alone(what, 10_000.0 / delivered * 1e3, "ms", Target::AtMost(60.0, 30.0)));
    Ok(figures)
}

fn compared(followers: i64, rounds: &Rounds) -> Figure {
    let what = format!("fan-out to {followers} followers against a raw INSERT .. SELECT of the same rows");
    Figure::multiple(what, rounds, ("rows/s", "rows/s"), Target::AtLeast(0.8, 0.9))
}

/// Rows a second: of the author's delivery, and of the raw insert, whose contents have numbers after `number`.
async fn against_raw(site: &Site, author: &Person, mut number: i64) -> Result<Rounds> {
    let mut database = site.database().await?;
    let mut raw_database = site.database().await?;
    let rows = format!("SELECT COUNT(*) FROM follows WHERE author_id = {}", author.number);
    let rows = load::count(u64::try_from(database.number(&rows).await?)?);
    alternate(
        site.options.rounds(),
        async || Ok(rows / delivered(site, &mut database, author).await?),
        async || {
            number += 1;
            let began = Instant::now();
            let insert = format!(
                "INSERT INTO bench_rows (user_id, publish_time, content_id, author_id) \
                 SELECT follower_id, {number}, {number}, {author} FROM follows WHERE author_id = {author}",
                author = author.number
            );
            raw_database.execute(&insert).await?;
            Ok(rows / began.elapsed().as_secs_f64())
        },
    )
    .await
}

/// Seconds from the answer to a publish until its delivery record has gone.
pub async fn delivered(site: &Site, database: &mut Database, author: &Person) -> Result<f64> {
    people::wait_for_none(database, OPEN, "deliveries").await?;
    let mut client = Client::to(site.address()).await?;
    client.data(Some(&author.token), PUBLISH, json!({ "text": "High water at six, and the boats go out." })).await?;
    let began = Instant::now();
    while database.number(OPEN).await? > 0 {
        #[expect(clippy::disallowed_methods, reason = "a timer rounds up to milliseconds; nothing else runs here")]
        sleep(POLL_INTERVAL);
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Makes the table that the raw insert writes: with the rows of `inboxes`, because a row between others costs more than
/// one behind the last.
async fn copy_inboxes(database: &mut Database) -> Result<()> {
    database.execute("DROP TABLE IF EXISTS bench_rows").await?;
    match database {
        Database::MariaDb(_) => database.execute("CREATE TABLE bench_rows LIKE inboxes").await?,
        Database::Sqlite(_) => {
            let made = database.texts("SELECT sql FROM sqlite_master WHERE name = 'inboxes'").await?;
            database
                .execute(&made.into_iter().next().context("no inboxes")?.replacen("inboxes", "bench_rows", 1))
                .await?
        }
    };
    database.execute("INSERT INTO bench_rows SELECT * FROM inboxes").await?;
    Ok(())
}

/// The time of a publish by the most followed author against one by an author with ten followers. Each begins when the
/// delivery of the previous one is finished.
pub async fn publish_latency(site: &mut Site) -> Result<Vec<Figure>> {
    let (star, followers) = site.author(MANY).await?;
    let (usual, _) = site.author(USUAL).await?;
    let site = &*site;
    let ours = async || publish(site, &star).await;
    let rounds = alternate(site.options.rounds(), ours, async || publish(site, &usual).await).await?;
    let what = format!("publish, answered, with {followers} followers against 10");
    Ok(vec![Figure::multiple(what, &rounds, ("us", "us"), Target::AtMost(1.2, 1.1))])
}

/// Microseconds, the median.
async fn publish(site: &Site, author: &Person) -> Result<f64> {
    let mut client = Client::to(site.address()).await?;
    let mut database = site.database().await?;
    let asked = request(Some(&author.token), PUBLISH, &json!({ "text": "Low water at noon." }));
    let mut times = Vec::new();
    for _ in 0..site.options.size(PUBLISHES.0, PUBLISHES.1) {
        people::wait_for_none(&mut database, OPEN, "deliveries").await?;
        let began = Instant::now();
        client.ask(&asked).await?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        anyhow::ensure!(client.succeeded(), "{}", String::from_utf8_lossy(client.body()));
    }
    Ok(median(&times))
}
