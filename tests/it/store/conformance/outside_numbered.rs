//! A store of outside inboxes that numbers the revisions of each inbox from 1, in the order in which they are seen. So
//! tests, and a model that draws other revisions, can name them.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        Direction, UserId,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, NodeId, Nonce, Revision, Slice, Window,
        },
    },
    store::{
        InboxStore, StoreError,
        inbox_store::{InboxStoreError, Push},
    },
};

/// Recipients of a delivery whose inboxes are read afterwards.
const LOOKED_AT: usize = 8;
const HEADER: Window = Window { direction: Direction::Older, bound: None, limit: 0 };

pub struct Numbered {
    store: Arc<dyn InboxStore>,
    /// Added to every reader's id, so that tests can share a store.
    offset: i64,
    met: Mutex<HashMap<UserId, Vec<Revision>>>,
}

impl Numbered {
    pub fn new(store: Arc<dyn InboxStore>) -> Self {
        Self::above(store, 0)
    }

    /// For the readers above `offset`, a multiple of the number of buckets.
    pub fn above(store: Arc<dyn InboxStore>, offset: i64) -> Self {
        Self { store, offset, met: Mutex::default() }
    }

    fn stored(&self, reader: UserId) -> UserId {
        UserId::try_new(reader.get() + self.offset).unwrap()
    }

    /// The number of revisions seen of the reader's inbox.
    pub fn last(&self, reader: UserId) -> i64 {
        let met = self.met.lock().unwrap();
        i64::try_from(met.get(&reader).map_or(0, Vec::len)).unwrap()
    }

    fn number(&self, reader: UserId, revision: Revision) -> Revision {
        let mut met = self.met.lock().unwrap();
        let met = met.entry(reader).or_default();
        let place = met.iter().position(|it| *it == revision).unwrap_or_else(|| {
            met.push(revision);
            met.len() - 1
        });
        Revision(i64::try_from(place).unwrap() + 1)
    }

    /// An unused number stands for a revision that equals no other.
    fn named(&self, reader: UserId, Revision(number): Revision) -> Revision {
        let met = self.met.lock().unwrap();
        let place = usize::try_from(number.saturating_sub(1)).ok();
        place.and_then(|place| met.get(&reader)?.get(place).copied()).unwrap_or(Revision(i64::MIN))
    }

    async fn look(&self, reader: UserId) {
        if let Ok(Some(slice)) = self.store.slice(self.stored(reader), &HEADER).await {
            self.number(reader, slice.header.revision);
        }
    }
}

#[async_trait]
impl InboxStore for Numbered {
    async fn identify(&self, bucket: Bucket) -> Result<NodeId, StoreError> {
        self.store.identify(bucket).await
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        let slice = self.store.slice(self.stored(reader), window).await?;
        Ok(slice.map(|mut slice| {
            slice.header.revision = self.number(reader, slice.header.revision);
            slice
        }))
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        Ok(self.number(reader, self.store.open(self.stored(reader), fence, nonce).await?))
    }

    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
        let recipients = push.recipients.iter().map(|(reader, generation)| (self.stored(*reader), *generation));
        let delivered = self.store.deliver(&Push { recipients: recipients.collect(), ..push.clone() }).await?;
        for (reader, _) in push.recipients.iter().take(LOOKED_AT) {
            self.look(*reader).await;
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
        let done = self.store.claim(self.stored(reader), (token, self.named(reader, expected)), claim, keep).await?;
        self.look(reader).await;
        Ok(done)
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, InboxStoreError> {
        let done = self.store.cover(self.stored(reader), fence, newest, keep).await?;
        self.look(reader).await;
        Ok(done)
    }

    async fn remove(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, InboxStoreError> {
        let done = self.store.remove(self.stored(reader), (token, self.named(reader, expected)), cleared).await?;
        self.look(reader).await;
        Ok(done)
    }

    async fn is_too_long(&self, reader: UserId, keep: usize) -> Result<bool, StoreError> {
        self.store.is_too_long(self.stored(reader), keep).await
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        self.store.forget(self.stored(reader)).await
    }
}
