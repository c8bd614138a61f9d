//! Cached outboxes of authors that are pulled: a pure optimisation. What it says is believed only at exactly the
//! version that SQL named in the same read, so that lost, repeated, reordered or restored changes cannot show, nor
//! commits that SQL lost.

use async_trait::async_trait;

use super::{
    StoreError,
    contents::{OutboxHead, VersionChange},
};
use crate::domain::{Entry, Position, UserId};

/// What happened to an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxChange {
    /// The entry came.
    Published(Entry),
    /// The entry went.
    Removed(Entry),
}

impl OutboxChange {
    /// What came or went.
    pub const fn entry(&self) -> &Entry {
        match self {
            Self::Published(entry) | Self::Removed(entry) => entry,
        }
    }
}

/// A cached outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedOutbox {
    /// What it is true at.
    pub version: i64,
    /// Newest first, ties by id.
    pub entries: Vec<Entry>,
    /// No entry at or above this position is missing; [`Position::OLDEST`] if the outbox is whole.
    pub complete_from: Position,
}

impl CachedOutbox {
    /// What a cache of `capacity` entries keeps of a head: its newest, complete from the oldest that is kept, or from
    /// the beginning if nothing older exists.
    pub fn of_head(head: &OutboxHead, capacity: usize) -> Self {
        let entries: Vec<Entry> = head.entries.iter().take(capacity).copied().collect();
        let everything = head.whole && entries.len() == head.entries.len();
        let oldest_kept = entries.last().map_or(Position::NEWEST, Entry::position);
        let complete_from = if everything { Position::OLDEST } else { oldest_kept };
        Self { version: head.version, entries, complete_from }
    }
}

/// The outbox cache. Never the truth: every failure here is a miss.
#[async_trait]
pub trait OutboxCache: Send + Sync {
    /// Applies a change, atomically: if the cached version is the one before it, the change is applied, the newest C
    /// entries stay and `complete_from` rises; if it is the one after it, nothing; else the author is evicted. Authors
    /// that are not cached stay so.
    async fn apply(&self, author: UserId, versions: VersionChange, change: OutboxChange) -> Result<(), StoreError>;

    /// What is cached of `authors`, in one round (one pipeline per cluster node); `None` where nothing is. Same order.
    async fn fetch(&self, authors: &[UserId]) -> Result<Vec<Option<CachedOutbox>>, StoreError>;

    /// Replaces what is cached.
    async fn fill(&self, heads: &[OutboxHead]) -> Result<(), StoreError>;

    /// C: entries kept of each outbox.
    fn capacity(&self) -> usize;
}
