//! Inboxes outside SQL. Each method is one script on each inbox, and checks which node answers. No page uses them yet.
//! docs/protocol.md#outside states what each operation guarantees.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    Position, UserId,
    timeline::outside::{
        Bucket, Claim, Cleared, Cover, Delivered, Fence, Generation, NodeId, Revision, Slice, Token, Window,
    },
};

/// Why an operation on an outside inbox failed.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// The answering node is not a master, or not the one in the token. The inbox is unchanged: read the token again.
    #[error("a different node of the inbox store answered")]
    OtherNode,
    /// The operation may or may not have been done. Repeated or late operations can bring back an old revision:
    /// docs/protocol.md#outside says what is still open.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One content for inboxes of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The position of the content.
    pub row: Position,
    /// Readers of the bucket, each with the generation in the edge's snapshot.
    pub recipients: Vec<(UserId, Generation)>,
    /// The bucket's token in the same snapshot.
    pub token: Token,
    /// Rows that an inbox keeps. Above 110 % it is trimmed.
    pub keep: usize,
    /// The next revision of a trimmed inbox.
    pub revision: Revision,
}

/// The store of outside inboxes. It may lose anything at any time; its claims then no longer count.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// The identity of the master that holds the bucket now, for the bucket's token.
    async fn identify(&self, bucket: Bucket) -> Result<NodeId, StoreError>;

    /// Header and rows of a window at one instant. `None` without an inbox, from a replica, or if the inbox was opened
    /// under another node's identity.
    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError>;

    /// Replaces the inbox with one without rows and claim. A repetition with the same revision, before any claim,
    /// keeps what was delivered since, because a finished delivery does not come again.
    async fn open(&self, reader: UserId, fence: Fence, revision: Revision) -> Result<(), OutsideError>;

    /// Adds a row to each recipient's inbox with the right token and generation, and skips the others. Idempotent, and
    /// atomic for each inbox. Results are in the order of the recipients.
    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, OutsideError>;

    /// Adds rows and claims them if token and revision still match. Returns whether they did.
    async fn claim(
        &self,
        reader: UserId,
        at: (Token, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, OutsideError>;

    /// Adds an author's newest contents if the fence matches, and raises the floor if there are older ones. Returns
    /// whether it matched. Idempotent except for the revision.
    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, OutsideError>;

    /// Removes rows if token and revision still match. Returns whether they did.
    async fn remove(&self, reader: UserId, at: (Token, Revision), cleared: &Cleared) -> Result<bool, OutsideError>;
}
