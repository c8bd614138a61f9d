//! The tier outside SQL: the inboxes of active readers are in a store beside it. Rows are written and claimed there
//! between transactions of SQL, and every step is one of docs/protocol.md#outside.

use std::sync::Arc;

use async_trait::async_trait;

use super::{OutsideStores, bucket_keeper::BucketKeeper, builder::OutsideBuilder, departures::Departures, writing};
use crate::{
    ambient::Ambient,
    domain::{
        ContentId, UserId,
        delivery::DeliveryPolicy,
        timeline::outside::{Basis, Bucket, Fence, Generation},
    },
    store::{
        InboxStore, InboxTier, StoreError,
        deliveries::{AtOnce, Pushed, Subtask},
        inbox_store::InboxStoreError,
        inbox_tier::{InSql, Round},
        inboxes::Covered,
        outside_states::NotConfigured,
        relations::Pair,
    },
    telemetry::tiers::{ReaderTier, note_tier_change},
};

/// See the module.
pub struct OutsideTier {
    stores: OutsideStores,
    in_sql: InSql,
    buckets: BucketKeeper,
    builder: OutsideBuilder,
    departures: Departures,
    ambient: Ambient,
}

impl OutsideTier {
    /// `step`: rows that the inbox in SQL gets of somebody who goes back. Does no I/O.
    pub fn new(stores: OutsideStores, in_sql: InSql, step: u32, ambient: Ambient) -> Self {
        let builder = OutsideBuilder::new(stores.clone(), ambient.rng.clone());
        let departures = Departures::new(stores.clone(), in_sql.inboxes.clone(), step);
        Self { stores, in_sql, buckets: BucketKeeper::default(), builder, departures, ambient }
    }

    /// Draws another generation and builds its inbox. Deliveries of the former one go nowhere that is read.
    async fn begin_anew(&self, reader: UserId) -> Result<(), StoreError> {
        let states = &self.stores.states;
        if !states.leave(reader).await? {
            return Ok(());
        }
        if !states.enter(reader, Generation(self.ambient.rng.number())).await? {
            // The bucket was given up meanwhile.
            return self.departures.arrive_in_sql(reader).await;
        }
        if let Some((fence, _)) = states.fence(reader).await? {
            self.build_unless_it_counts(reader, fence, None).await;
        }
        Ok(())
    }

    /// Builds an inbox; whether its fence is spent.
    async fn build_unless_it_counts(&self, reader: UserId, fence: Fence, basis: Option<Basis>) -> bool {
        let Err(error) = self.builder.build_unless_it_counts(reader, fence, basis).await else { return false };
        let is_spent = matches!(error, InboxStoreError::Spent);
        let error = &error as &dyn std::error::Error;
        tracing::debug!(%reader, error, "An inbox outside SQL could not be built. The next visit tries again.");
        is_spent
    }
}

#[async_trait]
impl InboxTier for OutsideTier {
    fn in_sql(&self) -> &InSql {
        &self.in_sql
    }

    fn outside(&self) -> Option<&Arc<dyn InboxStore>> {
        Some(&self.stores.inboxes)
    }

    async fn connect(&self) -> Result<(), StoreError> {
        self.stores.inboxes.connect().await
    }

    /// A content that is gone or removed, or whose delivery must be cut, has no recipients to read.
    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError> {
        let (states, attempt) = (&self.stores.states, self.ambient.rng.number());
        if let Some(batch) = states.begin_at_once(content, most, policy, attempt).await? {
            writing::deliver(&self.stores, &self.ambient.rng, &batch).await?;
            return states.deliver_at_once_as(content, most, policy, attempt).await;
        }
        match self.in_sql.deliveries.deliver_at_once(content, most, policy).await {
            // It became small only after the check above: its ranges serve it.
            Err(StoreError::Refused(why)) if why.is::<NotConfigured>() => Ok(AtOnce::ToBeCut),
            outcome => outcome,
        }
    }

    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError> {
        let states = &self.stores.states;
        let Some(batch) = states.begin_batch(subtask, batch_size, self.ambient.rng.number()).await? else {
            return Ok(Pushed { progress: None, rows: 0 });
        };
        writing::deliver(&self.stores, &self.ambient.rng, &batch).await?;
        states.push_batch_as(subtask, batch.through, batch.attempt).await
    }

    async fn cover(&self, pair: Pair, keep: u32, version: i64) -> Result<Covered, StoreError> {
        let in_sql = |version| self.in_sql.inboxes.cover(pair.follower, pair.author, keep, version);
        match in_sql(version).await? {
            Covered::Outside if writing::cover(&self.stores, &self.ambient.rng, pair).await? => {
                return Ok(Covered::Yes { rows: 0 });
            }
            Covered::Outside => {}
            covered => return Ok(covered),
        }
        // The reader left the outside tier meanwhile, or the edge has changed.
        match in_sql(self.ambient.rng.version()).await? {
            Covered::Outside => Err(StoreError::Contended("another worker covers the same edge".into())),
            covered => Ok(covered),
        }
    }

    /// Enters the tier, and builds the inbox if it does not count. While the reader's bucket has no token the inbox is
    /// in SQL.
    async fn settle(&self, reader: UserId, came_from: ReaderTier) -> Result<bool, StoreError> {
        let states = &self.stores.states;
        if came_from != ReaderTier::Outside {
            // An inbox in SQL is not given up for one that cannot be built.
            if self.stores.inboxes.identify(Bucket::of(reader)).await.is_err() {
                return Ok(false);
            }
            if !states.enter(reader, Generation(self.ambient.rng.number())).await? {
                return Ok(false);
            }
            note_tier_change(came_from, ReaderTier::Outside, 1);
        }
        let Some((fence, basis)) = states.fence(reader).await? else {
            self.move_to_sql(reader).await?;
            return Ok(true);
        };
        if self.stores.inboxes.is_too_long(reader, self.stores.rows_kept()).await.unwrap_or(false) {
            self.begin_anew(reader).await?;
            return Ok(true);
        }
        if self.build_unless_it_counts(reader, fence, basis).await {
            self.move_to_sql(reader).await?;
        }
        Ok(true)
    }

    fn settled_at_once(&self) -> usize {
        self.stores.builds_at_once
    }

    async fn is_claimed(&self, reader: UserId) -> Result<bool, StoreError> {
        Ok(self.stores.states.fence(reader).await?.is_some_and(|(_, basis)| basis.is_some()))
    }

    async fn move_to_sql(&self, reader: UserId) -> Result<bool, StoreError> {
        self.departures.move_to_sql(reader).await
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        self.stores.inboxes.forget(reader).await
    }

    async fn run_once(&self) -> Result<Round, StoreError> {
        let round = self.buckets.run_once(&self.stores, &self.ambient.rng).await?;
        self.departures.clear_up().await?;
        Ok(Round { moved: self.departures.move_unseen(self.ambient.now_ms()).await?, ..round })
    }
}
