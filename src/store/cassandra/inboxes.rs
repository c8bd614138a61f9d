//! Outside inboxes in two tables: a header for each reader, changed by compare-and-set on its revision alone, and rows
//! in partitions whose key is the fence, which only ever grow. docs/protocol.md#outside-in-cassandra says why this is
//! enough.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use scylla::{
    response::query_result::QueryResult,
    statement::batch::{Batch, BatchType},
    value::{CqlValue, Row},
};
use tokio::{sync::Mutex, time::Instant};

use super::{
    connect::{Cassandra, Connected},
    error::{failed_recently, overtaken, store_error, unreadable},
    header::{self, Columns},
};
use crate::{
    domain::{
        Direction, Position, UserId,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, NodeId, Nonce, Opening, Revision, Slice,
            StoredHeader, Window,
        },
    },
    store::{
        StoreError,
        inbox_store::{InboxStore, InboxStoreError, Push},
    },
};

/// How often an operation looks again at a header that others changed meanwhile.
const TRIES: usize = 8;
/// Rows of one batch: well below the size of which Cassandra warns.
const BATCH: usize = 40;
/// Rows of one delivery on their way at once.
const UNDER_WAY: usize = 32;
/// How long an answer about the identity stands for all buckets: they have it in common.
const IDENTIFIED: Duration = Duration::from_millis(500);
/// How much longer than is kept an inbox may grow.
const TOO_LONG: usize = 4;

/// The outside inboxes in Cassandra, at QUORUM.
pub struct CassandraInboxes {
    cassandra: Cassandra,
    candidate: NodeId,
    /// The last answer about the identity, or why there was none.
    identified: Mutex<Option<(Instant, Result<NodeId, String>)>>,
}

impl CassandraInboxes {
    /// On this cluster. `candidate` must be drawn at random: the keyspace takes it as its identity if it has none.
    pub fn new(cassandra: Cassandra, candidate: NodeId) -> Self {
        Self { cassandra, candidate, identified: Mutex::default() }
    }

    fn connected(&self) -> Result<&Connected, StoreError> {
        self.cassandra.connected()
    }

    /// The keyspace's identity, after a write has succeeded.
    async fn ask_identity(&self, Connected { session, statements }: &Connected) -> Result<NodeId, StoreError> {
        session.execute_unpaged(&statements.probe, ()).await.map_err(store_error)?;
        for _ in 0..2 {
            let found = session.execute_unpaged(&statements.identity, ()).await.map_err(store_error)?;
            let found = found.into_rows_result().map_err(unreadable)?;
            if let Some((node,)) = found.maybe_first_row::<(Option<Vec<u8>>,)>().map_err(unreadable)? {
                let node = node.unwrap_or_default().try_into();
                return node.map(NodeId::of).map_err(|_| unreadable("an identity of another length"));
            }
            let candidate = self.candidate.bytes().to_vec();
            session.execute_unpaged(&statements.name, (candidate,)).await.map_err(store_error)?;
        }
        Err(unreadable("no identity after one was written"))
    }

    /// Refuses a token that is not of this keyspace.
    async fn admits(&self, token: BucketToken) -> Result<(), InboxStoreError> {
        let known = matches!(&*self.identified.lock().await, Some((_, Ok(node))) if *node == token.node);
        if known || self.identity().await? == token.node {
            return Ok(());
        }
        Err(InboxStoreError::OtherNode)
    }

    async fn identity(&self) -> Result<NodeId, StoreError> {
        let connected = self.connected()?;
        let mut identified = self.identified.lock().await;
        if let Some((_, answer)) = identified.as_ref().filter(|(at, _)| at.elapsed() < IDENTIFIED) {
            return answer.clone().map_err(failed_recently);
        }
        let asked = self.ask_identity(connected).await;
        *identified = Some((Instant::now(), asked.as_ref().copied().map_err(StoreError::with_causes)));
        asked
    }

    async fn stored(&self, reader: UserId) -> Result<Option<StoredHeader>, StoreError> {
        let Connected { session, statements } = self.connected()?;
        let found = session.execute_unpaged(&statements.header, (reader.get(),)).await.map_err(store_error)?;
        let found = found.into_rows_result().map_err(unreadable)?;
        Ok(found.maybe_first_row::<Columns>().map_err(unreadable)?.and_then(header::read))
    }

