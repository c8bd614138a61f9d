//! Batches of new entries for subscribers. Subscribers share what is loaded to show a batch.

use std::sync::Arc;

use crate::domain::Entry;

/// Entries that are sent together: one announcement's to all subscribers, or one catch-up's to its own subscriber.
///
/// `S` holds what the API loads for the entries, shared by all subscribers; it begins empty.
#[derive(Debug)]
pub struct Batch<S> {
    entries: Vec<Entry>,
    shared: Arc<S>,
}

impl<S: Default> Batch<S> {
    /// A batch that has loaded nothing yet.
    pub fn of(entries: Vec<Entry>) -> Arc<Self> {
        Arc::new(Self { entries, shared: Arc::default() })
    }
}

impl<S> Batch<S> {
    /// All entries; they can be loaded together.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What has been loaded for this batch, the same for every subscriber.
    pub const fn shared(&self) -> &Arc<S> {
        &self.shared
    }
}
