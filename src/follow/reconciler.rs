//! Updates an inbox after a change of a follow edge: inserts a followed author's contents and covers the edge, or
//! deletes an unfollowed author's rows.
//!
//! All operations on one pair share one pending record. The reconciler looks at the edge as it is now.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::{
    clock::SharedClock,
    rng::SharedRng,
    store::{
        InboxTier, Inboxes, Queue, Relations, StoreError,
        error::wait_ms,
        inboxes::Covered,
        queue::{Message, Topic},
        relations::{Pair, PendingRelation},
    },
    telemetry::metrics::RELATIONS,
};

/// Messages taken at a time. Repetitions among them are handled once.
const BATCH: usize = 64;

/// Reconciles pairs.
pub struct RelationReconciler {
    relations: Arc<dyn Relations>,
    inboxes: Arc<dyn Inboxes>,
    queue: Arc<dyn Queue>,
    tier: Arc<dyn InboxTier>,
    keep: u32,
    clock: SharedClock,
    rng: SharedRng,
}

impl RelationReconciler {
    /// `keep`: the most contents of one author that a follow inserts; older ones are pulled.
    #[must_use]
    pub fn new(
        relations: Arc<dyn Relations>,
        inboxes: Arc<dyn Inboxes>,
        queue: Arc<dyn Queue>,
        tier: Arc<dyn InboxTier>,
        keep: u32,
        (clock, rng): (SharedClock, SharedRng),
    ) -> Self {
        Self { relations, inboxes, queue, tier, keep, clock, rng }
    }

    /// Handles the waiting messages, or waits up to `wait` for one. Returns how many there were.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.queue.receive(Topic::Relation, consumer, BATCH, wait).await?;
        let mut pairs: BTreeSet<Pair> = BTreeSet::new();
        for message in &received {
            if let Some(Message::RelationChanged { pair }) = message.message {
                pairs.insert(pair);
            }
        }
        for pair in pairs {
            self.reconcile_or_record(pair).await?;
        }
        let ids: Vec<String> = received.iter().map(|message| message.id.clone()).collect();
        self.queue.acknowledge(Topic::Relation, &ids).await?;
        Ok(received.len())
    }

    /// Handles one pair. A failure is recorded, and the sweeper repeats it.
    async fn reconcile_or_record(&self, pair: Pair) -> Result<(), StoreError> {
        let Some(relation) = self.relations.find(pair).await? else { return Ok(()) };
        let Err(error) = self.reconcile(&relation).await else { return Ok(()) };
        tracing::warn!(
            ?pair,
            error = &error as &dyn std::error::Error,
            "Applying a follow or an unfollow to an inbox failed. It will be tried again."
        );
        let retry_at = self.clock.now_ms() + wait_ms(&error, relation.attempts + 1, self.rng.u32());
        self.relations.record_failure(&relation, retry_at).await
    }

    async fn reconcile(&self, relation: &PendingRelation) -> Result<(), StoreError> {
        let Pair { follower, author } = relation.pair;
        let outcome = match self.tier.cover(relation.pair, self.keep, self.rng.version()).await? {
            Covered::Yes { .. } | Covered::Outside => "covered",
            Covered::NotFilling => {
                self.inboxes.clear_unfollowed(follower, author).await?;
                "cleared"
            }
        };
        metrics::counter!(RELATIONS, "outcome" => outcome).increment(1);
        self.relations.done(relation).await
    }
}
