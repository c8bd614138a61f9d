//! Counts the bytes that the node holds for clients, against one bound for the node and one for each client. Heads,
//! requests and unsent answers have a ledger each.
//!
//! If the node's bound is reached, what is unfinished of a client with more gives way to another client's: a few
//! clients that never finish what they send do not keep out all others. What cannot give way is bounded by what is left
//! ([`Ledger::in_parts`]).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::body::Bytes;
use metrics::Gauge;
use tokio_util::sync::CancellationToken;

use crate::{measurements::MetricNames, payer::Payer};

/// Bounds of a [`Ledger`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerLimits {
    /// Bytes held for all clients together.
    pub node: usize,
    /// Bytes held for one client; 0 for no limit.
    pub client: usize,
}

/// Whose limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// The node's: all clients are refused.
    #[error("this node holds as many bytes for clients as it may")]
    Node,
    /// The client's: other clients may still have room.
    #[error("this node holds as many bytes for this client as it may")]
    Client,
}

/// The clients that bytes are counted for, such as the address and the viewer.
pub type Clients = [Option<Payer>; 2];

/// Counts the bytes held, in all and for each client. Forgets a client that holds none. Clones share the counts.
#[derive(Debug, Clone)]
pub struct Ledger(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What it counts, as a label of the metrics.
    what: &'static str,
    limits: LedgerLimits,
    /// How many times as much as a client holds has to be left for others.
    left: usize,
    metrics: MetricNames,
    held: Mutex<Held>,
    /// Shows the bytes held.
    gauge: OnceLock<Gauge>,
}

#[derive(Debug, Default)]
struct Held {
    total: usize,
    of: HashMap<Payer, usize>,
    /// What is unfinished and holds bytes, by a number that is used once.
    unfinished: HashMap<u64, Unfinished>,
    next: u64,
}

/// Bytes of something that is not complete, which can be cut off.
#[derive(Debug)]
struct Unfinished {
    clients: Clients,
    bytes: usize,
    cut: CancellationToken,
}

/// Bytes of one thing, held until it is dropped.
#[derive(Debug)]
pub struct Hold {
    ledger: Ledger,
    clients: Clients,
    bytes: usize,
    /// Its number among what is unfinished, and what says that it is cut off; `None` if it is complete.
    unfinished: Option<(u64, CancellationToken)>,
}

impl Ledger {
    /// An empty ledger. `what`: the label of its metrics, named by `metrics`.
    pub fn new(what: &'static str, limits: LedgerLimits, metrics: MetricNames) -> Self {
        Self::leaving(0, what, limits, metrics)
    }

    /// An empty ledger in which a client may hold only a part of what is left, the same part for all: as much as its
    /// own bound while it is alone, and less the more others hold. So there is room for one more client, however many
    /// take as much as they can.
    pub fn in_parts(what: &'static str, limits: LedgerLimits, metrics: MetricNames) -> Self {
        let parts = limits.node.checked_div(limits.client).unwrap_or(1);
        Self::leaving(parts.saturating_sub(1), what, limits, metrics)
    }

    fn leaving(left: usize, what: &'static str, limits: LedgerLimits, metrics: MetricNames) -> Self {
        let client = if limits.client == 0 { usize::MAX } else { limits.client };
        let limits = LedgerLimits { client, ..limits };
        Self(Arc::new(Inner { what, limits, left, metrics, held: Mutex::default(), gauge: OnceLock::new() }))
    }

    /// An empty hold.
    pub fn open(&self, clients: Clients) -> Hold {
        Hold { ledger: self.clone(), clients, bytes: 0, unfinished: None }
    }

    /// An empty hold for something unfinished, until [`Hold::finish`]. The reader of it has to end when the token is
    /// cancelled: its bytes are not counted from then on.
    pub fn open_unfinished(&self, clients: Clients) -> (Hold, CancellationToken) {
        let cut = CancellationToken::new();
        let mut held = self.held();
        let id = held.next;
        held.next += 1;
        drop(held);
        (Hold { ledger: self.clone(), clients, bytes: 0, unfinished: Some((id, cut.clone())) }, cut)
    }

    /// Bytes held for all clients.
    pub fn total(&self) -> usize {
        self.held().total
    }

