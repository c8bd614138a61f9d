//! Updates an inbox after a change of a follow edge: inserts a followed author's contents and covers the edge, or
//! deletes an unfollowed author's rows.
//!
//! All operations on one pair share one pending record. The reconciler looks at the edge as it is now.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    ambient::Ambient,
    store::{
        Ports, StoreError,
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
    ports: Ports,
    keep: u32,
    ambient: Ambient,
}

impl RelationReconciler {
    /// `keep`: the most contents of one author that a follow inserts; older ones are pulled.
    pub fn new(ports: &Ports, keep: u32, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), keep, ambient: ambient.clone() }
    }

    /// Handles the waiting messages, or waits up to `wait` for one. Returns how many there were.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.ports.queue.receive(Topic::Relation, consumer, BATCH, wait).await?;
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
        self.ports.queue.acknowledge(Topic::Relation, &ids).await?;
        Ok(received.len())
    }

    /// Handles one pair. A failure is recorded, and the sweeper repeats it.
    async fn reconcile_or_record(&self, pair: Pair) -> Result<(), StoreError> {
        let Some(relation) = self.ports.relations.find(pair).await? else { return Ok(()) };
        let Err(error) = self.reconcile(&relation).await else { return Ok(()) };
        tracing::warn!(
            ?pair,
            error = &error as &dyn std::error::Error,
            "Applying a follow or an unfollow to an inbox failed. It will be tried again."
        );
        let retry_at = self.ambient.now_ms() + wait_ms(&error, relation.attempts + 1, self.ambient.rng.u32());
        self.ports.relations.record_failure(&relation, retry_at).await
    }

    async fn reconcile(&self, relation: &PendingRelation) -> Result<(), StoreError> {
        let Pair { follower, author } = relation.pair;
        if !relation.author_exists {
            // A follow that had looked for the account before it was deleted. The remover may have gone past the edge.
            let (version, now) = (self.ambient.rng.version(), self.ambient.now_ms());
            self.ports.follows.unfollow(follower, author, version, now).await?;
        }
        let outcome = match self.ports.tier.cover(relation.pair, self.keep, self.ambient.rng.version()).await? {
            Covered::Yes { .. } | Covered::Outside => "covered",
            Covered::NotFilling => {
                self.ports.inboxes.clear_unfollowed(follower, author).await?;
                "cleared"
            }
        };
        metrics::counter!(RELATIONS, "outcome" => outcome).increment(1);
        self.ports.relations.done(relation).await
    }
}
