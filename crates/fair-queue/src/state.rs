//! Who runs and who waits, and who is next. Nothing here awaits.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::sync::oneshot;

use crate::{Bounds, Client, Full};

/// How a wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// With a permit.
    Served,
    /// Another client has taken the place.
    Displaced,
}

/// A place in the queue.
#[derive(Debug)]
pub struct Place {
    /// Tells the places of a client apart.
    pub id: u64,
    /// How the wait ends.
    pub verdict: oneshot::Receiver<Verdict>,
}

/// Where a client with waiting work stands: first by how many it has running, then by how often it was served of late,
/// then by when it came or was served last.
type Rank = (usize, u32, u64);

/// The number of events, for each permit, over which a client's recent use is counted; at most twice as many are.
const COUNTED: usize = 64;
/// The same for all permits together.
const MOST_COUNTED: usize = 16_384;

/// A client asks clearly more often than another if it asks half as often again, and this often more.
const CLEARLY_MORE: u32 = 2;

/// The clients that run or wait. While a permit is free, every waiting client has its share running.
#[derive(Debug)]
pub struct State<K> {
    bounds: Bounds,
    running: usize,
    /// Those that can be displaced.
    waiting: usize,
    /// Clients that have their share waiting.
    sated: usize,
    clients: HashMap<K, Work>,
    /// The clients with waiting work.
    ranks: BTreeMap<Rank, K>,
    services: Recent<K>,
    asks: Recent<K>,
    /// The next id or time of service.
    next: u64,
}

/// How often each client did something of late, also clients without work.
#[derive(Debug)]
struct Recent<K> {
    /// Now, and before that.
    counts: [HashMap<K, u32>; 2],
    /// Events counted in the first of both.
    counted: usize,
    most: usize,
}

impl<K: Client> Recent<K> {
    fn new(most: usize) -> Self {
        Self { counts: [HashMap::new(), HashMap::new()], counted: 0, most }
    }

    fn of(&self, client: &K) -> u32 {
        self.counts.iter().filter_map(|counts| counts.get(client)).sum()
    }

    /// Counts once. Returns whether earlier events were forgotten.
    fn count(&mut self, client: &K) -> bool {
        let is_full = self.counted >= self.most;
        if is_full {
            self.counted = 0;
            self.counts.swap(0, 1);
            self.counts[0].clear();
        }
        self.counted += 1;
        *self.counts[0].entry(client.clone()).or_default() += 1;
        is_full
    }
}

/// The work of one client.
#[derive(Debug, Default)]
struct Work {
    running: usize,
    /// Those among `queue` that can be displaced.
    waiting: usize,
    queue: VecDeque<Waiter>,
    /// How often it was served of late.
    services: u32,
    /// How often it asked of late.
    asks: u32,
    /// When it was served last, or came.
    served_at: u64,
    rank: Option<Rank>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    /// Whether it waits to go on, and cannot be displaced.
    resumes: bool,
    verdict: oneshot::Sender<Verdict>,
}

impl<K: Client> State<K> {
    pub fn new(bounds: Bounds) -> Self {
        let (clients, ranks) = (HashMap::new(), BTreeMap::new());
        let most = bounds.all.running.saturating_mul(COUNTED).min(MOST_COUNTED);
        let (services, asks) = (Recent::new(most), Recent::new(most));
        Self { bounds, running: 0, waiting: 0, sated: 0, clients, ranks, services, asks, next: 0 }
    }

    pub const fn is_busy(&self) -> bool {
        self.running >= self.bounds.all.running
    }

    /// Whether some client would be refused now.
    pub const fn may_refuse(&self) -> bool {
        self.sated > 0 || (self.is_busy() && self.waiting >= self.bounds.all.waiting)
    }

    pub fn has_waiting(&self) -> bool {
        !self.ranks.is_empty()
    }

    /// Whether a permit is free for this client.
    pub fn may_run(&self, client: &K) -> bool {
        !self.is_busy() && self.running_of(client) < self.bounds.one.running
    }

    /// Whether there is a place in the queue for this client, perhaps another one's.
    pub fn may_wait(&self, client: &K) -> bool {
        let own = self.clients.get(client).map_or(0, |work| work.waiting);
        if own >= self.bounds.one.waiting {
            return false;
        }
        let is_lighter = || {
            let asks = self.asks.of(client);
            // Clients that ask equally often do not displace each other: the wait so far would have been in vain.
            let clearly_more = asks.saturating_add(asks / 2).saturating_add(CLEARLY_MORE);
            let heaviest = self.heaviest().map(|(_, work)| (work.waiting, work.asks));
            heaviest.is_some_and(|heaviest| heaviest > (own + 1, clearly_more))
        };
        self.waiting < self.bounds.all.waiting || is_lighter()
    }

    /// Counts a permit, which is free.
    pub fn run(&mut self, client: &K) {
        self.running += 1;
        let services = self.count_service(client);
        self.change(client, |work, now| {
            work.running += 1;
            (work.services, work.served_at) = (services, now);
        });
    }

    /// Takes a place in the queue.
    pub fn wait(&mut self, client: &K) -> Result<Place, Full> {
        if !self.may_wait(client) {
            return Err(Full);
        }
        if self.waiting >= self.bounds.all.waiting {
            self.displace_one();
        }
        self.waiting += 1;
        Ok(self.enqueue(client, false))
    }