    #[expect(clippy::cast_precision_loss, reason = "a measurement; bytes of a node have fewer than 53 bits")]
    fn measure(&self, held: MutexGuard<'_, Held>) {
        let Inner { metrics, what, gauge, .. } = &*self.0;
        gauge.get_or_init(|| metrics::gauge!(metrics.held_bytes, "what" => *what)).set(held.total as f64);
        drop(held);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `bound`: the node's, the client's, or what had to give way.
    fn count_refusal(&self, bound: &'static str) {
        let Inner { what, metrics, .. } = &*self.0;
        metrics::counter!(metrics.held_bytes_refused, "what" => *what, "bound" => bound).increment(1);
    }

    fn refusal(&self, held: &Held, clients: Clients, more: usize) -> Option<NoRoom> {
        let Inner { limits, left, .. } = &*self.0;
        let of = clients.iter().flatten().filter_map(|client| held.of.get(client)).copied().max().unwrap_or(0);
        let with_more = of.saturating_add(more);
        if with_more > limits.client && clients.iter().any(Option::is_some) {
            return Some(NoRoom::Client);
        }
        let for_others = with_more.saturating_mul(*left);
        (held.total.saturating_add(more).saturating_add(for_others) > limits.node).then_some(NoRoom::Node)
    }
}

impl Hold {
    /// Grows to at least this many bytes if the limits allow it; otherwise holds as many as before.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), NoRoom> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let ledger = self.ledger.clone();
        let mut held = ledger.held();
        if self.is_cut() {
            return Err(NoRoom::Client);
        }
        let more = bytes - self.bytes;
        while let Some(no_room) = ledger.refusal(&held, self.clients, more) {
            if no_room == NoRoom::Client || !held.cut_off_heavier(self.clients, more) {
                ledger.count_refusal(if no_room == NoRoom::Node { "node" } else { "client" });
                return Err(no_room);
            }
            ledger.count_refusal("cut");
        }
        self.change(&mut held, bytes);
        ledger.measure(held);
        Ok(())
    }

    /// Marks it as complete: it is not cut off any more. `Err`: it was.
    pub fn finish(&mut self) -> Result<(), NoRoom> {
        let mut held = self.ledger.held();
        if self.is_cut() {
            return Err(NoRoom::Client);
        }
        if let Some((id, _)) = self.unfinished.take() {
            held.unfinished.remove(&id);
        }
        Ok(())
    }

    /// Whether it was unfinished and had to give way. To be asked under the lock.
    fn is_cut(&self) -> bool {
        self.unfinished.as_ref().is_some_and(|(_, cut)| cut.is_cancelled())
    }

    fn change(&mut self, held: &mut Held, bytes: usize) {
        held.change(self.clients, self.bytes, bytes);
        self.bytes = bytes;
        let Some((id, cut)) = &self.unfinished else { return };
        if bytes == 0 {
            held.unfinished.remove(id);
        } else {
            held.unfinished.insert(*id, Unfinished { clients: self.clients, bytes, cut: cut.clone() });
        }
    }

    /// Holds exactly this many bytes, which exist already, even beyond the limits.
    pub fn settle(&mut self, bytes: usize) {
        if bytes != self.bytes {
            let ledger = self.ledger.clone();
            let mut held = ledger.held();
            if self.is_cut() {
                (self.bytes, self.unfinished) = (0, None);
            }
            self.change(&mut held, bytes);
            ledger.measure(held);
        }
    }

    /// Moves everything it holds into a new hold.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let nothing = self.ledger.open(self.clients);
        std::mem::replace(self, nothing)
    }

    /// The number of bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// `owner`'s bytes, held until the last of them is sent or dropped.
    pub fn over(mut self, mut owner: Vec<u8>) -> Bytes {
        struct Owner {
            bytes: Vec<u8>,
            _hold: Hold,
        }
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &self.bytes
            }
        }
        owner.shrink_to_fit();
        self.settle(owner.len());
        Bytes::from_owner(Owner { bytes: owner, _hold: self })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.settle(0);
    }
}

impl Held {
    /// Cuts off something unfinished of the client that holds most, if it holds more than these would.
    fn cut_off_heavier(&mut self, clients: Clients, more: usize) -> bool {
        let all_of = |clients: &Clients| {
            clients.iter().flatten().filter_map(|client| self.of.get(client)).copied().max().unwrap_or(0)
        };
        let own = all_of(&clients).saturating_add(more);
        let heaviest = self.unfinished.iter().map(|(id, it)| (all_of(&it.clients), it.bytes, *id)).max();
        let Some((_, _, id)) = heaviest.filter(|(all, ..)| *all > own) else { return false };
        if let Some(Unfinished { clients, bytes, cut }) = self.unfinished.remove(&id) {
            self.change(clients, bytes, 0);
            cut.cancel();
        }
        true
    }

