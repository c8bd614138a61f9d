//! Inboxes outside SQL, behind the port [`crate::store::InboxTier`]: rows are written and claimed between transactions
//! of SQL. docs/protocol.md#outside has the rules.

mod bucket_keeper;
mod builder;
mod commands;
mod departures;
mod outside;
mod writing;

use std::sync::Arc;

use crate::store::{InboxStore, OutsideStates};

pub use commands::{move_all, renew_tokens};
pub use departures::MOVED_AT_ONCE;
pub use outside::OutsideTier;

/// Both sides of inboxes outside SQL, and how much each keeps.
#[derive(Clone)]
pub struct OutsideStores {
    /// The inboxes.
    pub inboxes: Arc<dyn InboxStore>,
    /// What SQL says of them, through the connections of deliveries.
    pub states: Arc<dyn OutsideStates>,
    /// Rows that an inbox keeps.
    pub keep: u32,
    /// Readers who were not seen for so long, in ms, have their inboxes in SQL again.
    pub active_ms: i64,
    /// Inboxes that a node builds at once.
    pub builds_at_once: usize,
}

impl OutsideStores {
    /// As [`Self::keep`], to count with.
    pub fn rows_kept(&self) -> usize {
        usize::try_from(self.keep.max(1)).unwrap_or(usize::MAX)
    }
}
