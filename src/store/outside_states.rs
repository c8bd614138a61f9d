//! What the primary store says of inboxes outside it: who has one, under which fence, from what its claims were read,
//! and whom a delivery must reach there. docs/protocol.md#outside has the rules.

use async_trait::async_trait;

use super::{
    StoreError,
    deliveries::{AtOnce, Pushed, Subtask},
    relations::Pair,
};
use crate::domain::{
    ContentId, Entry, Position, UserId,
    delivery::DeliveryPolicy,
    timeline::{
        candidates::Candidates,
        outside::{Basis, Bucket, BucketToken, Expected, Fence, Generation, Slice, Window},
    },
};

/// One side of a page's bound: what was asked of the inbox, and what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideRead {
    /// Away from the bound.
    pub window: Window,
    /// Read before the statement.
    pub slice: Slice,
}

/// The result of a page's statement for a reader whose inbox lies outside SQL.
#[derive(Debug, Clone)]
pub struct OutsideCandidates {
    /// `None`: the reader has no outside inbox of the fence that was asked for.
    pub expected: Option<Expected>,
    /// The floor is the slice's.
    pub found: Candidates,
}

/// A recipient outside, as the recipients' transaction has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// Who.
    pub reader: UserId,
    /// Of the reader's bucket and stay.
    pub fence: Fence,
}

/// A reader in the outside tier whose bucket has a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedReader {
    /// Who.
    pub reader: UserId,
    /// Of the reader's bucket and stay.
    pub fence: Fence,
    /// Of the claim; `None`: there is none.
    pub basis: Option<Basis>,
}

/// A batch that an executor is about to write outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideBatch {
    /// What is delivered.
    pub entry: Entry,
    /// Everybody outside whom the batch reaches and whose bucket has a token.
    pub recipients: Vec<Recipient>,
    /// The last follower id of the batch.
    pub through: i64,
    /// The number that progress must name.
    pub attempt: i64,
}

/// Who is in which tier, and how the buckets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Occupancy {
    /// Readers whose inbox is in SQL.
    pub in_sql: u64,
    /// Readers who have none.
    pub without: u64,
    /// Readers in the outside tier.
    pub readers: u64,
    /// Of those, who have built a claim.
    pub claimed: u64,
    /// Buckets with a token.
    pub admitted: u64,
}

/// Why work on inboxes outside SQL is refused.
#[derive(Debug, thiserror::Error)]
#[error(
    "readers have inboxes outside SQL, and this node is not configured for them: set inbox.store as on the other nodes"
)]
pub struct NotConfigured;

impl From<NotConfigured> for StoreError {
    fn from(refused: NotConfigured) -> Self {
        Self::Refused(Box::new(refused))
    }
}

/// States of outside inboxes. No method does anything in the outside store.
#[async_trait]
pub trait OutsideStates: Send + Sync {
    /// The token of each bucket that has one.
    async fn tokens(&self) -> Result<Vec<(Bucket, BucketToken)>, StoreError>;

    /// Sets a bucket's token, or none, if it still is `former`; whether it was. One transaction.
    async fn set_token(
        &self,
        bucket: Bucket,
        former: Option<BucketToken>,
        next: Option<BucketToken>,
    ) -> Result<bool, StoreError>;

    /// The fences of those of the readers who are in the outside tier and whose bucket has a token, and the basis of
    /// the claim, if there is one. In ascending order.
    async fn fences(&self, readers: &[UserId]) -> Result<Vec<FencedReader>, StoreError>;

    /// As [`Self::fences`], of one reader.
    async fn fence(&self, reader: UserId) -> Result<Option<(Fence, Option<Basis>)>, StoreError> {
        Ok(self.fences(&[reader]).await?.first().map(|it| (it.fence, it.basis)))
    }

    /// Lets those of the readers, in ascending order, who are not in the outside tier, and whose bucket has a token,
    /// enter it under these generations, and turns their inboxes in SQL off: one transaction. Returns who entered: no
    /// deleted account does.
    async fn enter_all(&self, readers: &[(UserId, Generation)]) -> Result<Vec<UserId>, StoreError>;

    /// As [`Self::enter_all`], of one reader; whether the reader entered.
    async fn enter(&self, reader: UserId, generation: Generation) -> Result<bool, StoreError> {
        Ok(!self.enter_all(&[(reader, generation)]).await?.is_empty())
    }

    /// Lets a reader leave the outside tier, and opens the inbox in SQL: one transaction. Whether the reader left.
    async fn leave(&self, reader: UserId) -> Result<bool, StoreError>;

    /// Readers of the outside tier with ids above `after` who were last seen before this time (ms), or never: at most
    /// `limit` of the tier are looked at, ascending. Returns them and the last id looked at (`None` at the end).
    async fn unseen(
        &self,
        after: i64,
        seen_before_ms: i64,
        limit: u64,
    ) -> Result<(Vec<UserId>, Option<i64>), StoreError>;

    /// The transaction of builds, of readers in ascending order: for each the newest `keep` contents of all whom the
    /// reader follows, whatever the modes, and the basis as that of the claim. Readers who are not in the outside tier
    /// under their generation are left out.
    async fn read_for_builds(
        &self,
        builds: &[(UserId, Generation, Basis)],
        keep: u32,
    ) -> Result<Vec<(UserId, Vec<Position>)>, StoreError>;

    /// The first transaction of covering: the author's newest `keep` contents and the reader's fence; the edge gets
    /// this incarnation. `None`: the edge is not `Fill`, or the reader is not in the outside tier. Without a fence,
    /// the bucket has no token.
    async fn read_for_cover(
        &self,
        pair: Pair,
        keep: u32,
        incarnation: i64,
    ) -> Result<Option<(Option<Fence>, Vec<Position>)>, StoreError>;

    /// The last transaction of covering: the edge becomes `Push` if it is `Fill`, has this incarnation, and the reader
    /// is still in the outside tier; whether it was. The incarnation also becomes the version of the reader's authors:
    /// it was drawn for this covering.
    async fn trust(&self, pair: Pair, incarnation: i64) -> Result<bool, StoreError>;

    /// The transaction that reads the recipients of a whole delivery, if [`Self::deliver_at_once_as`] would end it.
    async fn begin_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
        attempt: i64,
    ) -> Result<Option<OutsideBatch>, StoreError>;

    /// As [`super::Deliveries::deliver_at_once`], after the recipients of this attempt have their rows.
    async fn deliver_at_once_as(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
        attempt: i64,
    ) -> Result<AtOnce, StoreError>;

    /// The transaction that reads the recipients of a subtask's next `batch_size` followers. `None`: nothing is left
    /// of it.
    async fn begin_batch(
        &self,
        subtask: &Subtask,
        batch_size: u32,
        attempt: i64,
    ) -> Result<Option<OutsideBatch>, StoreError>;

    /// As [`super::Deliveries::push_batch`], of the batch whose recipients of this attempt have their rows. Does
    /// nothing if another attempt has begun since.
    async fn push_batch_as(&self, subtask: &Subtask, through: i64, attempt: i64) -> Result<Pushed, StoreError>;

    /// Counts for operators: inboxes outside SQL, and admitted inbox buckets.
    async fn occupancy(&self) -> Result<Occupancy, StoreError>;
}
