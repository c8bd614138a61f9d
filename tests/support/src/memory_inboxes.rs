//! Inboxes outside SQL within one process, by the domain's decisions: what Redis is compared with, and what tests
//! without a server run on.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        UserId,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, NodeId, Nonce, OutsideInbox, Revision, Slice,
            Window,
        },
    },
    store::{
        InboxStore, StoreError,
        inbox_store::{InboxStoreError, Push},
    },
};

/// Another of these is another node.
#[derive(Debug)]
pub struct MemoryInboxes {
    node: NodeId,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    inboxes: HashMap<UserId, OutsideInbox>,
    openings: i64,
}

impl MemoryInboxes {
    /// Without any inbox.
    pub fn new(node: NodeId) -> Self {
        Self { node, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admits(&self, token: BucketToken) -> Result<(), InboxStoreError> {
        if token.node == self.node { Ok(()) } else { Err(InboxStoreError::OtherNode) }
    }

    /// Changes an inbox atomically; false if there is none, or `change` has done nothing.
    fn change(&self, reader: UserId, change: impl FnOnce(&mut OutsideInbox) -> bool) -> bool {
        self.state().inboxes.get_mut(&reader).is_some_and(change)
    }
}

#[async_trait]
impl InboxStore for MemoryInboxes {
    async fn identify(&self, _: Bucket) -> Result<NodeId, StoreError> {
        Ok(self.node)
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        let state = self.state();
        let inbox = state.inboxes.get(&reader).filter(|inbox| inbox.header.fence.token.node == self.node);
        Ok(inbox.map(|inbox| inbox.slice(window)))
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        self.admits(fence.token)?;
        let mut state = self.state();
        let former = state.inboxes.get(&reader).map(|inbox| inbox.header.revision);
        let revision = Revision::after(former, nonce.at(state.openings));
        state.openings += 1;
        state.inboxes.insert(reader, OutsideInbox::open(fence, revision));
        Ok(revision)
    }

    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
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
    ) -> Result<bool, InboxStoreError> {
        self.admits(token)?;
        let change = |inbox: &mut OutsideInbox| inbox.header.fence.token == token && inbox.claim(expected, claim, keep);
        Ok(self.change(reader, change))
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, InboxStoreError> {
        self.admits(fence.token)?;
        Ok(self.change(reader, |inbox| inbox.cover(fence, newest, keep)))
    }

    async fn remove(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, InboxStoreError> {
        self.admits(token)?;
        let change = |inbox: &mut OutsideInbox| inbox.header.fence.token == token && inbox.remove(expected, cleared);
        Ok(self.change(reader, change))
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        self.state().inboxes.remove(&reader);
        Ok(())
    }
}