    /// Replaces the header if it is `before`; whether it was.
    async fn set(
        &self,
        reader: UserId,
        before: Option<&StoredHeader>,
        next: &StoredHeader,
    ) -> Result<bool, StoreError> {
        let Connected { session, statements } = self.connected()?;
        let header = &next.header;
        let (fence, floor) = (header.fence, header.floor);
        let values = (
            (fence.generation.0, fence.token.node.bytes().to_vec(), fence.token.epoch),
            (header.revision.0, header.basis.map(|basis| basis.0), floor.publish_time(), floor.content_number()),
            (&next.dropped, reader.get(), before.map(|before| before.header.revision.0)),
        );
        let ((generation, node, epoch), (revision, basis, time, id), (dropped, reader, expected)) = values;
        let values = (generation, node, epoch, revision, basis, time, id, dropped, reader, expected);
        applied(session.execute_unpaged(&statements.set_header, values).await.map_err(store_error)?)
    }

    /// Adds the rows: one partition, a few batches.
    async fn insert(&self, reader: UserId, fence: Fence, rows: &[Position]) -> Result<(), StoreError> {
        let Connected { session, statements } = self.connected()?;
        for some in rows.chunks(BATCH) {
            let mut batch = Batch::new(BatchType::Unlogged);
            batch.set_is_idempotent(true);
            let mut values = Vec::with_capacity(some.len());
            for row in some {
                batch.append_statement(statements.insert.clone());
                values.push(row_values(reader, fence, *row));
            }
            session.batch(&batch, values).await.map_err(store_error)?;
        }
        Ok(())
    }

    async fn rows(&self, reader: UserId, fence: Fence, window: &Window) -> Result<Vec<Position>, StoreError> {
        let limit = i32::try_from(window.limit).unwrap_or(i32::MAX);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Connected { session, statements } = self.connected()?;
        let (statement, (time, id)) = match (window.direction, window.bound) {
            (Direction::Older, None) => (&statements.older, (i64::MAX, i64::MAX)),
            (Direction::Newer, None) => (&statements.newer, (i64::MIN, i64::MIN)),
            (Direction::Older, Some(bound)) => (&statements.older, (bound.publish_time(), bound.content_number())),
            (Direction::Newer, Some(bound)) => (&statements.newer, (bound.publish_time(), bound.content_number())),
        };
        let Fence { token, generation } = fence;
        let values = (reader.get(), generation.0, token.node.bytes().to_vec(), token.epoch, time, id, limit);
        let found = session.execute_unpaged(statement, values).await.map_err(store_error)?;
        let found = found.into_rows_result().map_err(unreadable)?;
        let mut rows = Vec::with_capacity(found.rows_num());
        for row in found.rows::<(i64, i64)>().map_err(unreadable)? {
            let (time, id) = row.map_err(unreadable)?;
            rows.push(Position::bound(time, id));
        }
        Ok(rows)
    }

    /// Removes the rows of a fence that no header will name again. What fails here is left behind and never read.
    async fn drop_rows(&self, reader: UserId, fence: Fence) {
        let Ok(Connected { session, statements }) = self.connected() else { return };
        let values = (reader.get(), fence.generation.0, fence.token.node.bytes().to_vec(), fence.token.epoch);
        if let Err(error) = session.execute_unpaged(&statements.drop, values).await {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(%reader, error, "The rows of a former inbox in Cassandra stay behind.");
        }
    }
}

type RowValues = (i64, i64, Vec<u8>, i64, i64, i64);

fn row_values(reader: UserId, fence: Fence, row: Position) -> RowValues {
    let Fence { token, generation } = fence;
    let node = token.node.bytes().to_vec();
    (reader.get(), generation.0, node, token.epoch, row.publish_time(), row.content_number())
}

