//! Inboxes in a store beside SQL. In Redis each method is one script on each inbox, which checks at its own instant
//! which node answers; in Cassandra, a few statements whose order makes up for it. docs/protocol.md#outside says what
//! each operation keeps true.

use async_trait::async_trait;

use super::{StoreError, error::OfInboxes};
use crate::domain::{
    Position, UserId,
    timeline::outside::{
        Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, Generation, NodeId, Nonce, Revision, Slice,
        Window,
    },
};

/// Why an operation on an outside inbox failed.
#[derive(Debug, thiserror::Error)]
pub enum InboxStoreError {
    /// The answering node is not a master, or not the one in the token. The inbox is unchanged: read the token again.
    #[error("a different node of the inbox store answered")]
    OtherNode,
    /// The store has removed the rows of this fence and accepts no more for it. The reader needs another generation.
    #[error("the rows of this fence were removed for good")]
    Spent,
    /// It is unknown whether the operation was done. Repeating it is safe, and so is a late run: neither brings an old
    /// revision back.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Another node may be the right one soon.
impl From<InboxStoreError> for StoreError {
    fn from(error: InboxStoreError) -> Self {
        match error {
            InboxStoreError::OtherNode | InboxStoreError::Spent => {
                Self::Unavailable(Box::new(OfInboxes(Box::new(error))))
            }
            InboxStoreError::Store(error) => error,
        }
    }
}

/// One content for the inboxes of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The position of the content.
    pub row: Position,
    /// Readers of the bucket, each with the generation in the edge's snapshot.
    pub recipients: Vec<(UserId, Generation)>,
    /// The bucket's token in the same snapshot.
    pub token: BucketToken,
    /// Rows that an inbox keeps. Above 110 % it is trimmed, unless the store never trims.
    pub keep: usize,
    /// Gives the next revision of each inbox that is trimmed.
    pub nonce: Nonce,
}

/// The store of outside inboxes. It may lose anything at any time; its claims then no longer count.
///
/// Rows of a fence may be written before there is an inbox and after it has gone: they prove nothing without a header.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Connects if there is no connection, which may take many seconds. Until it has succeeded, every other method
    /// fails immediately. One task of each process calls it periodically. A store that needs no connection does
    /// nothing.
    async fn connect(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The identity of the master that holds the bucket now, for the bucket's token. In Cassandra it is the
    /// keyspace's, and a write has succeeded.
    async fn identify(&self, bucket: Bucket) -> Result<NodeId, StoreError>;

    /// Header and rows of a window: at one instant, or the header first. So the rows are at least what it claims.
    /// `None` without an inbox, from a replica, or if the inbox was opened under another node's identity.
    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError>;

    /// Replaces the reader's inbox, if any, by one that claims nothing, and returns its revision. A store that never
    /// trims keeps the rows of the same fence, and removes those of the former one for good: a fence that it has
    /// removed is [`InboxStoreError::Spent`]. Each run makes another revision, so that a claim on the revision of one
    /// run fails if the opening ran again.
    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError>;

    /// Adds a row to each recipient's inbox with the right token and generation, and skips the others. A store that
    /// keeps rows by fence adds it to all. Idempotent, and atomic for each inbox. Results are in the order of the
    /// recipients.
    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError>;

    /// Adds rows and claims them if token and revision still match. Returns whether they did.
    async fn claim(
        &self,
        reader: UserId,
        at: (BucketToken, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, InboxStoreError>;

    /// Adds an author's newest contents and raises the floor if there are older ones, if the inbox has this fence;
    /// whether it had. Repeated, it changes nothing but the revision.
    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, InboxStoreError>;

    /// Removes rows if token and revision still match. Returns whether they did; always false in a store that removes
    /// no single row.
    async fn remove(
        &self,
        reader: UserId,
        at: (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, InboxStoreError>;

    /// Whether an inbox has grown so long that it needs a new fence; never in a store that trims.
    async fn is_too_long(&self, _reader: UserId, _keep: usize) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Deletes the reader's inbox, whatever it is. Repeated or late, it costs at most a build: what is lost is not
    /// claimed.
    async fn forget(&self, reader: UserId) -> Result<(), StoreError>;
}