    /// Takes a place before the client's other work.
    pub fn wait_to_resume(&mut self, client: &K) -> Place {
        self.enqueue(client, true)
    }

    /// Gives up a place; `false` if its wait has ended already.
    pub fn leave(&mut self, client: &K, id: u64) -> bool {
        let mut left = None;
        self.change(client, |work, _| left = work.remove(id));
        match left {
            Some(resumes) => self.waiting -= usize::from(!resumes),
            None => return false,
        }
        true
    }

    /// Gives back a permit, which goes to who is next.
    pub fn end(&mut self, client: &K) {
        self.running -= 1;
        self.change(client, |work, _| work.running -= 1);
        self.serve_waiting();
    }

    fn serve_waiting(&mut self) {
        while !self.is_busy()
            && let Some((&(running, ..), client)) = self.ranks.first_key_value()
            && running < self.bounds.one.running
        {
            let client = client.clone();
            let (services, mut first) = (self.count_service(&client), None);
            self.change(&client, |work, now| {
                first = work.queue.pop_front();
                work.waiting -= usize::from(first.as_ref().is_some_and(|it| !it.resumes));
                work.running += 1;
                (work.services, work.served_at) = (services, now);
            });
            let Some(Waiter { resumes, verdict, .. }) = first else { return };
            self.running += 1;
            self.waiting -= usize::from(!resumes);
            // Who has stopped waiting has left the queue before.
            let _ = verdict.send(Verdict::Served);
        }
    }

    fn enqueue(&mut self, client: &K, resumes: bool) -> Place {
        let (sender, verdict) = oneshot::channel();
        let mut id = 0;
        self.change(client, |work, now| {
            id = now;
            let waiter = Waiter { id, resumes, verdict: sender };
            if resumes {
                work.queue.push_front(waiter);
            } else {
                work.queue.push_back(waiter);
                work.waiting += 1;
            }
        });
        Place { id, verdict }
    }

    /// Ends the newest wait of the client with the most.
    fn displace_one(&mut self) {
        let Some(client) = self.heaviest().map(|(client, _)| client.clone()) else { return };
        let mut displaced = None;
        self.change(&client, |work, _| displaced = work.displace_newest());
        if let Some(verdict) = displaced {
            self.waiting -= 1;
            let _ = verdict.send(Verdict::Displaced);
        }
    }

    /// Changes the work of a client at the time `now`, and keeps what depends on it.
    fn change(&mut self, client: &K, change: impl FnOnce(&mut Work, u64)) {
        let now = self.next;
        self.next += 1;
        let (services, asks) = (self.services.of(client), self.asks.of(client));
        let new = || Work { services, asks, served_at: now, ..Work::default() };
        let work = self.clients.entry(client.clone()).or_insert_with(new);
        if let Some(rank) = &work.rank {
            self.ranks.remove(rank);
        }
        let (most, waited) = (self.bounds.one.waiting.max(1), work.waiting);
        change(work, now);
        self.sated = self.sated + usize::from(work.waiting >= most) - usize::from(waited >= most);
        if work.queue.is_empty() {
            work.rank = None;
            if work.running == 0 {
                self.clients.remove(client);
            }
        } else {
            let rank = (work.running, work.services, work.served_at);
            work.rank = Some(rank);
            self.ranks.insert(rank, client.clone());
        }
    }

    fn running_of(&self, client: &K) -> usize {
        self.clients.get(client).map_or(0, |work| work.running)
    }

    /// Whose newest work gives way.
    fn heaviest(&self) -> Option<(&K, &Work)> {
        self.clients.iter().max_by_key(|(_, work)| (work.waiting, work.asks))
    }

    /// Notes that a client asks, whether it is served or not.
    pub fn note_ask(&mut self, client: &K) {
        if self.asks.count(client) {
            self.recount();
        } else if let Some(work) = self.clients.get_mut(client) {
            work.asks = self.asks.of(client);
        }
    }

    /// Counts a service; returns how many it makes of late.
    fn count_service(&mut self, client: &K) -> u32 {
        if self.services.count(client) {
            self.recount();
        }
        self.services.of(client)
    }

    /// Ranks all clients by what counts now.
    fn recount(&mut self) {
        let clients: Vec<K> = self.clients.keys().cloned().collect();
        for client in clients {
            let (services, asks) = (self.services.of(&client), self.asks.of(&client));
            self.change(&client, |work, _| (work.services, work.asks) = (services, asks));
        }
    }
}

impl Work {
    /// Whether the removed one was to resume; `None` if it does not wait.
    fn remove(&mut self, id: u64) -> Option<bool> {
        let at = self.queue.iter().position(|waiter| waiter.id == id)?;
        let Waiter { resumes, .. } = self.queue.remove(at)?;
        self.waiting -= usize::from(!resumes);
        Some(resumes)
    }

    fn displace_newest(&mut self) -> Option<oneshot::Sender<Verdict>> {
        let at = self.queue.iter().rposition(|waiter| !waiter.resumes)?;
        self.waiting -= 1;
        self.queue.remove(at).map(|waiter| waiter.verdict)
    }
}

#[cfg(test)]
impl<K: Client> State<K> {
    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.ranks.is_empty() && (self.running, self.waiting, self.sated) == (0, 0, 0)
    }
}
