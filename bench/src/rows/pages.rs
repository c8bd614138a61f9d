//! Compares pages with the same bytes from a bare server, with raw reads of the database, and with other pages.

use std::{net::SocketAddr, rc::Rc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sqlx::{Connection as _, MySqlConnection};
use tokio::time::Instant;

use crate::{
    client::{Client, request},
    database::{self, NAME},
    figure::{Figure, Target, number},
    load::{self, Asking, Refusal, burst},
    memories::Counts,
    node::{Node, set},
    people::{self, PAGE, Person},
    processes,
    rounds::{alternate, median},
    rows::life::{self, Life, PageCosts},
    site::Site,
};

/// Clients that read pages.
pub const CLIENTS: usize = 4;
/// Entries of a page.
pub const SIZE: usize = 20;

/// A page of 20 against the limit of its engine, while contents are published and liked and authors followed.
pub async fn page(site: &mut Site) -> Result<Vec<Figure>> {
    let readers = site.readers()?;
    let mut client = Client::to(site.address()).await?;
    client.ask(&request(Some(&readers[0].token), PAGE, &json!({ "first": SIZE }))).await?;
    let bytes = client.body().to_vec();
    // A node that has served every reader once remembers what it can.
    for reader in &readers {
        client.ask(&request(Some(&reader.token), PAGE, &json!({ "first": SIZE }))).await?;
    }
    let mut ours = life::among_changes(site, &readers).await?;
    let before = Counts::of(site.address()).await?;
    let mut figures = vec![against_bytes(site, &mut ours, &bytes).await?];
    if let Some(port) = site.store.mariadb_port() {
        figures.extend(against_raw_reads(site, &mut ours, &readers, port).await?);
    }
    let shares = Counts::of(site.address()).await?.shares_since(&before);
    figures.push(Figure::reported("what the node remembered", shares));
    figures.push(Figure::reported("bytes of the page", number(load::count(bytes.len() as u64), "B")));
    Ok(figures)
}

async fn against_bytes(site: &Site, ours: &mut Life, bytes: &[u8]) -> Result<Figure> {
    let bare = Node::bare(site.store.folder(), bytes, "").await?;
    let asked = request(None, "{ __typename }", &json!({}));
    let mut theirs = Vec::new();
    for _ in 0..CLIENTS {
        theirs.push(load::repeating(bare.address, "bare", asked.clone()).await?);
    }
    let (options, pids) = (&site.options, site.pids());
    let mut last = PageCosts::default();
    let rounds = alternate(
        options.rounds(),
        async || {
            last = ours.page_costs(&pids, options.length()).await?;
            Ok(last.all_us())
        },
        async || Ok(burst(&mut theirs, &[bare.server.pid], options.length(), Refusal::Fails).await?.cost_us()),
    )
    .await?;
    let what = format!(
        "page of 20 of {} readers in turn, amid changes, against the same bytes ({:.0} a second; all servers' CPU, \
         without the changes, each {:.0} us)",
        ours.readers, last.rate, last.change_us
    );
    let target = if pids.len() == 1 { Target::AtLeast(0.08, 0.2) } else { Target::Free };
    Ok(Figure::share_of_limit(what, &rounds, ("us", "us"), target).generated_in(last.generator_us))
}

/// Raw reads are prepared statements that read the newest 21 rows of an inbox, from as many connections.
async fn against_raw_reads(site: &Site, ours: &mut Life, readers: &[Person], port: u16) -> Result<Vec<Figure>> {
    let mut raw = Vec::new();
    for _ in 0..CLIENTS {
        raw.push(database::connect(port, Some(NAME)).await?);
    }
    let (options, pids) = (&site.options, site.pids());
    let server = *pids.get(1).context("no MariaDB")?;
    let (mut of_server, mut rates) = (Vec::new(), (Vec::new(), Vec::new()));
    let rounds = alternate(
        options.rounds(),
        async || {
            let seen = ours.page_costs(&pids, options.length()).await?;
            of_server.push(seen.each_us[1]);
            rates.0.push(seen.rate);
            Ok(seen.all_us())
        },
        async || {
            let (cost, rate) = raw_reads(&mut raw, readers, server, options.length()).await?;
            rates.1.push(rate);
            Ok(cost)
        },
    )
    .await?;
    for connection in raw {
        connection.close().await?;
    }
    let of_server = crate::rounds::Rounds { ours: of_server, theirs: rounds.theirs.clone() };
    let rates = crate::rounds::Rounds { ours: rates.0, theirs: rates.1 };
    let target = Target::AtLeast(0.15, 0.35);
    Ok(vec![
        Figure::share_of_limit(
            "page of 20, all servers' CPU, against raw newest-20 reads",
            &rounds,
            ("us", "us"),
            target,
        ),
        Figure::share_of_limit("its share of MariaDB's CPU against the same", &of_server, ("us", "us"), Target::Free),
        Figure::multiple("pages a second against raw reads a second", &rates, ("/s", "/s"), Target::Free),
    ])
}

async fn raw_reads(
    raw: &mut [MySqlConnection],
    readers: &[Person],
    server: u32,
    length: Duration,
) -> Result<(f64, f64)> {
    let (began, before) = (Instant::now(), processes::cpu_us(server)?);
    let reads = raw.iter_mut().enumerate().map(|(place, connection)| async move {
        let mut done = 0_u32;
        while began.elapsed() < length {
            let reader = &readers[(place + done as usize) % readers.len()];
            let read = "SELECT publish_time, content_id, author_id FROM inboxes WHERE user_id = ? \
                        ORDER BY publish_time DESC, content_id DESC LIMIT 21";
            let rows = sqlx::query(read).bind(reader.number).fetch_all(&mut *connection).await?;
            ensure!(rows.len() > 19, "an inbox has only {} rows", rows.len());
            done += 1;
        }
        Ok(done)
    });
    let done: u32 = futures_util::future::try_join_all(reads).await?.into_iter().sum();
    let cpu = processes::cpu_us(server)? - before;
    Ok((cpu / f64::from(done), f64::from(done) / began.elapsed().as_secs_f64()))
}

/// Page 14 against page 1.
pub async fn deep(site: &mut Site) -> Result<Vec<Figure>> {
    let readers = site.readers()?;
    let (reader, cursor) = who_reaches(site, &readers, 13 * SIZE).await?;
    let after = json!({ "first": SIZE, "after": cursor });
    let newest = json!({ "first": SIZE });
    let pages = (Page { reader: &reader, variables: &after }, Page { reader: &reader, variables: &newest });
    Ok(vec![against(site, "page 14 against page 1", pages, Target::AtMost(1.5, 1.2)).await?])
}

/// The first page below the inbox against page 1, on a node that keeps at most 300 entries of deep inboxes.
pub async fn past_kept(site: &mut Site) -> Result<Vec<Figure>> {
    let readers = site.readers()?;
    site.restart(&vec![set("inbox.deep_keep", &300)]).await?;
    let (reader, cursor) = who_reaches(site, &readers, 300).await?;
    let after = json!({ "first": SIZE, "after": cursor });
    let newest = json!({ "first": SIZE });
    let pages = (Page { reader: &reader, variables: &after }, Page { reader: &reader, variables: &newest });
    let figure = against(site, "page 16, past the kept inbox, against page 1", pages, Target::AtMost(2.0, 1.2)).await;
    site.restart(&Vec::new()).await?;
    Ok(vec![figure?])
}

/// A reader with very many followees against one with ten.
pub async fn followees(site: &mut Site) -> Result<Vec<Figure>> {
    let (many, few) = (site.options.size(5_000, 100), (8, 12));
    let people = site.people(few, 2).await?;
    let [busy, usual] = people.as_slice() else { anyhow::bail!("two readers are needed") };
    let many = people::follow_many(site, busy, many).await?;
    people::make_active(site, &people).await?;
    let newest = json!({ "first": SIZE });
    let pages = (Page { reader: busy, variables: &newest }, Page { reader: usual, variables: &newest });
    let what = format!("reader with {many} followees against one with 10");
    Ok(vec![against(site, &what, pages, Target::AtMost(1.2, 1.05)).await?])
}

/// A client that repeats the request for one page.
struct Page<'a> {
    reader: &'a Person,
    variables: &'a Value,
}

