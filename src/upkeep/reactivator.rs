//! Reactivates returning readers: deliveries include them again, pulled authors are pushed again where that pays, and
//! a short inbox is filled from the outboxes.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{StreamExt as _, stream};

use crate::{
    ambient::Ambient,
    domain::{
        Floor, Position, UserId,
        delivery::{DeliveryPolicy, ReaderFacts},
        timeline::tier::InboxTiers,
    },
    store::{
        Ports, StoreError,
        inboxes::SeenReader,
        queue::{Message, Received, Topic},
        relations::Pair,
    },
    telemetry::{
        metrics::READERS_WOKEN,
        tiers::{ReaderTier, note_tier_change},
    },
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
    ports: Ports,
    options: ReactivatorOptions,
    ambient: Ambient,
}

impl Reactivator {
    /// Does no I/O.
    pub fn new(ports: &Ports, options: ReactivatorOptions, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), options, ambient: ambient.clone() }
    }

    /// Handles the waiting messages, or waits up to `wait` for one. Returns how many there were. All visits are stored
    /// in one statement; if it fails, the messages come again. If a later step fails for one reader, their next visit
    /// repeats it.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.ports.queue.receive(Topic::Visit, consumer, BATCH, wait).await?;
        self.deal_with(&visits(&received)).await?;
        let ids: Vec<String> = received.iter().map(|message| message.id.clone()).collect();
        self.ports.queue.acknowledge(Topic::Visit, &ids).await?;
        Ok(received.len())
    }

    /// Brings one reader back.
    pub async fn wake(&self, reader: UserId) -> Result<(), StoreError> {
        self.visit(reader, None).await
    }

    /// Handles one visit; `reached` is as in [`Message::ReaderSeen`].
    pub async fn visit(&self, reader: UserId, reached: Option<i64>) -> Result<(), StoreError> {
        metrics::counter!(READERS_WOKEN).increment(1);
        let now = self.ambient.now_ms();
        for seen in self.ports.inboxes.mark_seen(&[reader], now).await? {
            self.bring_back(&seen, reached, now).await?;
        }
        Ok(())
    }

    async fn deal_with(&self, visits: &BTreeMap<UserId, Option<i64>>) -> Result<(), StoreError> {
        let readers: Vec<UserId> = visits.keys().copied().collect();
        let now = self.ambient.now_ms();
        metrics::counter!(READERS_WOKEN).increment(readers.len() as u64);
        let seen = self.ports.inboxes.mark_seen(&readers, now).await?;
        let bring_back = async |seen: SeenReader| {
            let reader = seen.reader.reader;
            let reached = visits.get(&reader).copied().flatten();
            if let Err(error) = self.bring_back(&seen, reached, now).await {
                tracing::warn!(%reader, error = &error as &dyn std::error::Error, "A reader could not be reactivated.");
            }
        };
        stream::iter(seen).for_each_concurrent(self.ports.tier.settled_at_once(), bring_back).await;
        Ok(())
    }

    /// Reactivates one reader; `reached` is as in [`Message::ReaderSeen`].
    async fn bring_back(&self, seen: &SeenReader, reached: Option<i64>, now: i64) -> Result<(), StoreError> {
        self.promote(&seen.reader, now).await?;
        let came_from = match seen.floor {
            // Of those who were just seen, only they are off.
            Floor::Off => ReaderTier::Outside,
            Floor::At(_) if seen.was_off => ReaderTier::Nowhere,
            Floor::At(_) => ReaderTier::Sql,
        };
        if self.ports.tier.settle(seen.reader.reader, came_from).await? {
            return Ok(());
        }
        if came_from == ReaderTier::Nowhere {
            note_tier_change(ReaderTier::Nowhere, ReaderTier::Sql, 1);
        }
        self.fill(seen.reader.reader, seen.floor, reached).await
    }

    /// Extends an inbox that holds less than it may: less than `keep`, or than `deep_keep` if a page `reached` below
    /// its floor. The more a deep inbox holds, the sooner it is trimmed. A repeated or late note does no harm, because
    /// it finds the floor lower.
    async fn fill(&self, reader: UserId, floor: Floor, reached: Option<i64>) -> Result<(), StoreError> {
        let tiers = self.options.tiers;
        if floor.trusts_nothing() {
            return self.ports.inboxes.extend(reader, tiers.step).await.map(|_| ());
        }
        if floor == Floor::At(Position::OLDEST) {
            return Ok(());
        }
        let deep = reached.is_some_and(|reached| reached <= floor.trusted_from().publish_time());
        let most = if deep { tiers.deep_keep } else { tiers.keep };
        let growth = tiers.growth(self.ports.inboxes.held(reader, most).await?, deep);
        if growth > 0 {
            self.ports.inboxes.extend(reader, growth).await?;
        }
        if deep && let Some(life) = tiers.life_ms(self.ports.inboxes.held(reader, most).await?) {
            self.ports.inboxes.keep_deep(reader, self.ambient.now_ms() + life).await?;
        }
        Ok(())
    }

    /// Applies the policy at a visit: pulled authors who are worth a push are pushed from now on.
    async fn promote(&self, reader: &ReaderFacts, now: i64) -> Result<(), StoreError> {
        let follower = reader.reader;
        let pulled = self.ports.follows.pulled_authors(follower).await?;
        let worthy = self.options.policy.to_push(&pulled, reader, now, PROMOTE_AT_ONCE);
        if worthy.is_empty() {
            return Ok(());
        }
        let promoted = self.ports.follows.promote(follower, &worthy, self.ambient.rng.incarnation(), now).await?;
        let messages: Vec<Message> =
            promoted.into_iter().map(|author| Message::RelationChanged { pair: Pair { follower, author } }).collect();
        self.ports.queue.send(&messages).await
    }
}

/// The visitors in order, each with the greatest depth that they reached.
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
