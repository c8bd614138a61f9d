//! Cached outboxes within one process: a bounded map, and the pure rule of what a change does to what is cached.

use async_trait::async_trait;
use quick_cache::{
    UnitWeighter,
    sync::{Cache, EntryAction},
};

use crate::{
    domain::{Entry, Position, UserId},
    store::{
        OutboxCache, StoreError,
        contents::{OutboxHead, VersionChange},
        outbox_cache::{CachedOutbox, OutboxChange},
    },
};

/// Initial capacity; the memory grows as needed.
const EXPECTED_AUTHORS: usize = 1_000;

/// Outboxes of the authors that are pulled most.
#[derive(Debug)]
pub struct MemoryOutboxCache {
    outboxes: Cache<UserId, CachedOutbox>,
    capacity: usize,
}

impl MemoryOutboxCache {
    /// At most `authors` outboxes (beyond that, little-used ones go) of at most `capacity` entries each.
    pub fn new(authors: u64, capacity: usize) -> Self {
        Self { outboxes: Cache::with_weighter(EXPECTED_AUTHORS, authors, UnitWeighter), capacity }
    }
}

#[async_trait]
impl OutboxCache for MemoryOutboxCache {
    async fn apply(&self, author: UserId, versions: VersionChange, change: OutboxChange) -> Result<(), StoreError> {
        let _ = self.outboxes.entry(&author, None, |_, cached| {
            if update(cached, versions, change, self.capacity) { EntryAction::Retain(()) } else { EntryAction::Remove }
        });
        Ok(())
    }

    async fn fetch(&self, authors: &[UserId]) -> Result<Vec<Option<CachedOutbox>>, StoreError> {
        Ok(authors.iter().map(|author| self.outboxes.get(author)).collect())
    }

    async fn fill(&self, heads: &[OutboxHead]) -> Result<(), StoreError> {
        for head in heads {
            self.outboxes.insert(head.author, CachedOutbox::of_head(head, self.capacity));
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Brings the outbox from one version to the next; false if it is neither of them and must go.
fn update(cached: &mut CachedOutbox, versions: VersionChange, change: OutboxChange, capacity: usize) -> bool {
    if cached.version == versions.before {
        cached.version = versions.after;
        apply(cached, change, capacity);
        return true;
    }
    cached.version == versions.after
}

fn apply(cached: &mut CachedOutbox, change: OutboxChange, capacity: usize) {
    match change {
        OutboxChange::Removed(gone) => cached.entries.retain(|entry| entry.content != gone.content),
        // Below the complete part something newer may be missing already.
        OutboxChange::Published(new) if new.position() < cached.complete_from => {}
        OutboxChange::Published(new) => {
            let index = cached.entries.partition_point(|entry| entry.position() > new.position());
            cached.entries.insert(index, new);
        }
    }
    if cached.entries.len() > capacity {
        cached.entries.truncate(capacity);
        cached.complete_from = cached.entries.last().map_or(Position::NEWEST, Entry::position);
    }
}
