//! A reader has come: deliveries include them again, authors that were only pulled are pushed again, and the inbox is
//! filled from the outboxes if it holds less than it may.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    clock::SharedClock,
    domain::{Floor, Position, UserId},
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
const PROMOTE_AT_ONCE: u64 = 200;

/// How much inboxes hold.
#[derive(Debug, Clone, Copy)]
pub struct InboxSizes {
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
    sizes: InboxSizes,
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
        sizes: InboxSizes,
        (clock, draw): (SharedClock, Draw),
    ) -> Self {
        Self { inboxes, follows, queue, sizes, clock, draw }
    }

    /// Deals with what is waiting, or waits up to `wait` for something; returns how many messages there were. What fails is noted
    /// again by the reader's next page.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.queue.receive(Topic::Visit, consumer, BATCH, wait).await?;
        let readers: BTreeSet<UserId> = received
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
    async fn is_short(&self, reader: UserId) -> Result<bool, StoreError> {
        let floor = self.inboxes.floor(reader).await?;
        if floor.trusts_nothing() || floor == Floor::At(Position::OLDEST) {
            return Ok(floor.trusts_nothing());
        }
        Ok(!self.inboxes.holds(reader, self.sizes.keep).await?)
    }

    /// Brings one reader back.
    pub async fn wake(&self, reader: UserId) -> Result<(), StoreError> {
        metrics::counter!(READERS_WOKEN).increment(1);
        let now = self.clock.now_ms();
        self.inboxes.mark_seen(reader, now).await?;
        let authors = self.follows.promote(reader, self.draw.inc(), PROMOTE_AT_ONCE, now).await?;
        let messages: Vec<Message> = authors
            .into_iter()
            .map(|author| Message::RelationChanged { pair: Pair { follower: reader, author } })
            .collect();
        self.queue.send(&messages).await?;
        if self.is_short(reader).await? {
            self.inboxes.extend(reader, self.sizes.step).await?;
        }
        Ok(())
    }
}
