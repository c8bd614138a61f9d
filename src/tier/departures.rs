//! Readers who leave the outside tier: their inboxes in SQL are filled, and those outside removed.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use super::OutsideStores;
use crate::{
    domain::UserId,
    store::{Inboxes, StoreError},
    telemetry::tiers::{ReaderTier, note_tier_change},
};

/// Readers outside SQL who are looked at in one round.
const LOOKED_AT: u64 = 1_000;
/// Readers moved to SQL in one round; the next one goes on with the others. It bounds how long the next look at the
/// buckets waits.
pub const MOVED_AT_ONCE: usize = 50;
/// Inboxes that could not be removed from their store and are remembered, so that this is tried again.
const LEFT_BEHIND: usize = 10_000;

/// See the module.
pub(super) struct Departures {
    stores: OutsideStores,
    inboxes: Arc<dyn Inboxes>,
    step: u32,
    /// The reader up to whom the tier was looked through.
    looked_through: AtomicI64,
    /// Readers who have left, and whose inboxes are still in the store.
    left_behind: Mutex<VecDeque<UserId>>,
}

impl Departures {
    pub(super) fn new(stores: OutsideStores, inboxes: Arc<dyn Inboxes>, step: u32) -> Self {
        Self { stores, inboxes, step, looked_through: AtomicI64::new(0), left_behind: Mutex::default() }
    }

    /// See [`crate::store::InboxTier::move_to_sql`].
    pub(super) async fn move_to_sql(&self, reader: UserId) -> Result<bool, StoreError> {
        if !self.stores.states.leave(reader).await? {
            return Ok(false);
        }
        self.arrive_in_sql(reader).await?;
        Ok(true)
    }

    /// What follows when a reader has left the outside tier.
    pub(super) async fn arrive_in_sql(&self, reader: UserId) -> Result<(), StoreError> {
        note_tier_change(ReaderTier::Outside, ReaderTier::Sql, 1);
        self.forget(reader).await;
        self.inboxes.extend(reader, self.step).await.map(drop)
    }

    /// Moves some of those who stay away; how many.
    pub(super) async fn move_unseen(&self, now_ms: i64) -> Result<usize, StoreError> {
        let before = now_ms.saturating_sub(self.stores.active_ms);
        let (unseen, last) = self.stores.states.unseen(self.looked_through.load(Relaxed), before, LOOKED_AT).await?;
        let now = &unseen[..unseen.len().min(MOVED_AT_ONCE)];
        for reader in now {
            self.move_to_sql(*reader).await?;
        }
        let through = match now.last() {
            Some(reader) if now.len() < unseen.len() => Some(reader.get()),
            _ => last,
        };
        self.looked_through.store(through.unwrap_or_default(), Relaxed);
        Ok(now.len())
    }

    /// Removes the inbox of a reader who has left, or remembers to do so; whether it is removed.
    async fn forget(&self, reader: UserId) -> bool {
        let Err(error) = self.stores.inboxes.forget(reader).await else { return true };
        let error = &error as &dyn std::error::Error;
        tracing::debug!(%reader, error, "An unused inbox could not be removed from its store. It is tried again.");
        let mut left_behind = self.left_behind();
        if left_behind.len() < LEFT_BEHIND {
            left_behind.push_back(reader);
        }
        false
    }

    fn left_behind(&self) -> MutexGuard<'_, VecDeque<UserId>> {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what was left behind, some in each round, until the store fails once more.
    pub(super) async fn clear_up(&self) -> Result<(), StoreError> {
        for _ in 0..MOVED_AT_ONCE {
            let Some(reader) = self.left_behind().front().copied() else { break };
            // A reader who is back has another inbox in its place.
            let is_back = self.stores.states.fence(reader).await?.is_some();
            self.left_behind().pop_front();
            if !is_back && !self.forget(reader).await {
                break;
            }
        }
        Ok(())
    }
}
