//! Inboxes in a store beside SQL: each method is one script on each inbox, and checks at its own instant which node
//! answers. docs/protocol.md#outside says what each operation keeps true.

use async_trait::async_trait;

use super::{StoreError, error::OfRedis};
use crate::domain::{
    Position, UserId,
    timeline::outside::{
        Bucket, Claim, Cleared, Cover, Delivered, Fence, Generation, NodeId, Nonce, Revision, Slice, Token, Window,
    },
};

/// Why an operation on an outside inbox was not done.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// The node that answered is no master, or not the one that the token names. That inbox is unchanged: read the
    /// token again.
    #[error("a different node of the inbox store answered")]
    OtherNode,
    /// Whether it was done is unknown. It may be repeated, and may still run late: neither brings an old revision
    /// back.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Another node may be the right one soon.
impl From<OutsideError> for StoreError {
    fn from(error: OutsideError) -> Self {
        match error {
            OutsideError::OtherNode => Self::Unavailable(Box::new(OfRedis(Box::new(error)))),
            OutsideError::Store(error) => error,
        }
    }
}

/// One content for the inboxes of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// What is delivered.
    pub row: Position,
    /// All of one bucket, each with the generation that was read with the edge.
    pub recipients: Vec<(UserId, Generation)>,
    /// The bucket's token, of the same snapshot.
    pub token: Token,
    /// Rows that inboxes keep: above 110 % they are trimmed.
    pub keep: usize,
    /// Gives the next revision of each inbox that is trimmed.
    pub nonce: Nonce,
}

/// The store of outside inboxes. It may lose anything at any time; what it then says is no longer believed.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// The identity of the master that holds the bucket now: what an admission puts into a token.
    async fn identify(&self, bucket: Bucket) -> Result<NodeId, StoreError>;

    /// Header and rows of a window, of one instant. `None`: no inbox, a node that is no master, or an inbox that was
    /// opened under another node's identity.
    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError>;

    /// Replaces whatever is there by an inbox without rows that claims nothing; its revision. Each run gives another
    /// one, so that a claim on the revision of one run fails if the opening ran once more.
    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, OutsideError>;

    /// Adds a row to each recipient's inbox that has the token and the recipient's generation, and skips the others.
    /// Idempotent. Atomic for each inbox. Answers in the order of the recipients.
    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, OutsideError>;

    /// Adds rows and claims them, if the inbox has this token and the revision is still `expected`; whether it was.
    async fn claim(
        &self,
        reader: UserId,
        at: (Token, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, OutsideError>;

    /// Adds an author's newest contents and raises the floor if there are older ones, if the inbox has this fence;
    /// whether it had. Repeated, it changes nothing but the revision.
    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, OutsideError>;

    /// Removes rows, if the inbox has this token and the revision is still `expected`; whether it was.
    async fn remove(&self, reader: UserId, at: (Token, Revision), cleared: &Cleared) -> Result<bool, OutsideError>;
}
