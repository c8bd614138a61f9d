//! Outside inboxes within one process: a bounded map, whose identity is drawn when it is made.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use async_trait::async_trait;
use quick_cache::{
    UnitWeighter,
    sync::{Cache, EntryAction, EntryResult},
};

use crate::{
    domain::{
        UserId,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, NodeId, Nonce, OutsideInbox, Revision, Slice,
            Window,
        },
    },
    store::{
        StoreError,
        outside_inboxes::{InboxStore, OutsideError, Push},
    },
};

/// Initial capacity; the memory grows as needed.
const EXPECTED_READERS: usize = 1_000;

/// Inboxes of the readers who come most. Another process, or another of these, is another node.
#[derive(Debug)]
pub struct MemoryInboxes {
    node: NodeId,
    inboxes: Cache<UserId, OutsideInbox>,
    openings: AtomicI64,
}

impl MemoryInboxes {
    /// Keeps the inboxes of at most `readers`: beyond that, little-used ones go. `node` must be drawn at random.
    pub fn new(readers: u64, node: NodeId) -> Self {
        let inboxes = Cache::with_weighter(EXPECTED_READERS, readers, UnitWeighter);
        Self { node, inboxes, openings: AtomicI64::new(0) }
    }

    fn admits(&self, token: BucketToken) -> Result<(), OutsideError> {
        if token.node == self.node { Ok(()) } else { Err(OutsideError::OtherNode) }
    }

    /// Changes an inbox atomically; false if there is none, or `change` has done nothing.
    fn change(&self, reader: UserId, change: impl FnOnce(&mut OutsideInbox) -> bool) -> bool {
        let changed = self.inboxes.entry(&reader, None, |_, inbox| EntryAction::Retain(change(inbox)));
        matches!(changed, EntryResult::Retained(true))
    }
}

#[async_trait]
impl InboxStore for MemoryInboxes {
    async fn identify(&self, _: Bucket) -> Result<NodeId, StoreError> {
        Ok(self.node)
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        let inbox = self.inboxes.get(&reader);
        Ok(inbox.filter(|inbox| inbox.header.fence.token.node == self.node).map(|inbox| inbox.slice(window)))
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, OutsideError> {
        self.admits(fence.token)?;
        let nonce = nonce.at(self.openings.fetch_add(1, Relaxed));
        let entry = self.inboxes.entry(&reader, None, |_, inbox| {
            let revision = Revision::after(Some(inbox.header.revision), nonce);
            *inbox = OutsideInbox::open(fence, revision);
            EntryAction::Retain(revision)
        });
        match entry {
            EntryResult::Retained(revision) => Ok(revision),
            EntryResult::Vacant(first) => {
                let revision = Revision::after(None, nonce);
                // Fails if the entry was evicted meanwhile. An inbox may be lost at any time.
                let _ = first.insert(OutsideInbox::open(fence, revision));
                Ok(revision)
            }
            _ => Err(StoreError::Unreadable("an inbox that is neither there nor not".to_owned()).into()),
        }
    }

    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, OutsideError> {
        self.admits(push.token)?;
        let mut delivered = Vec::with_capacity(push.recipients.len());
        for (reader, generation) in &push.recipients {
            let fence = Fence { token: push.token, generation: *generation };
            let add =
                |inbox: &mut OutsideInbox| inbox.deliver(fence, push.row, push.keep, push.nonce) == Delivered::Added;
            let added = self.change(*reader, add);
            delivered.push(if added { Delivered::Added } else { Delivered::Skipped });
        }
        Ok(delivered)
    }

    async fn claim(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, OutsideError> {
        self.admits(token)?;
        let change = |inbox: &mut OutsideInbox| inbox.header.fence.token == token && inbox.claim(expected, claim, keep);
        Ok(self.change(reader, change))
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, OutsideError> {
        self.admits(fence.token)?;
        Ok(self.change(reader, |inbox| inbox.cover(fence, newest, keep)))
    }

    async fn remove(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, OutsideError> {
        self.admits(token)?;
        let change = |inbox: &mut OutsideInbox| inbox.header.fence.token == token && inbox.remove(expected, cleared);
        Ok(self.change(reader, change))
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        self.inboxes.remove(&reader);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::domain::{
        Direction, Position,
        timeline::outside::{Basis, Generation},
    };

    const ALL: Window = Window { direction: Direction::Older, bound: None, limit: 100 };

    fn fence(node: u8) -> Fence {
        Fence { token: BucketToken { node: NodeId::of([node; 20]), epoch: 1 }, generation: Generation(1) }
    }

    fn reader() -> UserId {
        UserId::try_new(7).unwrap()
    }

    fn push(fence: Fence, generation: i64) -> Push {
        let recipients = vec![(reader(), Generation(generation))];
        Push { row: Position::bound(5, 5), recipients, token: fence.token, keep: 10, nonce: Nonce(9) }
    }

    #[tokio::test]
    async fn what_was_delivered_and_claimed_is_read() {
        let store = MemoryInboxes::new(10, NodeId::of([1; 20]));
        let (fence, claim) = (
            fence(1),
            Claim { rows: vec![Position::bound(4, 4)], floor: Position::OLDEST, basis: Basis(1), nonce: Nonce(2) },
        );
        assert_eq!(store.slice(reader(), &ALL).await.unwrap(), None);
        assert_eq!(store.deliver(&push(fence, 1)).await.unwrap(), [Delivered::Skipped], "there is no inbox");
        let opened = store.open(reader(), fence, Nonce(1)).await.unwrap();
        assert_eq!(store.deliver(&push(fence, 2)).await.unwrap(), [Delivered::Skipped], "it is of another generation");
        assert_eq!(store.deliver(&push(fence, 1)).await.unwrap(), [Delivered::Added]);
        assert!(!store.claim(reader(), (fence.token, Revision(7)), &claim, 10).await.unwrap());
        assert!(store.claim(reader(), (fence.token, opened), &claim, 10).await.unwrap());
        let slice = store.slice(reader(), &ALL).await.unwrap().unwrap();
        assert_eq!(slice.rows, [Position::bound(5, 5), Position::bound(4, 4)]);
        assert_eq!(slice.header.floor, Position::OLDEST);
        assert_ne!(slice.header.revision, opened);
    }

    #[tokio::test]
    async fn another_nodes_token_is_refused() {
        let store = MemoryInboxes::new(10, NodeId::of([1; 20]));
        let refused = store.open(reader(), fence(2), Nonce(1)).await;
        assert!(matches!(refused, Err(OutsideError::OtherNode)));
        assert!(matches!(store.deliver(&push(fence(2), 1)).await, Err(OutsideError::OtherNode)));
        assert_eq!(store.slice(reader(), &ALL).await.unwrap(), None);
    }
}
