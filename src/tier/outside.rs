//! The tier outside SQL: the inboxes of active readers are in a store beside it. Rows are written and claimed there
//! between transactions of SQL, and every step is one of docs/protocol.md#outside.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use futures_util::future::join_all;

use super::{OutsideStores, bucket_keeper::BucketKeeper, builder::OutsideBuilder, departures::Departures, writing};
use crate::{
    ambient::Ambient,
    domain::{
        ContentId, UserId,
        delivery::DeliveryPolicy,
        timeline::outside::{Bucket, Generation},
    },
    store::{
        InboxStore, InboxTier, StoreError,
        deliveries::{AtOnce, Pushed, Subtask},
        inbox_tier::{InSql, Round, outside},
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
    /// `step`: rows that the inbox in SQL gets of somebody who goes back.
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
        let fenced = states.fences(&[reader]).await?;
        self.builder.build(&fenced).await;
        Ok(())
    }

    /// Lets readers enter whose inbox is not outside; who did. An inbox in SQL is not given up for one that cannot be
    /// built.
    async fn enter(&self, readers: &[(UserId, ReaderTier)]) -> Result<Vec<UserId>, StoreError> {
        let others: BTreeMap<UserId, ReaderTier> =
            readers.iter().copied().filter(|(_, tier)| *tier != ReaderTier::Outside).collect();
        let buckets: BTreeSet<Bucket> = others.keys().copied().map(Bucket::of).collect();
        let look = async |bucket| (bucket, self.stores.inboxes.identify(bucket).await.is_ok());
        let answers: HashMap<Bucket, bool> = join_all(buckets.into_iter().map(look)).await.into_iter().collect();
        let answer = |reader: &&UserId| answers.get(&Bucket::of(**reader)).is_some_and(|answers| *answers);
        let entering: Vec<(UserId, Generation)> =
            others.keys().filter(answer).map(|reader| (*reader, Generation(self.ambient.rng.number()))).collect();
        let entered = self.stores.states.enter_all(&entering).await?;
        for tier in entered.iter().filter_map(|reader| others.get(reader)) {
            note_tier_change(*tier, ReaderTier::Outside, 1);
        }
        Ok(entered)
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

    /// Lets them enter the tier, and builds the inboxes that do not count. While a reader's bucket has no token the
    /// inbox is in SQL.
    async fn settle(&self, readers: &[(UserId, ReaderTier)]) -> Result<Vec<UserId>, StoreError> {
        let mut settled = outside(readers);
        settled.extend(self.enter(readers).await?);
        settled.sort_unstable();
        let fenced = self.stores.states.fences(&settled).await?;
        let is_fenced = |reader: &UserId| fenced.binary_search_by_key(reader, |it| it.reader).is_ok();
        for reader in settled.iter().filter(|reader| !is_fenced(reader)) {
            self.move_to_sql(*reader).await?;
        }
        let look = fenced.iter().map(|it| self.stores.inboxes.is_too_long(it.reader, self.stores.rows_kept()));
        let too_long = join_all(look).await;
        let mut built = Vec::with_capacity(fenced.len());
        for (fenced, too_long) in fenced.into_iter().zip(too_long) {
            if too_long.unwrap_or(false) {
                self.begin_anew(fenced.reader).await?;
            } else {
                built.push(fenced);
            }
        }
        for spent in self.builder.build(&built).await {
            self.move_to_sql(spent).await?;
        }
        Ok(settled)
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
