//! Measures a mix of operations: 80 % pages, 10 % counts, 5 % likes, 3 % publishes, 2 % follows.

use std::rc::Rc;

use anyhow::Result;
use serde_json::json;

use crate::{
    client::{Client, request},
    figure::{Figure, Target},
    load::{Asking, Burst, Draw, Refusal, burst},
    people::{self, PAGE, Person},
    rows::{
        delivery::OPEN,
        writes::{Write, requests},
    },
    site::Site,
};

/// Length of a step, as a multiple of one side of a round.
const LONGER: u32 = 5;
/// Number of clients that saturate a node.
const FULL: usize = 64;
/// Clients of an overloaded node, as a multiple of those that saturate it.
const TIMES_CAPACITY: usize = 4;
const COUNT: &str = "query($after: String!) { newContentCount(after: $after) { count } }";
const KINDS: [&str; 5] = ["page", "count", "like", "follow", "publish"];
const READS: &[&str] = &["page", "count"];
const CHANGES: &[&str] = &["like", "follow", "publish"];

/// p50 and p99 of each kind for each number of concurrent clients.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let steps: &[usize] = if site.options.quick { &[1, 4] } else { &[1, 4, 64, 256] };
    let most = steps.last().copied().unwrap_or(1);
    let people = site.people((10, 200), most).await?;
    people::make_active(site, &people).await?;
    let mut all = Vec::new();
    for (place, person) in people.iter().enumerate() {
        all.push(mixed(site, person, place).await?);
    }
    let mut figures = Vec::new();
    for clients in steps {
        let length = site.options.length() * LONGER;
        let seen = burst(&mut all[..*clients], &site.pids(), length, Refusal::Waits).await?;
        let mut database = site.database().await?;
        let open = database.number(OPEN).await?;
        people::wait_for_none(&mut database, OPEN, "deliveries").await?;
        figures.push(reported(*clients, &seen, open));
        if *clients == FULL {
            figures.push(fairness(&seen));
        }
    }
    Ok(figures)
}

/// The greatest ratio of a change's p50 to a page's.
fn fairness(seen: &Burst) -> Figure {
    let page = seen.quantile("page", 0.5);
    let changes = ["like", "follow", "publish"].map(|kind| seen.quantile(kind, 0.5) / page);
    let what = format!("mix, {FULL} clients: p50 of a like, a follow or a publish over a page's, the greatest");
    Figure::alone(what, changes.into_iter().fold(0.0, f64::max), "", Target::AtMost(1.5, 1.0))
}

/// Four times as many clients as the node can serve, each repeating at once when it is refused: how many pages are
/// still served, and whether pages and changes are refused in like proportion.
pub async fn overload(site: &mut Site) -> Result<Vec<Figure>> {
    let (clients, times) = (site.options.size(FULL, 4), TIMES_CAPACITY);
    let people = site.people((10, 200), clients * times).await?;
    people::make_active(site, &people).await?;
    let mut all = Vec::new();
    for (place, person) in people.iter().enumerate() {
        all.push(mixed(site, person, place).await?);
    }
    let (pids, length) = (site.pids(), site.options.length() * LONGER);
    let mut database = site.database().await?;
    let full = burst(&mut all[..clients], &pids, length, Refusal::Repeats).await?;
    // What the first has published would be delivered during the second.
    people::wait_for_none(&mut database, OPEN, "deliveries").await?;
    let over = burst(&mut all, &pids, length, Refusal::Repeats).await?;
    people::wait_for_none(&mut database, OPEN, "deliveries").await?;
    let millis = |seen: &Burst| KINDS.map(|kind| format!("{kind} {:.1}", seen.quantile(kind, 0.99) / 1e3)).join(", ");
    let mut figures = Vec::new();
    for (seen, what) in [(&full, format!("{clients} clients")), (&over, format!("{times} times as many"))] {
        let kinds = KINDS.map(|kind| format!("{kind} {:.0}", seen.rate_of(kind))).join(", ");
        let [reads, changes] = [READS, CHANGES].map(|kinds| seen.refused_share(kinds) * 100.0);
        let rates = format!(
            "{:.0}/s accepted ({kinds}), {:.0}/s refused: {reads:.0} % of reads, {changes:.0} % of changes",
            seen.rate(),
            seen.refusal_rate()
        );
        figures.push(Figure::reported(format!("overload, {what}: p99 in ms: {}", millis(seen)), rates));
    }
    let served = over.rate_of("page") / full.rate_of("page");
    let [reads, changes] = [READS, CHANGES].map(|kinds| over.refused_share(kinds));
    figures.push(
        Figure::alone("overload: pages served over those at capacity", served, "", Target::AtLeast(0.8, 1.0))
            .generated_in(over.generator_cost_us()),
    );
    let apart = (reads - changes).abs();
    figures.push(Figure::alone(
        "overload: refused shares of reads and of changes, apart",
        apart,
        "",
        Target::AtMost(0.2, 0.1),
    ));
    Ok(figures)
}

fn reported(clients: usize, seen: &Burst, open: i64) -> Figure {
    let times = KINDS
        .map(|kind| format!("{kind} {:.1} / {:.1}", seen.quantile(kind, 0.5) / 1e3, seen.quantile(kind, 0.99) / 1e3));
    let published = seen.times.get("publish").map_or(0, Vec::len);
    let spread = seen.quantile("page", 0.99) / seen.quantile("page", 0.5);
    let what = format!(
        "mix, {clients} clients: {:.0}/s, {} refused; p50 / p99 in ms: {}; {open} of {published} publishes not \
         delivered at the end; a page's p99 over its p50",
        seen.rate(),
        seen.refused,
        times.join(", ")
    );
    let target = if clients == FULL { Target::AtMost(5.0, 3.0) } else { Target::Free };
    Figure::alone(what, spread, "", target).generated_in(seen.generator_cost_us())
}

/// A client that draws each operation at random.
pub async fn mixed(site: &Site, person: &Person, place: usize) -> Result<Asking> {
    let token = Some(person.token.as_str());
    let mut client = Client::to(site.address()).await?;
    let page = client.data(token, PAGE, json!({ "first": 20 })).await?;
    let cursor = &page["timeline"]["edges"][9]["cursor"];
    let read: Rc<[u8]> = request(token, PAGE, &json!({ "first": 20 })).into();
    let count: Rc<[u8]> = request(token, COUNT, &json!({ "after": cursor })).into();
    let likes = requests(site, Write::Like, person).await?;
    let follows = requests(site, Write::Follow, person).await?;
    let publish = requests(site, Write::Publish, person).await?;
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15 ^ (place as u64 + 1));
    let mut next = 0;
    let script = Box::new(move || {
        next += 1;
        match draw.below(100) {
            0..80 => ("page", Rc::clone(&read)),
            80..90 => ("count", Rc::clone(&count)),
            90..95 => ("like", Rc::clone(&likes[next % likes.len()])),
            95..98 => ("publish", Rc::clone(&publish[0])),
            _ => ("follow", Rc::clone(&follows[next % follows.len()])),
        }
    });
    Ok(Asking { client, script })
}
