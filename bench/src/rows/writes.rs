//! Compares likes, follows and publishes of sixteen clients with raw commits of the same durability on the same disk.

use std::{rc::Rc, time::Duration};

use anyhow::{Context as _, Result};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    client::{Client, request},
    database::{self, NAME},
    figure::{Figure, Target},
    load::{Asking, Refusal, burst},
    people::{self, PAGE, Person},
    rounds::{alternate, median},
    rows::delivery::{OPEN, PUBLISH},
    site::Site,
};

const CLIENTS: usize = 16;

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Like,
    Follow,
    Publish,
}

/// Writes a second against raw commits a second.
pub async fn measure(site: &mut Site, write: Write) -> Result<Vec<Figure>> {
    let people = site.people((10, 60), CLIENTS).await?;
    let mut all = clients(site, write, &people).await?;
    let (options, pids) = (&site.options, site.pids());
    let mut generator = Vec::new();
    let rounds = alternate(
        options.rounds(),
        async || {
            let seen = burst(&mut all, &pids, options.length(), Refusal::Fails).await?;
            generator.push(seen.generator_cost_us());
            Ok(seen.rate())
        },
        async || raw_commits(site, options.length()).await,
    )
    .await?;
    people::wait_for_none(&mut site.database().await?, OPEN, "deliveries").await?;
    let what = format!("{write:?} by {CLIENTS} clients against raw commits");
    let figure = Figure::multiple(what, &rounds, ("/s", "commits/s"), Target::AtLeast(0.5, 0.7));
    Ok(vec![figure.generated_in(median(&generator))])
}

/// A client of each person that writes again and again.
pub async fn clients(site: &Site, write: Write, people: &[Person]) -> Result<Vec<Asking>> {
    let mut all = Vec::new();
    for person in people {
        let requests = requests(site, write, person).await?;
        let mut next = 0;
        let script = Box::new(move || {
            next += 1;
            ("write", Rc::clone(&requests[next % requests.len()]))
        });
        all.push(Asking { client: Client::to(site.address()).await?, script });
    }
    Ok(all)
}

/// Alternates like and unlike, follow and unfollow, so that each request is a transaction that writes.
pub async fn requests(site: &Site, write: Write, person: &Person) -> Result<Vec<Rc<[u8]>>> {
    let token = Some(person.token.as_str());
    let pair = |one: &str, back: &str, kind: &str, id: &Value| {
        [one, back].map(|field| {
            let query =
                format!("mutation($id: ID!) {{ {field}(input: {{ {kind}: $id }}) {{ userErrors {{ code }} }} }}");
            request(token, &query, &json!({ "id": id })).into()
        })
    };
    if write == Write::Publish {
        let publish = request(token, PUBLISH, &json!({ "text": "High water at six, and the boats go out." }));
        return Ok(vec![publish.into()]);
    }
    if write == Write::Like {
        let mut client = Client::to(site.address()).await?;
        let page = client.data(token, PAGE, json!({ "first": 20 })).await?;
        let edges = page["timeline"]["edges"].as_array().context("no page")?;
        let ids = edges.iter().map(|edge| &edge["node"]["id"]);
        return Ok(ids.flat_map(|id| pair("likeContent", "unlikeContent", "contentId", id)).collect());
    }
    let strangers = format!(
        "SELECT user_id FROM user_counts WHERE user_id NOT IN (SELECT author_id FROM follows WHERE follower_id = {}) \
         AND followers > 0 ORDER BY user_id LIMIT 10",
        person.number
    );
    let strangers = site.database().await?.numbers(&strangers).await?;
    let ids = people::global_ids(site, &strangers).await?;
    Ok(ids.iter().flat_map(|id| pair("followUser", "unfollowUser", "userId", &json!(id))).collect())
}

/// Commits of one row each, a second.
async fn raw_commits(site: &Site, length: Duration) -> Result<f64> {
    match site.store.mariadb_port() {
        Some(port) => on_mariadb(port, length).await,
        None => on_sqlite(&site.store.folder().join("raw.db"), length),
    }
}

fn on_sqlite(file: &std::path::Path, length: Duration) -> Result<f64> {
    let connection = rusqlite::Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS bench_commits (it INTEGER)",
    )?;
    let mut insert = connection.prepare("INSERT INTO bench_commits VALUES (?)")?;
    let (began, mut done) = (Instant::now(), 0_u32);
    while began.elapsed() < length {
        insert.execute([done])?;
        done += 1;
    }
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}

async fn on_mariadb(port: u16, length: Duration) -> Result<f64> {
    let mut first = database::connect(port, Some(NAME)).await?;
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS bench_commits (it BIGINT)").execute(&mut first).await?;
    let mut connections = vec![first];
    while connections.len() < CLIENTS {
        connections.push(database::connect(port, Some(NAME)).await?);
    }
    let began = Instant::now();
    let done = connections.iter_mut().map(|connection| async move {
        let mut done = 0_u32;
        while began.elapsed() < length {
            sqlx::query("INSERT INTO bench_commits VALUES (?)").bind(done).execute(&mut *connection).await?;
            done += 1;
        }
        Ok::<_, anyhow::Error>(done)
    });
    let done: u32 = try_join_all(done).await?.into_iter().sum();
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}
