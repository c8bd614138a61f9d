//! Cached outboxes within one process: a bounded map, and the pure rule of what a change does to what is cached.

use async_trait::async_trait;
use moka::{future::Cache, ops::compute::Op};

use crate::{
    domain::{Entry, Position, UserId},
    store::{
        OutboxCache, StoreError,
        contents::{OutboxHead, VersionChange},
        outbox_cache::{CachedOutbox, OutboxChange},
    },
};

/// Outboxes of the authors that are pulled most.
#[derive(Debug)]
pub struct MemoryOutboxCache {
    outboxes: Cache<UserId, CachedOutbox>,
    capacity: usize,
}

impl MemoryOutboxCache {
    /// At most `authors` outboxes (beyond that, little-used ones go) of at most `capacity` entries each.
    pub fn new(authors: u64, capacity: usize) -> Self {
        Self { outboxes: Cache::new(authors), capacity }
    }
}

#[async_trait]
impl OutboxCache for MemoryOutboxCache {
    async fn apply(&self, author: UserId, versions: VersionChange, change: OutboxChange) -> Result<(), StoreError> {
        let entry = self.outboxes.entry(author);
        entry
            .and_compute_with(|cached| {
                std::future::ready(
                    cached.map_or(Op::Nop, |cached| operation(cached.into_value(), versions, change, self.capacity)),
                )
            })
            .await;
        Ok(())
    }

    async fn fetch(&self, authors: &[UserId]) -> Result<Vec<Option<CachedOutbox>>, StoreError> {
        let mut found = Vec::with_capacity(authors.len());
        for author in authors {
            found.push(self.outboxes.get(author).await);
        }
        Ok(found)
    }

    async fn fill(&self, heads: &[OutboxHead]) -> Result<(), StoreError> {
        for head in heads {
            self.outboxes.insert(head.author, CachedOutbox::of_head(head, self.capacity)).await;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

fn operation(cached: CachedOutbox, versions: VersionChange, change: OutboxChange, capacity: usize) -> Op<CachedOutbox> {
    if cached.version == versions.before {
        Op::Put(changed(CachedOutbox { version: versions.after, ..cached }, change, capacity))
    } else if cached.version == versions.after {
        Op::Nop
    } else {
        Op::Remove
    }
}

/// `cached` with the change made to its entries.
fn changed(mut cached: CachedOutbox, change: OutboxChange, capacity: usize) -> CachedOutbox {
    match change {
        OutboxChange::Removed(gone) => cached.entries.retain(|entry| entry.content != gone.content),
        // Below the complete part something newer may be missing already.
        OutboxChange::Published(new) if new.position() < cached.complete_from => {}
        OutboxChange::Published(new) => {
            let place = cached.entries.partition_point(|entry| entry.position() > new.position());
            cached.entries.insert(place, new);
        }
    }
    if cached.entries.len() > capacity {
        cached.entries.truncate(capacity);
        cached.complete_from = cached.entries.last().map_or(Position::NEWEST, Entry::position);
    }
    cached
}
