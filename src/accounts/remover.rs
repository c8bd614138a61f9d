//! Deletes the rows of deleted accounts. Readers do not see them any more, so the order does not matter. Each step
//! looks at what is left, so a crash only delays.

use crate::{
    ambient::Ambient,
    domain::{Entry, UserId, limits::MAX_CLEARED},
    store::{Ports, StoreError, account_deletions::DeletedAccount},
};

/// How long a node has an account for itself, in ms. If the node dies, another one continues afterwards.
const LEASE_MS: i64 = 30_000;
/// How long after a deletion to look for more rows, in ms. By then all writes that had begun before it have ended.
const SETTLED_MS: i64 = 60_000;

/// Clears deleted accounts away.
pub struct AccountRemover {
    ports: Ports,
    ambient: Ambient,
}

impl AccountRemover {
    /// A remover of the deleted accounts in `ports`.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), ambient: ambient.clone() }
    }

    /// Runs one bounded step for one account. Returns whether there was work.
    pub async fn run_once(&self) -> Result<bool, StoreError> {
        let (deletions, now) = (&self.ports.accounts, self.ambient.now_ms());
        let Some(DeletedAccount { user, deleted_at }) = deletions.due(now, now.saturating_add(LEASE_MS)).await? else {
            return Ok(false);
        };
        let mut cleared = self.remove_contents(user).await?;
        cleared += self.end_edges(user).await?;
        cleared += deletions.take_back_reactions(user, MAX_CLEARED).await?;
        cleared += deletions.clear(user, self.ambient.rng.version(), MAX_CLEARED).await?;
        let settled_at = deleted_at.saturating_add(SETTLED_MS);
        let next_look = if cleared > 0 { Some(now) } else { Some(settled_at).filter(|settled| *settled > now) };
        if cleared == 0 {
            // Last, so that a store that does not answer delays nothing else. It is asked again after the lease.
            self.ports.tier.forget(user).await?;
        }
        deletions.look_at(user, next_look).await?;
        Ok(cleared > 0)
    }

    /// Removes the contents as their author would, so that counters, search terms and outboxes follow. Then deletes
    /// the texts.
    async fn remove_contents(&self, user: UserId) -> Result<u64, StoreError> {
        let left = self.ports.accounts.contents_left(user, MAX_CLEARED).await?;
        for content in left.iter().filter(|it| !it.is_removed) {
            let (version, now) = (self.ambient.rng.version(), self.ambient.now_ms());
            self.ports.contents.remove(user, content.entry.content, version, now).await?;
        }
        let entries: Vec<Entry> = left.iter().map(|it| it.entry).collect();
        self.ports.accounts.erase(user, &entries).await?;
        Ok(entries.len() as u64)
    }

    /// Ends the edges as an unfollow does (docs/protocol.md#x1). The reconcilers find the pending records and clean
    /// the inboxes.
    async fn end_edges(&self, user: UserId) -> Result<u64, StoreError> {
        let mut ended = 0;
        for edge in self.ports.accounts.edges_left(user, MAX_CLEARED).await? {
            let follows = &self.ports.follows;
            let (version, now) = (self.ambient.rng.version(), self.ambient.now_ms());
            ended += u64::from(follows.unfollow(edge.follower, edge.author, version, now).await?);
        }
        Ok(ended)
    }
}
