//! Cached outboxes of pulled authors, an optimisation. A page trusts one only at exactly the version that SQL named in
//! the same read. So lost, repeated, reordered or restored changes never show, nor do commits that SQL has lost.

use async_trait::async_trait;

use super::{
    StoreError,
    contents::{OutboxHead, VersionChange},
};
use crate::domain::{Entry, Position, UserId};

/// A change of an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxChange {
    /// The entry was added.
    Published(Entry),
    /// The entry was removed.
    Removed(Entry),
}

impl OutboxChange {
    /// The added or removed entry.
    pub const fn entry(&self) -> &Entry {
        match self {
            Self::Published(entry) | Self::Removed(entry) => entry,
        }
    }
}

/// A cached outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedOutbox {
    /// The version at which it is true.
    pub version: i64,
    /// Newest first, ties by id.
    pub entries: Vec<Entry>,
    /// No entry at or above this position is missing; [`Position::OLDEST`] for a whole outbox.
    pub complete_from: Position,
}

impl CachedOutbox {
    /// Keeps the newest `capacity` entries of a head. They are complete from the oldest one on, or from the beginning
    /// if there are no older ones.
    pub fn of_head(head: &OutboxHead, capacity: usize) -> Self {
        let entries: Vec<Entry> = head.entries.iter().take(capacity).copied().collect();
        let everything = head.whole && entries.len() == head.entries.len();
        let oldest_kept = entries.last().map_or(Position::NEWEST, Entry::position);
        let complete_from = if everything { Position::OLDEST } else { oldest_kept };
        Self { version: head.version, entries, complete_from }
    }
}

/// The outbox cache. Callers treat every error as a miss.
#[async_trait]
pub trait OutboxCache: Send + Sync {
    /// Applies a change atomically. If the cached version is the one before the change, applies it and keeps the
    /// newest C entries; if it is the one after it, does nothing; otherwise evicts the outbox. Outboxes that are not
    /// cached stay so.
    async fn apply(&self, author: UserId, versions: VersionChange, change: OutboxChange) -> Result<(), StoreError>;

    /// The cached outboxes of `authors` in the same order, `None` for misses, in one round (one pipeline for each
    /// cluster node).
    async fn fetch(&self, authors: &[UserId]) -> Result<Vec<Option<CachedOutbox>>, StoreError>;

    /// Replaces cached outboxes.
    async fn fill(&self, heads: &[OutboxHead]) -> Result<(), StoreError>;

    /// C: the most entries kept of each outbox.
    fn capacity(&self) -> usize;
}
