//! Models the outbox cache, with everything that can happen to one in Redis.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{Entry, Position, UserId},
    store::{
        OutboxCache, StoreError,
        contents::{OutboxHead, VersionChange},
        outbox_cache::{CachedOutbox, OutboxChange},
    },
};

use super::{Late, Way};
use crate::{primary_store::PrimaryStore, rules::Rule};

type Outboxes = BTreeMap<UserId, CachedOutbox>;

/// See the module.
pub struct SimCache {
    primary_store: PrimaryStore,
    capacity: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    outboxes: Outboxes,
    late: Late<Write>,
    dump: Outboxes,
}

#[derive(Debug, Clone)]
enum Write {
    Change(UserId, VersionChange, OutboxChange),
    Fill(CachedOutbox, UserId),
}

impl SimCache {
    pub fn new(primary_store: PrimaryStore, capacity: usize) -> Self {
        Self { primary_store, capacity, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for write in inner.late.come(self.primary_store.injector.now()) {
            self.make(&mut inner.outboxes, write);
        }
        inner
    }

    /// Keeps what is there, so that it may come back.
    pub fn dump(&self) {
        let mut inner = self.inner();
        inner.dump = inner.outboxes.clone();
    }

    /// Empty, or as it was when it was last dumped.
    pub fn restart(&self, empty: bool) {
        self.primary_store.injector.note(|| format!("the cache restarts, empty: {empty}"));
        let mut inner = self.inner();
        inner.outboxes = if empty { Outboxes::new() } else { inner.dump.clone() };
    }

    fn is_away(&self) -> Result<(), StoreError> {
        let injector = &self.primary_store.injector;
        match injector.injects(injector.rates().cache_away) {
            true => Err(StoreError::Unavailable("the simulated cache is away".into())),
            false => Ok(()),
        }
    }

    async fn write(&self, write: Write) -> Result<(), StoreError> {
        let injector = &self.primary_store.injector;
        injector.switch().await;
        self.is_away()?;
        let way = Way::of(injector, injector.rates().cache_write);
        let mut inner = self.inner();
        match way {
            Way::Lost => injector.note(|| format!("    lost: {write:?}")),
            Way::Once => self.make(&mut inner.outboxes, write),
            Way::Twice => (0..2).for_each(|_| self.make(&mut inner.outboxes, write.clone())),
            Way::Late(at) => inner.late.add(at, write),
        }
        Ok(())
    }

    fn make(&self, outboxes: &mut Outboxes, write: Write) {
        self.primary_store.injector.note(|| format!("    cache: {write:?}"));
        match write {
            Write::Fill(outbox, author) => drop(outboxes.insert(author, outbox)),
            Write::Change(author, versions, change) => {
                let Some(cached) = outboxes.remove(&author) else { return };
                let any = self.primary_store.breaks(Rule::AnyChangeIsApplied);
                if cached.version == versions.after && !any {
                    outboxes.insert(author, cached);
                } else if cached.version == versions.before || any {
                    outboxes.insert(author, changed(cached, versions.after, change, self.capacity));
                }
            }
        }
    }

    /// What the cache reports of an outbox; more than is true, if a rule is broken.
    fn reported(&self, author: UserId, outbox: CachedOutbox) -> CachedOutbox {
        let base = self.primary_store.base();
        let current = base.tables.version(author);
        let version = if self.primary_store.breaks(Rule::AnyVersionIsBelieved) { current } else { outbox.version };
        let all = self.primary_store.breaks(Rule::CutCacheClaimsAll);
        let complete_from = if all { Position::OLDEST } else { outbox.complete_from };
        CachedOutbox { version, complete_from, ..outbox }
    }
}

fn changed(mut cached: CachedOutbox, version: i64, change: OutboxChange, capacity: usize) -> CachedOutbox {
    cached.version = version;
    match change {
        OutboxChange::Removed(gone) => cached.entries.retain(|entry| entry.content != gone.content),
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

#[async_trait]
impl OutboxCache for SimCache {
    async fn apply(&self, author: UserId, versions: VersionChange, change: OutboxChange) -> Result<(), StoreError> {
        self.write(Write::Change(author, versions, change)).await
    }

    async fn fetch(&self, authors: &[UserId]) -> Result<Vec<Option<CachedOutbox>>, StoreError> {
        self.primary_store.injector.switch().await;
        self.is_away()?;
        let mut found = Vec::with_capacity(authors.len());
        for author in authors {
            let cached = self.inner().outboxes.get(author).cloned();
            found.push(cached.map(|outbox| self.reported(*author, outbox)));
        }
        self.primary_store.injector.switch().await;
        Ok(found)
    }

    async fn fill(&self, heads: &[OutboxHead]) -> Result<(), StoreError> {
        for head in heads {
            self.write(Write::Fill(CachedOutbox::of_head(head, self.capacity), head.author)).await?;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
