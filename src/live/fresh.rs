//! Batches of new entries on their way to subscribers. What is loaded to show a batch is shared by all of them.

use std::sync::Arc;

use crate::domain::Entry;

/// Entries that travel together: those of one announcement, to all subscribers; or those of one catch-up, to its own.
///
/// `S` is what whoever shows them shares between subscribers; it begins empty.
#[derive(Debug)]
pub struct Batch<S> {
    entries: Vec<Entry>,
    shared: Arc<S>,
}

impl<S: Default> Batch<S> {
    /// Nothing of `entries` has been shown to anybody.
    pub fn of(entries: Vec<Entry>) -> Arc<Self> {
        Arc::new(Self { entries, shared: Arc::default() })
    }
}

impl<S> Batch<S> {
    /// All of them; they can be loaded together.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same for every subscriber to whom this batch is shown.
    pub const fn shared(&self) -> &Arc<S> {
        &self.shared
    }
}
