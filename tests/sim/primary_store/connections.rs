//! Keeps a node's broken connections: the store has ended their transaction by itself, and the driver still counts it
//! as open. A transaction on such a connection begins inside one that is never committed. A node keeps them only if
//! a rule is broken; otherwise it closes them.

use std::sync::{Arc, Mutex, PoisonError};

use super::tables::Change;

/// What one node has of them.
#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<Vec<Outer>>>);

/// A transaction that stays open on a connection: its changes, and the number under which it holds locks.
pub struct Outer {
    pub number: u64,
    pub changes: Vec<Change>,
}

impl Connections {
    pub fn keep(&self, outer: Outer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(outer);
    }

    /// Takes an open transaction for the next caller that begins one.
    pub fn take(&self) -> Option<Outer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
