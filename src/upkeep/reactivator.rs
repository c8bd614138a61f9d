//! Reactivates a reader who came back: deliveries include them again, authors that were only pulled are pushed again,
//! and a short inbox is filled from the outboxes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::OutsideKeeper;
use crate::{
    clock::SharedClock,
    domain::{
        Floor, Position, UserId,
        delivery::{DeliveryPolicy, ReaderFacts},
        timeline::tier::InboxTiers,
    },
    rng::SharedRng,
    store::{
        Follows, Inboxes, Queue, StoreError,
        inboxes::Seen,
        queue::{Message, Received, Topic},
        relations::Pair,
    },
    telemetry::metrics::READERS_WOKEN,
};

/// Messages taken at a time.
const BATCH: usize = 64;
/// Edges promoted in one transaction.
const PROMOTE_AT_ONCE: usize = 200;

/// How a reactivator works.
#[derive(Debug, Clone, Copy)]
pub struct ReactivatorOptions {
    /// Who is pushed to.
    pub policy: DeliveryPolicy,
    /// How much inboxes hold.
    pub tiers: InboxTiers,
}

/// Wakes readers.
pub struct Reactivator {
    inboxes: Arc<dyn Inboxes>,
    follows: Arc<dyn Follows>,
    queue: Arc<dyn Queue>,
    outside: Option<Arc<OutsideKeeper>>,
    options: ReactivatorOptions,
    clock: SharedClock,
    rng: SharedRng,
}

impl Reactivator {
    /// Does no I/O.
    #[must_use]
    pub fn new(
        inboxes: Arc<dyn Inboxes>,
        follows: Arc<dyn Follows>,
        queue: Arc<dyn Queue>,
        options: ReactivatorOptions,
        (clock, rng): (SharedClock, SharedRng),
    ) -> Self {
        Self { inboxes, follows, queue, outside: None, options, clock, rng }
    }

    /// Readers who come have their inboxes outside SQL.
    #[must_use]
    pub fn with_outside(self, outside: Option<Arc<OutsideKeeper>>) -> Self {
        Self { outside, ..self }
    }

    /// Deals with what is waiting, or waits up to `wait` for something; returns how many messages there were. All who
    /// were there are written down at once; if that fails the messages come again. What else fails for one of them is
    /// noted again while they stay.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.queue.receive(Topic::Visit, consumer, BATCH, wait).await?;
        self.deal_with(&visits(&received)).await?;
        let ids: Vec<String> = received.iter().map(|message| message.id.clone()).collect();
        self.queue.acknowledge(Topic::Visit, &ids).await?;
        Ok(received.len())
    }

    /// Brings one reader back.
    pub async fn wake(&self, reader: UserId) -> Result<(), StoreError> {
        self.visit(reader, None).await
    }

    /// Deals with one note; `reached` as [`Message::ReaderSeen`] has it.
    pub async fn visit(&self, reader: UserId, reached: Option<i64>) -> Result<(), StoreError> {
        metrics::counter!(READERS_WOKEN).increment(1);
        let now = self.clock.now_ms();
        for seen in self.inboxes.mark_seen(&[reader], now).await? {
            self.bring_back(&seen, reached, now).await?;
        }
        Ok(())
    }

    async fn deal_with(&self, visits: &BTreeMap<UserId, Option<i64>>) -> Result<(), StoreError> {
        let readers: Vec<UserId> = visits.keys().copied().collect();
        let now = self.clock.now_ms();
        metrics::counter!(READERS_WOKEN).increment(readers.len() as u64);
        for seen in self.inboxes.mark_seen(&readers, now).await? {
            let reader = seen.reader.reader;
            let reached = visits.get(&reader).copied().flatten();
            if let Err(error) = self.bring_back(&seen, reached, now).await {
                tracing::warn!(%reader, error = &error as &dyn std::error::Error, "A reader could not be reactivated.");
            }
        }
        Ok(())
    }

    /// `reached` as [`Message::ReaderSeen`] has it.
    async fn bring_back(&self, seen: &Seen, reached: Option<i64>, now: i64) -> Result<(), StoreError> {
        self.promote(&seen.reader, now).await?;
        // Of those who were just seen, only they are off.
        let is_outside = seen.floor == Floor::Off;
        let is_settled = match &self.outside {
            Some(outside) => outside.settle(seen.reader.reader, is_outside).await?,
            None => is_outside,
        };
        if is_settled {
            return Ok(());
        }
        self.fill(seen.reader.reader, seen.floor, reached).await
    }

    /// Lets the inbox grow if it holds less than it may, for somebody who was `reached` below its floor; the deeper it
    /// is then, the shorter it stays so. A note that comes twice, or late, finds the floor lower.
    async fn fill(&self, reader: UserId, floor: Floor, reached: Option<i64>) -> Result<(), StoreError> {
        let tiers = self.options.tiers;
        if floor.trusts_nothing() {
            return self.inboxes.extend(reader, tiers.step).await.map(|_| ());
        }
        if floor == Floor::At(Position::OLDEST) {
            return Ok(());
        }
        let deep = reached.is_some_and(|reached| reached <= floor.trusted_from().publish_time());
        let most = if deep { tiers.deep_keep } else { tiers.keep };
        let growth = tiers.growth(self.inboxes.held(reader, most).await?, deep);
        if growth > 0 {
            self.inboxes.extend(reader, growth).await?;
        }
        if deep && let Some(life) = tiers.life_ms(self.inboxes.held(reader, most).await?) {
            self.inboxes.keep_deep(reader, self.clock.now_ms() + life).await?;
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
        let promoted = self.follows.promote(follower, &worthy, self.rng.incarnation(), now).await?;
        let messages: Vec<Message> =
            promoted.into_iter().map(|author| Message::RelationChanged { pair: Pair { follower, author } }).collect();
        self.queue.send(&messages).await
    }
}

/// Who came, in order, and how deep they were at most.
fn visits(received: &[Received]) -> BTreeMap<UserId, Option<i64>> {
    let mut visits: BTreeMap<UserId, Option<i64>> = BTreeMap::new();
    for message in received {
        if let Some(Message::ReaderSeen { reader, reached }) = message.message {
            let deepest = visits.entry(reader).or_default();
            *deepest = [*deepest, reached].into_iter().flatten().min();
        }
    }
    visits
}
