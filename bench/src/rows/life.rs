//! Pages amid changes: readers take turns, while contents are published and liked and authors followed.

use std::{rc::Rc, time::Duration};

use anyhow::Result;
use serde_json::json;

use crate::{
    client::{Client, request},
    load::{Asking, Refusal, burst, count},
    people::{PAGE, Person},
    rows::{
        pages::{CLIENTS, SIZE},
        writes::{Write, requests},
    },
    site::Site,
};

/// People of each client who change something.
const CHANGERS: usize = 16;
/// Likes of one of them for each publish and each follow.
const LIKES: usize = 5;
/// Times that each of them does so until everything but the publishes is undone.
const TIMES: usize = 8;
/// One request in this many is a change.
pub const EVERY: usize = 14;
/// The burst of changes alone is shorter than that of pages by this factor.
const SHORTER: u32 = 2;

/// Clients that read pages and change something now and then, and one that only changes.
pub struct Life {
    pub readers: usize,
    pages: Vec<Asking>,
    changes: Vec<Asking>,
}

/// What a page cost.
#[derive(Debug, Default)]
pub struct PageCosts {
    /// Processor time of a page, without the changes among them, by process.
    pub each_us: Vec<f64>,
    /// Processor time of a change, of all processes.
    pub change_us: f64,
    /// Pages a second.
    pub rate: f64,
    /// The generator's processor time an answer.
    pub generator_us: f64,
}

impl PageCosts {
    /// Of all processes.
    pub fn all_us(&self) -> f64 {
        self.each_us.iter().sum()
    }
}

/// Clients that read first pages as these readers in turn, with changes by some of them.
pub async fn among_changes(site: &Site, readers: &[Person]) -> Result<Life> {
    let variables = json!({ "first": SIZE });
    let asked: Vec<Rc<[u8]>> =
        readers.iter().map(|reader| request(Some(&reader.token), PAGE, &variables).into()).collect();
    let mut life = Life { readers: readers.len(), pages: Vec::new(), changes: Vec::new() };
    let each = CHANGERS.min(readers.len() / (CLIENTS + 1)).max(1);
    let mut all = Vec::new();
    for place in 0..=CLIENTS {
        all.push(changes_of(site, readers.iter().cycle().skip(place * each).take(each)).await?);
    }
    // A node closes a connection that sends nothing for some seconds, so they are opened last.
    for (place, changes) in all.into_iter().enumerate() {
        let (asked, mut next, mut changed) = (asked.clone(), place * readers.len() / CLIENTS, 0);
        let mut change = move || {
            changed += 1;
            ("change", Rc::clone(&changes[changed % changes.len()]))
        };
        let client = Client::to(site.address()).await?;
        if place == CLIENTS {
            life.changes.push(Asking { client, script: Box::new(change) });
        } else {
            let script = Box::new(move || {
                next += 1;
                if next % EVERY == 0 { change() } else { ("page", Rc::clone(&asked[next % asked.len()])) }
            });
            life.pages.push(Asking { client, script });
        }
    }
    Ok(life)
}

/// Changes of these people in turn.
async fn changes_of(site: &Site, people: impl Iterator<Item = &Person>) -> Result<Vec<Rc<[u8]>>> {
    let mut each = Vec::new();
    for person in people {
        let likes = requests(site, Write::Like, person).await?;
        let follows = requests(site, Write::Follow, person).await?;
        let publish = requests(site, Write::Publish, person).await?;
        each.push((likes, follows, publish));
    }
    let mut all = Vec::new();
    for time in 0..TIMES {
        for (likes, follows, publish) in &each {
            all.extend((0..LIKES).map(|like| Rc::clone(&likes[(time * LIKES + like) % likes.len()])));
            all.push(Rc::clone(&follows[time % follows.len()]));
            all.push(Rc::clone(&publish[0]));
        }
    }
    Ok(all)
}

impl Life {
    /// The processor time of a page: of pages and changes, less what as many changes cost alone.
    pub async fn page_costs(&mut self, pids: &[u32], length: Duration) -> Result<PageCosts> {
        let seen = burst(&mut self.pages, pids, length, Refusal::Fails).await?;
        let alone = burst(&mut self.changes, pids, length / SHORTER, Refusal::Fails).await?;
        let [pages, changes] = ["page", "change"].map(|kind| seen.rate_of(kind) * seen.seconds);
        let costs = seen.cpu_us.iter().enumerate().map(|(at, us)| (us - changes * alone.cost_of(at)) / pages.max(1.0));
        Ok(PageCosts {
            each_us: costs.collect(),
            change_us: alone.cost_us(),
            rate: seen.rate_of("page"),
            generator_us: seen.generator_us / count(seen.accepted),
        })
    }
}
