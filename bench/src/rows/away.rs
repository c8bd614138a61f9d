//! Compares the first page of a reader after a long absence with that of an active reader with as many followees.

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, request},
    figure::{Figure, Target},
    people::{self, PAGE, Person},
    rounds::{alternate, median},
    site::Site,
    world::now_ms,
};

/// How long they were away.
pub const AWAY_MS: i64 = 60 * 24 * 60 * 60 * 1000;

/// All readers follow equally many authors. Before each round half of them become absent; they return in it.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let (followees, each) = (site.options.size(500, 40), site.options.size(8, 1));
    let people = site.people((12, 40), 2 * each).await?;
    for person in &people {
        people::follow_many(site, person, followees).await?;
    }
    people::make_active(site, &people).await?;
    let (away, active) = people.split_at(each);
    let site = &*site;
    let rounds = alternate(
        site.options.rounds(),
        async || {
            send_away(site, away).await?;
            first_pages(site, away).await
        },
        async || {
            // Meanwhile workers reactivate the readers who returned.
            sleep(site.options.length()).await;
            first_pages(site, active).await
        },
    )
    .await?;
    let what = format!("first page of a reader who was away, {followees} followees, against an active one");
    Ok(vec![Figure::multiple(what, &rounds, ("us", "us"), Target::AtMost(3.0, 2.0))])
}

/// Puts readers into the state in which the sweeper leaves them after a long absence.
async fn send_away(site: &Site, people: &[Person]) -> Result<()> {
    let mut database = site.database().await?;
    let seen = now_ms()? - AWAY_MS;
    for person in people {
        let number = person.number;
        let off = format!(
            "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL, rev = rev + 1, deep_until = NULL, \
             last_seen = {seen} WHERE user_id = {number}"
        );
        database.execute(&off).await?;
        database.execute(&format!("DELETE FROM inboxes WHERE user_id = {number}")).await?;
    }
    Ok(())
}

/// Microseconds from request to answer, the median of one page of each person.
async fn first_pages(site: &Site, people: &[Person]) -> Result<f64> {
    let mut client = Client::to(site.address()).await?;
    let mut times = Vec::new();
    for person in people {
        let asked = request(Some(&person.token), PAGE, &json!({ "first": 20 }));
        let began = Instant::now();
        client.ask(&asked).await?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        ensure!(client.succeeded(), "{}", String::from_utf8_lossy(client.body()));
    }
    Ok(median(&times))
}
