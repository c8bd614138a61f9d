//! Deletes the rows of deleted accounts. Readers do not see them any more, so the order does not matter. Each step
//! looks at what is left, so a crash only delays.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{Entry, UserId, limits::MAX_CLEARED},
    rng::SharedRng,
    store::{AccountDeletions, Contents, Follows, InboxTier, StoreError, account_deletions::DeletedAccount},
};

/// How long a node has an account for itself, in ms. If the node dies, another one continues afterwards.
const LEASE_MS: i64 = 30_000;
/// How long after a deletion to look for more rows, in ms. By then all writes that had begun before it have ended.
const SETTLED_MS: i64 = 60_000;

/// What a remover works on.
pub struct RemoverStores {
    /// The rows of deleted accounts.
    pub deletions: Arc<dyn AccountDeletions>,
    /// Their contents.
    pub contents: Arc<dyn Contents>,
    /// Their edges.
    pub follows: Arc<dyn Follows>,
    /// Their inboxes outside SQL.
    pub tier: Arc<dyn InboxTier>,
}

/// Clears deleted accounts away.
pub struct AccountRemover {
    stores: RemoverStores,
    clock: SharedClock,
    rng: SharedRng,
}

impl AccountRemover {
    /// Over these stores.
    #[must_use]
    pub fn new(stores: RemoverStores, clock: SharedClock, rng: SharedRng) -> Self {
        Self { stores, clock, rng }
    }

    /// Runs one bounded step for one account. Returns whether there was work.
    pub async fn run_once(&self) -> Result<bool, StoreError> {
        let (deletions, now) = (&self.stores.deletions, self.clock.now_ms());
        let Some(DeletedAccount { user, deleted_at }) = deletions.due(now, now.saturating_add(LEASE_MS)).await? else {
            return Ok(false);
        };
        let mut cleared = self.remove_contents(user).await?;
        cleared += self.end_edges(user).await?;
        cleared += deletions.take_back_reactions(user, MAX_CLEARED).await?;
        cleared += deletions.clear(user, self.rng.version(), MAX_CLEARED).await?;
        let settled_at = deleted_at.saturating_add(SETTLED_MS);
        let next_look = if cleared > 0 { Some(now) } else { Some(settled_at).filter(|settled| *settled > now) };
        if cleared == 0 {
            // Last, so that a store that does not answer delays nothing else. It is asked again after the lease.
            self.stores.tier.forget(user).await?;
        }
        deletions.look_at(user, next_look).await?;
        Ok(cleared > 0)
    }

    /// Removes the contents as their author would, so that counters, search terms and outboxes follow. Then deletes
    /// the texts.
    async fn remove_contents(&self, user: UserId) -> Result<u64, StoreError> {
        let left = self.stores.deletions.contents_left(user, MAX_CLEARED).await?;
        for content in left.iter().filter(|it| !it.is_removed) {
            let (version, now) = (self.rng.version(), self.clock.now_ms());
            self.stores.contents.remove(user, content.entry.content, version, now).await?;
        }
        let entries: Vec<Entry> = left.iter().map(|it| it.entry).collect();
        self.stores.deletions.erase(user, &entries).await?;
        Ok(entries.len() as u64)
    }

    /// Ends the edges as an unfollow does (docs/protocol.md#x1). The reconcilers find the pending records and clean
    /// the inboxes.
    async fn end_edges(&self, user: UserId) -> Result<u64, StoreError> {
        let mut ended = 0;
        for edge in self.stores.deletions.edges_left(user, MAX_CLEARED).await? {
            let follows = &self.stores.follows;
            let (version, now) = (self.rng.version(), self.clock.now_ms());
            ended += u64::from(follows.unfollow(edge.follower, edge.author, version, now).await?);
        }
        Ok(ended)
    }
}
