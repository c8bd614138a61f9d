//! Counts the memory that running subscriptions keep: their requests, and their operations. Equal subscriptions share
//! an operation. It has room of its own: what lasts would keep out bodies, which come and go.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use crate::{
    guard::{OperationId, Prepared},
    memory::{Clients, Hold, Ledger, NoRoom},
};

type Known = Mutex<HashMap<OperationId, Weak<KeptOperation>>>;

/// The operations that are kept now.
#[derive(Debug)]
pub(super) struct KeptOperations {
    ledger: Ledger,
    known: Arc<Known>,
}

/// An operation that is counted until the last subscription drops this.
#[derive(Debug)]
pub(super) struct KeptOperation {
    id: OperationId,
    known: Arc<Known>,
    _hold: Hold,
}

impl KeptOperations {
    /// `ledger`: counts them.
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger, known: Arc::default() }
    }

    /// Keeps `operation`. If nobody does yet, its memory counts for `clients`.
    pub(super) fn keep(&self, operation: &Prepared, clients: Clients) -> Result<Arc<KeptOperation>, NoRoom> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.get(&operation.id()).and_then(Weak::upgrade) {
            return Ok(kept);
        }
        let mut hold = self.ledger.open(clients);
        hold.grow_to(operation.bytes())?;
        let kept = KeptOperation { id: operation.id(), known: Arc::clone(&self.known), _hold: hold };
        let kept = Arc::new(kept);
        known.insert(operation.id(), Arc::downgrade(&kept));
        Ok(kept)
    }

    /// Keeps `bytes` of a request until the hold is dropped.
    pub(super) fn hold(&self, bytes: usize, clients: Clients) -> Result<Hold, NoRoom> {
        let mut hold = self.ledger.open(clients);
        hold.grow_to(bytes)?;
        Ok(hold)
    }
}

impl Drop for KeptOperation {
    fn drop(&mut self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may keep it again by now.
        if known.get(&self.id).is_some_and(|kept| kept.strong_count() == 0) {
            known.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::Variables;

    use super::*;
    use crate::{
        guard::{Guard, GuardLimits, Shape},
        measurements::MetricNames,
        memory::LedgerLimits,
        payer::Payer,
    };

    const ANN: Clients = [Some(Payer::Viewer(1)), None];
    const BOB: Clients = [Some(Payer::Viewer(2)), None];

    fn prepared(query: &str) -> Arc<Prepared> {
        let guard = Guard::new(GuardLimits::default(), Shape::of_sdl("type Query { a: Int }").unwrap());
        guard.admit(&guard.open(query).unwrap(), None, &mut Variables::default()).unwrap().operation
    }

    #[test]
    fn an_operation_counts_once_for_who_keeps_it_first() {
        let long = prepared(&format!("{{ {} }}", "a ".repeat(1_000)));
        assert!((200_000..1_000_000).contains(&long.bytes()), "{}", long.bytes());
        let limits = LedgerLimits { node: 0, client: long.bytes() + 1_000 };
        let ledger = Ledger::new("tests", LedgerLimits { node: usize::MAX, ..limits }, MetricNames::default());
        let kept = KeptOperations::new(ledger.clone());
        let first = kept.keep(&long, ANN).unwrap();
        let second = kept.keep(&long, BOB).unwrap();
        assert_eq!(ledger.total(), long.bytes());
        let other = prepared(&format!("{{ {} }}", "a ".repeat(900)));
        assert_eq!(kept.keep(&other, ANN).unwrap_err(), NoRoom::Client);
        let others = kept.keep(&other, BOB).unwrap();
        drop(first);
        assert_eq!(ledger.total(), long.bytes() + other.bytes(), "the other still keeps it");
        drop((second, others));
        assert_eq!((ledger.total(), kept.known.lock().unwrap().len()), (0, 0));
    }
}