/// The first column of the answer to a light-weight transaction.
fn applied(answer: QueryResult) -> Result<bool, StoreError> {
    let rows = answer.into_rows_result().map_err(unreadable)?;
    let row = rows.first_row::<Row>().map_err(unreadable)?;
    match row.columns.first() {
        Some(Some(CqlValue::Boolean(applied))) => Ok(*applied),
        _ => Err(unreadable("a conditional write that does not say whether it was done")),
    }
}

#[async_trait]
impl InboxStore for CassandraInboxes {
    async fn connect(&self) -> Result<(), StoreError> {
        self.cassandra.connect().await
    }

    async fn identify(&self, _: Bucket) -> Result<NodeId, StoreError> {
        self.identity().await
    }

    /// The header first, then the rows of its fence: at least what the header claims.
    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        let Some(stored) = self.stored(reader).await?.filter(StoredHeader::is_there) else { return Ok(None) };
        let header = stored.header;
        let rows = self.rows(reader, header.fence, window).await?;
        Ok(Some(Slice { header, rows }))
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        self.admits(fence.token).await?;
        for _ in 0..TRIES {
            let before = self.stored(reader).await?;
            let Opening::Next(next, former) = StoredHeader::open(before.as_ref(), fence, nonce) else {
                return Err(InboxStoreError::Spent);
            };
            if self.set(reader, before.as_ref(), &next).await? {
                if let Some(former) = former {
                    self.drop_rows(reader, former).await;
                }
                return Ok(next.header.revision);
            }
        }
        Err(overtaken().into())
    }

    /// One insert for each recipient, whether or not there is an inbox of that fence.
    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
        self.admits(push.token).await?;
        let Connected { session, statements } = self.connected()?;
        let recipients = push.recipients.clone().into_iter();
        let inserts = recipients.map(|(reader, generation)| {
            let values = row_values(reader, Fence { token: push.token, generation }, push.row);
            async move { session.execute_unpaged(&statements.insert, values).await.map(drop) }
        });
        stream::iter(inserts).buffer_unordered(UNDER_WAY).try_collect::<()>().await.map_err(store_error)?;
        Ok(vec![Delivered::Added; push.recipients.len()])
    }

    /// Rows first: a claim that is seen has its rows.
    async fn claim(
        &self,
        reader: UserId,
        at: (BucketToken, Revision),
        claim: &Claim,
        _: usize,
    ) -> Result<bool, InboxStoreError> {
        self.admits(at.0).await?;
        let Some(before) = self.stored(reader).await? else { return Ok(false) };
        let Some(next) = before.claim(at, claim) else { return Ok(false) };
        self.insert(reader, before.header.fence, &claim.rows).await?;
        Ok(self.set(reader, Some(&before), &next).await?)
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, _: usize) -> Result<bool, InboxStoreError> {
        self.admits(fence.token).await?;
        let mut is_inserted = false;
        for _ in 0..TRIES {
            let Some(before) = self.stored(reader).await? else { return Ok(false) };
            let Some(next) = before.cover(fence, newest) else { return Ok(false) };
            if !is_inserted {
                self.insert(reader, fence, &newest.rows).await?;
                is_inserted = true;
            }
            if self.set(reader, Some(&before), &next).await? {
                return Ok(true);
            }
        }
        Err(overtaken().into())
    }

    /// Removes nothing: a removal could hide a row that is written later.
    async fn remove(&self, _: UserId, at: (BucketToken, Revision), _: &Cleared) -> Result<bool, InboxStoreError> {
        self.admits(at.0).await?;
        Ok(false)
    }

    /// The header stays, so that its revisions go on and its fence is never used again.
    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let Some(before) = self.stored(reader).await? else { return Ok(()) };
            let Some(next) = before.forget() else { return Ok(()) };
            if self.set(reader, Some(&before), &next).await? {
                self.drop_rows(reader, before.header.fence).await;
                return Ok(());
            }
        }
        Err(overtaken())
    }

    async fn is_too_long(&self, reader: UserId, keep: usize) -> Result<bool, StoreError> {
        let most = keep.saturating_mul(TOO_LONG);
        let window = Window { direction: Direction::Older, bound: None, limit: most.saturating_add(1) };
        Ok(self.slice(reader, &window).await?.is_some_and(|slice| slice.rows.len() > most))
    }
}
