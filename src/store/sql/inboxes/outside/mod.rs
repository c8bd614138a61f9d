//! The state that SQL keeps of outside inboxes; docs/protocol.md#outside has the rules. Locks are taken in the order
//! of the other adapters: the reader's counts, the state, an edge.

mod claims;
mod tiers;

use async_trait::async_trait;

use super::{
    super::{
        SqlStore, deliveries::outside as deliveries, follows::authors_version::renew_authors, rows::DomainColumns as _,
    },
    state::OUTSIDE,
};
use crate::{
    domain::{
        ContentId, Position, UserId,
        delivery::DeliveryPolicy,
        timeline::outside::{Basis, Bucket, BucketToken, Fence, Generation},
    },
    store::{
        OutsideStates, StoreError,
        deliveries::{AtOnce, Pushed, Subtask},
        outside_states::{FencedReader, Occupancy, OutsideBatch},
        relations::Pair,
    },
};

#[async_trait]
impl OutsideStates for SqlStore {
    async fn tokens(&self) -> Result<Vec<(Bucket, BucketToken)>, StoreError> {
        let sql = "SELECT node, epoch, bucket FROM inbox_buckets WHERE node IS NOT NULL ORDER BY bucket";
        self.read(sql, []).await?.iter().map(tiers::token).collect()
    }

    async fn set_token(
        &self,
        bucket: Bucket,
        former: Option<BucketToken>,
        next: Option<BucketToken>,
    ) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            let done = tiers::set_token(&tx, bucket, former, next).await?;
            tx.commit(done).await
        })
        .await
    }

    async fn fences(&self, readers: &[UserId]) -> Result<Vec<FencedReader>, StoreError> {
        if readers.is_empty() {
            return Ok(Vec::new());
        }
        let statement = tiers::fences(self.dialect, readers);
        let mut fenced: Vec<FencedReader> =
            self.read(&statement.text, statement.values).await?.iter().map(tiers::fenced).collect::<Result<_, _>>()?;
        fenced.sort_unstable_by_key(|it| it.reader);
        Ok(fenced)
    }

    async fn enter_all(&self, readers: &[(UserId, Generation)]) -> Result<Vec<UserId>, StoreError> {
        if readers.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(move |tx| async move {
            let entered = tiers::enter(&tx, readers).await?;
            if entered.is_empty() { tx.roll_back(entered).await } else { tx.commit(entered).await }
        })
        .await
    }

    async fn leave(&self, reader: UserId) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            if tiers::leave(&tx, reader).await? { tx.commit(true).await } else { tx.roll_back(false).await }
        })
        .await
    }

    async fn unseen(
        &self,
        after: i64,
        seen_before_ms: i64,
        limit: u64,
    ) -> Result<(Vec<UserId>, Option<i64>), StoreError> {
        let sql = format!(
            "SELECT user_id, CASE WHEN last_seen >= ? THEN 1 ELSE 0 END FROM inbox_states{tiers} \
             WHERE tier = {OUTSIDE} AND user_id > ? ORDER BY user_id LIMIT ?",
            tiers = self.dialect.in_order_of("tiers"),
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.read(&sql, [seen_before_ms.into(), after.into(), limit.into()]).await?;
        let mut unseen = Vec::new();
        for row in &rows {
            if row.get::<i64>(1)? == 0 {
                unseen.push(row.user(0)?);
            }
        }
        let at_end = i64::try_from(rows.len()).unwrap_or(i64::MAX) < limit;
        let last = rows.last().filter(|_| !at_end).map(|row| row.get(0)).transpose()?;
        Ok((unseen, last))
    }

    async fn read_for_builds(
        &self,
        builds: &[(UserId, Generation, Basis)],
        keep: u32,
    ) -> Result<Vec<(UserId, Vec<Position>)>, StoreError> {
        if builds.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(move |tx| async move {
            let read = claims::for_builds(&tx, builds, keep).await?;
            if read.is_empty() { tx.roll_back(read).await } else { tx.commit(read).await }
        })
        .await
    }

    async fn read_for_cover(
        &self,
        pair: Pair,
        keep: u32,
        incarnation: i64,
    ) -> Result<Option<(Option<Fence>, Vec<Position>)>, StoreError> {
        self.transaction(move |tx| async move {
            match claims::for_cover(&tx, pair, keep, incarnation).await? {
                None => tx.roll_back(None).await,
                read => tx.commit(read).await,
            }
        })
        .await
    }

    async fn trust(&self, pair: Pair, incarnation: i64) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            renew_authors(&tx, &[pair.follower], incarnation).await?;
            if claims::trust(&tx, pair, incarnation).await? { tx.commit(true).await } else { tx.roll_back(false).await }
        })
        .await
    }

    async fn begin_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
        attempt: i64,
    ) -> Result<Option<OutsideBatch>, StoreError> {
        deliveries::begin_at_once(self, content, (most, policy), attempt).await
    }

    async fn deliver_at_once_as(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
        attempt: i64,
    ) -> Result<AtOnce, StoreError> {
        deliveries::deliver_at_once(self, content, (most, policy), Some(attempt)).await
    }

    async fn begin_batch(
        &self,
        subtask: &Subtask,
        batch_size: u32,
        attempt: i64,
    ) -> Result<Option<OutsideBatch>, StoreError> {
        deliveries::begin_batch(self, *subtask, batch_size, attempt).await
    }

    async fn push_batch_as(&self, subtask: &Subtask, through: i64, attempt: i64) -> Result<Pushed, StoreError> {
        deliveries::push_batch_as(self, *subtask, through, attempt).await
    }

    async fn occupancy(&self) -> Result<Occupancy, StoreError> {
        let sql = format!(
            "SELECT COUNT(CASE WHEN s.tier = {OUTSIDE} THEN 1 END), COUNT(CASE WHEN s.tier = {OUTSIDE} THEN s.basis END), \
             COUNT(s.floor_time), COUNT(*), (SELECT COUNT(*) FROM inbox_buckets b WHERE b.node IS NOT NULL) \
             FROM inbox_states s"
        );
        let rows = self.read(&sql, []).await?;
        let Some(row) = rows.first() else { return Ok(Occupancy::default()) };
        let (readers, in_sql, all) = (row.count(0)?, row.count(2)?, row.count(3)?);
        let without = all.saturating_sub(readers + in_sql);
        Ok(Occupancy { in_sql, without, readers, claimed: row.count(1)?, admitted: row.count(4)? })
    }
}
