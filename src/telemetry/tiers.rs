//! Counts readers whose inboxes change their tier.

use super::metrics::TIER_CHANGES;

/// Where a reader's inbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderTier {
    /// In a store outside SQL.
    Outside,
    /// In SQL.
    Sql,
    /// Nowhere: deliveries pass over the reader, whose pages are pulled.
    Nowhere,
}

impl ReaderTier {
    const fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Sql => "sql",
            Self::Nowhere => "none",
        }
    }
}

/// Counts readers who have moved from one tier to another.
pub fn note_tier_change(from: ReaderTier, to: ReaderTier, readers: u64) {
    metrics::counter!(TIER_CHANGES, "from" => from.name(), "to" => to.name()).increment(readers);
}