async fn against(site: &Site, what: &str, (one, other): (Page<'_>, Page<'_>), target: Target) -> Result<Figure> {
    let address = site.address();
    let mut ours = page_requests(address, std::slice::from_ref(one.reader), one.variables.clone()).await?;
    let mut theirs = page_requests(address, std::slice::from_ref(other.reader), other.variables.clone()).await?;
    let (options, pids) = (&site.options, site.pids());
    let mut generator = Vec::new();
    let rounds = alternate(
        options.rounds(),
        async || {
            let seen = burst(&mut ours, &pids, options.length(), Refusal::Fails).await?;
            generator.push(seen.generator_cost_us());
            Ok(seen.cost_us())
        },
        async || Ok(burst(&mut theirs, &pids, options.length(), Refusal::Fails).await?.cost_us()),
    )
    .await?;
    Ok(Figure::multiple(what, &rounds, ("us", "us"), target).generated_in(median(&generator)))
}

/// Clients that read pages as these readers in turn.
pub async fn page_requests(address: SocketAddr, readers: &[Person], variables: Value) -> Result<Vec<Asking>> {
    let requests: Vec<Rc<[u8]>> =
        readers.iter().map(|reader| request(Some(&reader.token), PAGE, &variables).into()).collect();
    in_turn(address, &requests).await
}

/// Clients that send these requests in turn, each starting at a different one.
pub async fn in_turn(address: SocketAddr, requests: &[Rc<[u8]>]) -> Result<Vec<Asking>> {
    let mut all = Vec::new();
    for place in 0..CLIENTS {
        let (requests, mut next) = (requests.to_vec(), place * requests.len() / CLIENTS);
        let script = Box::new(move || {
            next += 1;
            ("page", Rc::clone(&requests[next % requests.len()]))
        });
        all.push(Asking { client: Client::to(address).await?, script });
    }
    Ok(all)
}

/// The first reader whose timeline has at least `entries` entries, with the cursor of entry number `entries`.
async fn who_reaches(site: &Site, readers: &[Person], entries: usize) -> Result<(Person, String)> {
    let mut client = Client::to(site.address()).await?;
    for reader in readers {
        let mut after = Value::Null;
        let mut read = 0;
        while read < entries {
            let first = (entries - read).min(100);
            let answer = client.data(Some(&reader.token), PAGE, json!({ "first": first, "after": after })).await?;
            let timeline = &answer["timeline"];
            read += timeline["edges"].as_array().map_or(0, Vec::len);
            after = timeline["pageInfo"]["endCursor"].clone();
            if timeline["pageInfo"]["hasNextPage"] != true {
                break;
            }
        }
        if let (true, Some(cursor)) = (read >= entries, after.as_str()) {
            return Ok((reader.clone(), cursor.to_owned()));
        }
    }
    anyhow::bail!("no reader has {entries} entries")
}
