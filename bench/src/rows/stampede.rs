//! Measures pages while a Redis that held everybody's inbox has lost all of them, and everybody comes back at once.

use std::{cell::Cell, rc::Rc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, request},
    figure::{Figure, Target},
    load::{self, Asking, Refusal, burst, quantile},
    metrics::Metrics,
    node::set,
    people::{self, PAGE, Person},
    rounds::Rounds,
    rows::{
        inboxes::{OUTSIDE, admitted, settle},
        pages::SIZE,
    },
    site::Site,
};

/// Readers who ask at the same time: far more than a node runs at once. Whom it refuses comes again after a second, as
/// told, before and after as well.
const CLIENTS: (usize, usize) = (512, 16);
/// Longer than all inboxes take to be built again.
const PATIENCE: Duration = Duration::from_mins(30);
/// Time between two looks at how many inboxes are being built.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longer than the sign-ins of everybody.
const TOKEN_MINUTES: u32 = 10_000;
const BUILT: &str = "tidefeed_outside_inbox_builds_total{outcome=\"built\"} ";
const BUILDING: &str = "tidefeed_outside_inbox_builds_running ";

/// Times of pages before, during and after.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    site.restart(&vec![set("inbox.store", &"redis"), set("auth.token_ttl_minutes", &TOKEN_MINUTES)]).await?;
    admitted(site).await?;
    let readers = everybody(site).await?;
    settle(site, &readers, OUTSIDE).await?;
    let clients = site.options.size(CLIENTS.0, CLIENTS.1);
    let mut asking = each_in_turn(site, &readers, clients).await?;
    burst(&mut asking, &[], site.options.length() / 4, Refusal::Waits).await?;
    let before = bursts(site, &mut asking, None).await?;
    let built = Builds::of(site).await?.built + f64::from(u32::try_from(readers.len())?);
    site.store.empty_redis().await?;
    let began = Instant::now();
    let during = bursts(site, &mut asking, Some(built)).await?;
    let seconds = began.elapsed().as_secs_f64();
    let after = bursts(site, &mut asking, None).await?;
    site.restart(&Vec::new()).await?;
    site.command(&["inbox", "move"])?;
    Ok(figures(readers.len(), (&before, &during, &after), seconds))
}

fn figures(readers: usize, (before, during, after): (&Seen, &Seen, &Seen), seconds: f64) -> Vec<Figure> {
    let ratio = |during: &Seen, share: f64| Rounds { ours: vec![during.at(share)], theirs: vec![before.at(share)] };
    let [b, d, a] = [before, during, after].map(Seen::refused_percent);
    let units = ("ms", "ms");
    let what =
        |share: &str, when: &str| format!("{share} of a page {when} {readers} inboxes are built again, against before");
    vec![
        Figure::multiple(what("p50", "while"), &ratio(during, 0.5), units, Target::Free),
        Figure::multiple(what("p99", "while"), &ratio(during, 0.99), units, Target::AtMost(5.0, 2.0)),
        Figure::multiple(what("p50", "after"), &ratio(after, 0.5), units, Target::Free),
        Figure::multiple(what("p99", "after"), &ratio(after, 0.99), units, Target::Free),
        Figure::alone("inboxes that were built at once, the most of all looks", during.most_at_once, "", Target::Free),
        Figure::alone("until all were built", seconds, "s", Target::Free),
        Figure::reported("pages refused before, while and after that", format!("{b:.1} %, {d:.1} %, {a:.1} %")),
    ]
}

/// Everybody of the world who can sign in and follows somebody.
async fn everybody(site: &Site) -> Result<Vec<Person>> {
    let sql = "SELECT u.handle FROM users u JOIN user_counts c ON c.user_id = u.id JOIN credentials p ON p.user_id = u.id \
               WHERE c.following > 0 ORDER BY u.id";
    let handles = site.database().await?.texts(sql).await?;
    ensure!(!handles.is_empty(), "nobody follows anybody");
    people::sign_in(site, &handles).await
}

/// Clients who share the readers: each comes in their turn.
pub async fn each_in_turn(site: &Site, readers: &[Person], clients: usize) -> Result<Vec<Asking>> {
    let page = |reader: &Person| request(Some(&reader.token), PAGE, &json!({ "first": SIZE })).into();
    let requests: Rc<Vec<Rc<[u8]>>> = Rc::new(readers.iter().map(page).collect());
    let turn = Rc::new(Cell::new(0_usize));
    let mut all = Vec::new();
    for _ in 0..clients {
        let (requests, turn) = (Rc::clone(&requests), Rc::clone(&turn));
        let script = Box::new(move || {
            let next = turn.replace(turn.get() + 1) % requests.len();
            ("page", Rc::clone(&requests[next]))
        });
        all.push(Asking { client: Client::to(site.address()).await?, script });
    }
    Ok(all)
}

/// Sorted times of pages in microseconds, pages refused, and the most inboxes being built at a look.
#[derive(Default)]
struct Seen {
    times: Vec<f64>,
    refused: u64,
    most_at_once: f64,
}

impl Seen {
    /// Of all requests.
    fn refused_percent(&self) -> f64 {
        let refused = load::count(self.refused);
        100.0 * refused / (refused + load::count(self.times.len() as u64))
    }

    /// In ms.
    fn at(&self, share: f64) -> f64 {
        quantile(&self.times, share) / 1e3
    }
}

/// Reads pages until this many inboxes have been built since the node's start; without a number, for one burst.
async fn bursts(site: &Site, asking: &mut [Asking], until_built: Option<f64>) -> Result<Seen> {
    let (mut seen, deadline) = (Seen::default(), Instant::now() + PATIENCE);
    loop {
        let (length, stop) = (site.options.length(), Cell::new(false));
        let pages = async {
            let pages = burst(asking, &[], length, Refusal::Waits).await;
            stop.set(true);
            pages
        };
        let (pages, builds) = tokio::join!(pages, look(site, &stop));
        let (mut pages, builds) = (pages?, builds?);
        seen.times.append(&mut pages.times.remove("page").unwrap_or_default());
        seen.refused += pages.refused;
        seen.most_at_once = seen.most_at_once.max(builds.at_once);
        if until_built.is_none_or(|all| builds.built >= all) {
            seen.times.sort_unstable_by(f64::total_cmp);
            return Ok(seen);
        }
        ensure!(Instant::now() < deadline, "{} inboxes are built in time", builds.built);
    }
}

/// What the node says of the inboxes that it builds.
#[derive(Default)]
struct Builds {
    built: f64,
    at_once: f64,
}

impl Builds {
    async fn of(site: &Site) -> Result<Self> {
        let metrics = Metrics::of(site.address()).await?;
        Ok(Self {
            built: metrics.number(BUILT).context("the node reports no builds")?,
            at_once: metrics.number(BUILDING).unwrap_or(0.0),
        })
    }
}

async fn look(site: &Site, stop: &Cell<bool>) -> Result<Builds> {
    let mut most = Builds::default();
    loop {
        let builds = Builds::of(site).await?;
        most = Builds { built: builds.built, at_once: most.at_once.max(builds.at_once) };
        if stop.get() {
            return Ok(most);
        }
        sleep(POLL_INTERVAL).await;
    }
}
