//! Deletes the rows of deleted accounts. Readers see none of them already, so the order does not matter and a crash
//! only delays: each step looks at what is left.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{Entry, UserId, limits::MAX_CLEARED},
    rng::SharedRng,
    store::{AccountDeletions, Contents, Follows, StoreError, account_deletions::Remains},
};

/// For how long a node has an account for itself, in ms: if it dies, another one goes on then.
const LEASE_MS: i64 = 30_000;
/// For how long after a deletion it is looked for more, in ms: by then every write that had begun before has ended.
const SETTLED_MS: i64 = 60_000;

/// What a remover works on.
pub struct RemoverStores {
    /// The stores that a deleted account has rows in.
    pub deletions: Arc<dyn AccountDeletions>,
    /// Their contents.
    pub contents: Arc<dyn Contents>,
    /// Their edges.
    pub follows: Arc<dyn Follows>,
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

    /// One bounded step for one account; whether there was anything to do.
    pub async fn run_once(&self) -> Result<bool, StoreError> {
        let (deletions, now) = (&self.stores.deletions, self.clock.now_ms());
        let Some(Remains { user, deleted_at }) = deletions.due(now, now.saturating_add(LEASE_MS)).await? else {
            return Ok(false);
        };
        let mut cleared = self.remove_contents(user).await?;
        cleared += self.end_edges(user).await?;
        cleared += deletions.take_back_reactions(user, MAX_CLEARED).await?;
        cleared += deletions.clear(user, self.rng.version(), MAX_CLEARED).await?;
        let settled_at = deleted_at.saturating_add(SETTLED_MS);
        let next_look = if cleared > 0 { Some(now) } else { Some(settled_at).filter(|settled| *settled > now) };
        deletions.look_at(user, next_look).await?;
        Ok(cleared > 0)
    }

    /// Each by the transaction of every removal, so that counters, search terms and outboxes follow; then the texts
    /// go.
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

    /// Each as every unfollow ends one (docs/protocol.md#x1): the reconcilers find the records of inboxes that still
    /// have rows.
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
