//! A reader has come: deliveries include them again, authors that were only pulled are pushed again, and the inbox is
//! filled from the outboxes if it holds less than it may.

use std::{collections::HashSet, sync::Arc, time::Duration};

use crate::{
    clock::SharedClock,
    domain::{
        Floor, Position, UserId,
        delivery::{DeliveryPolicy, ReaderFacts},
    },
    draw::Draw,
    store::{
        Follows, Inboxes, Queue, StoreError,
        queue::{Message, Topic},
        relations::Pair,
    },
    telemetry::metrics::READERS_WOKEN,
};

/// Messages taken at a time.
const BATCH: usize = 64;
/// Edges promoted in one transaction.
const PROMOTE_AT_ONCE: usize = 200;

/// How a waker works.
#[derive(Debug, Clone, Copy)]
pub struct WakerOptions {
    /// Who is pushed to.
    pub policy: DeliveryPolicy,
    /// Entries that an inbox keeps.
    pub keep: u32,
    /// Entries that an inbox is filled with at a time.
    pub step: u32,
}

/// Wakes readers.
pub struct Waker {
    inboxes: Arc<dyn Inboxes>,
    follows: Arc<dyn Follows>,
    queue: Arc<dyn Queue>,
    options: WakerOptions,
    clock: SharedClock,
    draw: Draw,
}

impl Waker {
    /// All parts are shared with the rest of the house.
    #[must_use]
    pub fn new(
        inboxes: Arc<dyn Inboxes>,
        follows: Arc<dyn Follows>,
        queue: Arc<dyn Queue>,
        options: WakerOptions,
        (clock, draw): (SharedClock, Draw),
    ) -> Self {
        Self { inboxes, follows, queue, options, clock, draw }
    }

    /// Deals with what is waiting, or waits up to `wait` for something; returns how many messages there were. What fails is noted
    /// again by the reader's next page.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.queue.receive(Topic::Visit, consumer, BATCH, wait).await?;
        let readers: HashSet<UserId> = received
            .iter()
            .filter_map(|message| match message.message {
                Some(Message::ReaderSeen { reader }) => Some(reader),
                _ => None,
            })
            .collect();
        for reader in readers {
            if let Err(error) = self.wake(reader).await {
                tracing::warn!(%reader, error = &error as &dyn std::error::Error, "a reader could not be woken");
            }
        }
        let ids: Vec<String> = received.iter().map(|message| message.id.clone()).collect();
        self.queue.acknowledge(Topic::Visit, &ids).await?;
        Ok(received.len())
    }

    /// Whether the inbox holds less than it may, and there may be more to hold: nothing was trusted, or what was has gone.
    async fn is_short(&self, reader: UserId, floor: Floor) -> Result<bool, StoreError> {
        if floor.trusts_nothing() || floor == Floor::At(Position::OLDEST) {
            return Ok(floor.trusts_nothing());
        }
        Ok(!self.inboxes.holds(reader, self.options.keep).await?)
    }

    /// Brings one reader back.
    pub async fn wake(&self, reader: UserId) -> Result<(), StoreError> {
        metrics::counter!(READERS_WOKEN).increment(1);
        let now = self.clock.now_ms();
        let seen = self.inboxes.mark_seen(reader, now).await?;
        self.promote(&seen.reader, now).await?;
        if self.is_short(reader, seen.floor).await? {
            self.inboxes.extend(reader, self.options.step).await?;
        }
        Ok(())
    }

    /// The policy, at a visit: whom the reader pulls and is worth a push is pushed from now on.
    async fn promote(&self, reader: &ReaderFacts, now: i64) -> Result<(), StoreError> {
        let follower = reader.reader;
        let pulled = self.follows.pulled_authors(follower).await?;
        let worthy = self.options.policy.to_push(&pulled, reader, now, PROMOTE_AT_ONCE);
        if worthy.is_empty() {
            return Ok(());
        }
        let promoted = self.follows.promote(follower, &worthy, self.draw.inc(), now).await?;
        let messages: Vec<Message> =
            promoted.into_iter().map(|author| Message::RelationChanged { pair: Pair { follower, author } }).collect();
        self.queue.send(&messages).await
    }
}