    fn change(&mut self, clients: Clients, from: usize, to: usize) {
        self.total = self.total - from + to;
        for client in clients.into_iter().flatten() {
            let of = self.of.entry(client).or_default();
            *of = *of - from + to;
            if *of == 0 {
                self.of.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LedgerLimits = LedgerLimits { node: 100, client: 60 };
    const ANN: Option<Payer> = Some(Payer::Viewer(1));
    const BOB: Option<Payer> = Some(Payer::Viewer(2));
    const ADDRESS_OF_ANN: Option<Payer> = Some(Payer::Unknown);

    #[test]
    fn bytes_are_bounded_per_client_and_per_node_and_given_back() {
        let ledger = Ledger::new("tests", LIMITS, MetricNames::default());
        let mut ann = ledger.open([ANN, ADDRESS_OF_ANN]);
        assert_eq!((ann.grow_to(60), ann.grow_to(61)), (Ok(()), Err(NoRoom::Client)));
        let mut neighbour = ledger.open([ADDRESS_OF_ANN, None]);
        assert_eq!(neighbour.grow_to(1), Err(NoRoom::Client), "her address is full with her");
        let mut bob = ledger.open([BOB, None]);
        assert_eq!((bob.grow_to(40), bob.grow_to(41)), (Ok(()), Err(NoRoom::Node)));
        ann.settle(10);
        assert_eq!((bob.grow_to(60), ledger.total()), (Ok(()), 70));
        drop((ann, bob, neighbour));
        assert_eq!(ledger.total(), 0);
        assert!(ledger.held().of.is_empty(), "nobody is remembered");
    }

    #[test]
    fn what_is_unfinished_of_who_holds_most_gives_way() {
        let ledger = Ledger::new("tests", LedgerLimits { node: 100, client: 50 }, MetricNames::default());
        let [(mut small, _), (mut large, cut), (mut complete, _)] = [20, 30, 50].map(|bytes| {
            let (mut hold, cut) = ledger.open_unfinished([if bytes == 50 { BOB } else { ANN }, None]);
            assert_eq!(hold.grow_to(bytes), Ok(()));
            (hold, cut)
        });
        assert_eq!(complete.finish(), Ok(()));
        let mut other = ledger.open([ADDRESS_OF_ANN, None]);
        assert_eq!((other.grow_to(25), cut.is_cancelled(), ledger.total()), (Ok(()), true, 95));
        assert_eq!((large.grow_to(31), large.finish()), (Err(NoRoom::Client), Err(NoRoom::Client)));
        assert_eq!((small.finish(), ledger.total()), (Ok(()), 95), "it was complete in time");
        assert_eq!(other.grow_to(31), Err(NoRoom::Node), "nothing is unfinished");
        drop(large);
        assert_eq!(ledger.total(), 95);
        drop((small, complete, other));
        assert!(ledger.total() == 0 && ledger.held().of.is_empty() && ledger.held().unfinished.is_empty());
    }

    #[test]
    fn who_holds_most_cuts_off_nobody() {
        let ledger = Ledger::new("tests", LedgerLimits { node: 100, client: 100 }, MetricNames::default());
        let (mut ann, cut) = ledger.open_unfinished([ANN, None]);
        let (mut bob, _) = ledger.open_unfinished([BOB, None]);
        assert_eq!((ann.grow_to(40), bob.grow_to(60)), (Ok(()), Ok(())));
        assert_eq!((bob.grow_to(61), cut.is_cancelled()), (Err(NoRoom::Node), false));
        assert_eq!(ann.grow_to(41), Ok(()), "Bob gives way");
    }

    #[test]
    fn bytes_already_received_count_beyond_the_bounds() {
        let ledger = Ledger::new("tests", LIMITS, MetricNames::default());
        let mut ann = ledger.open([ANN, None]);
        ann.settle(1_000);
        assert_eq!((ledger.total(), ledger.open([BOB, None]).grow_to(1)), (1_000, Err(NoRoom::Node)));
        drop(ann);
        assert_eq!(ledger.total(), 0);
    }

    #[test]
    fn in_parts_a_client_leaves_as_much_as_it_takes() {
        let limits = LedgerLimits { node: 120, client: 60 };
        let ledger = Ledger::in_parts("tests", limits, MetricNames::default());
        let mut ann = ledger.open([ANN, None]);
        assert_eq!((ann.grow_to(61), ann.grow_to(60)), (Err(NoRoom::Client), Ok(())));
        let mut bob = ledger.open([BOB, None]);
        assert_eq!((bob.grow_to(31), bob.grow_to(30)), (Err(NoRoom::Node), Ok(())));
        assert_eq!(ledger.open([BOB, None]).grow_to(1), Err(NoRoom::Node), "all that he holds counts");
        let mut other = ledger.open([ADDRESS_OF_ANN, None]);
        assert_eq!((other.grow_to(16), other.grow_to(15)), (Err(NoRoom::Node), Ok(())));
        drop(ann);
        assert_eq!(bob.grow_to(52), Ok(()));
        for client in [0, 61] {
            let ledger = Ledger::in_parts("tests", LedgerLimits { client, ..limits }, MetricNames::default());
            let (mut ann, mut bob) = (ledger.open([ANN, None]), ledger.open([BOB, None]));
            assert_eq!((ann.grow_to(61), bob.grow_to(59)), (Ok(()), Ok(())), "a client may have more than half");
        }
    }

    #[test]
    fn without_a_bound_of_its_own_a_client_may_have_all() {
        let ledger = Ledger::new("tests", LedgerLimits { client: 0, ..LIMITS }, MetricNames::default());
        assert_eq!(ledger.open([ANN, None]).grow_to(100), Ok(()));
    }

    #[test]
    fn bytes_handed_over_are_counted_once_until_the_last_is_dropped() {
        let ledger = Ledger::new("tests", LIMITS, MetricNames::default());
        let mut first = ledger.open([ANN, None]);
        assert_eq!(first.grow_to(50), Ok(()));
        let sent = first.take().over(vec![0; 30]);
        drop(first);
        let rest = sent.slice(29..);
        drop(sent);
        assert_eq!(ledger.total(), 30);
        drop(rest);
        assert_eq!(ledger.total(), 0);
    }
}
