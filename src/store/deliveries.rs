//! Unfinished deliveries and their subtasks. A delivery record is at once the transactional event, the retry record
//! and a source that pages read.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    ContentId, Entry,
    delivery::{AuthorFacts, DeliveryPolicy, subtask::Progress},
};

/// An unfinished delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The content to deliver.
    pub entry: Entry,
    /// Whether the content was removed, so that there is nothing to deliver.
    pub removed: bool,
    /// Failures so far.
    pub attempts: u32,
    /// The last failure; empty if there was none.
    pub last_error: String,
}

/// A subtask of a content's delivery. Identity: content and `progress.range.after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subtask {
    /// The content.
    pub content: ContentId,
    /// Place in the chain, from 1; only for people.
    pub task_no: i32,
    /// The range and its progress.
    pub progress: Progress,
}

/// The result of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// The progress after it; `None` if the subtask is gone because another worker has finished the delivery.
    pub progress: Option<Progress>,
    /// New inbox rows.
    pub rows: u64,
}

/// The time of a worker who takes a subtask, in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When it is taken.
    pub now_ms: i64,
    /// When others may take it.
    pub until_ms: i64,
}

/// The outcome of beginning a subtask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Begun {
    /// The subtask is done, gone, or leased by somebody else.
    NotTaken,
    /// The policy needs facts about this author's followers first, or there are inboxes outside SQL, whose rows no
    /// transaction writes. Nothing was changed.
    ToBeJudged(AuthorFacts),
    /// The first batch is served.
    Served {
        /// The subtask after it.
        subtask: Subtask,
        /// New inbox rows.
        rows: u64,
        /// Whether the delivery ended with it.
        ended: bool,
    },
}

/// The outcome of delivering in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtOnce {
    /// The record is gone: everybody is served, the content was removed, or another worker has finished the delivery.
    Ended {
        /// New inbox rows.
        rows: u64,
    },
    /// The delivery must be cut into subtasks, or has been. Nothing was changed.
    ToBeCut,
}

/// The outcome of ending the deliveries of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Together {
    /// New inbox rows of the deliveries that have ended.
    pub rows: u64,
    /// Deliveries that are as they were: cut, of a removed content, or to a target outside SQL.
    pub left: Vec<Entry>,
    /// Deliveries that are as they were, because their author's contents, times the targets, are too many.
    pub too_many: Vec<Entry>,
}

/// Which followers a delivery serves before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    /// Only if there are more targets than one transaction serves.
    pub more_than: u32,
    /// Only followers seen at this time (ms) or later.
    pub seen_since_ms: i64,
    /// The most followers to serve, the last-seen first.
    pub most: u32,
}

/// The waiting work, for metrics and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Unfinished deliveries.
    pub unfinished: u64,
    /// Those with at least the given number of failures.
    pub failing: u64,
    /// Publish time (ms) of the oldest one.
    pub oldest: Option<i64>,
}

/// Deliveries and subtasks.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// The delivery record of a content; `None` once the delivery is finished.
    async fn find(&self, content: ContentId) -> Result<Option<Delivery>, StoreError>;

    /// docs/protocol.md#d1, #d2 and #d3 in one transaction that locks the record first: serves all followers as one
    /// range and deletes the record. Only if no subtask was cut yet, the author has at most `most` followers,
    /// themselves included, and `policy` needs no facts about them. If the content is removed, deletes the record and
    /// its subtasks.
    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError>;

    /// docs/protocol.md#deliveries-of-a-batch: [`Self::deliver_at_once`] for the records of all these contents, in one
    /// transaction that locks them first, by one statement for all rows. Leaves the records of authors whose contents
    /// here, times their targets, are more than `most`, records that were cut, those of removed contents, and those of
    /// authors with a target outside SQL.
    async fn deliver_together(&self, contents: &[ContentId], most: u64) -> Result<Together, StoreError>;

    /// One transaction that locks the record before the first range is cut: inserts the rows of the followers that
    /// `first` selects, for popular authors among the [`crate::domain::limits::MAX_LAST_SEEN`] last-seen readers. The
    /// ranges serve them again, so nothing else changes. Returns the number of rows.
    async fn serve_first(&self, content: ContentId, first: First) -> Result<u64, StoreError>;

    /// docs/protocol.md#d1, one transaction: appends at most `limit` ranges of `subtask_size` followers to the
    /// content's chain. Does nothing if the record is gone or the chain is complete. Returns whether the chain is
    /// complete now.
    async fn extend_chain(&self, content: ContentId, subtask_size: u32, limit: usize) -> Result<bool, StoreError>;

    /// The unfinished subtasks of a content, ascending.
    async fn open_subtasks(&self, content: ContentId) -> Result<Vec<Subtask>, StoreError>;

    /// Takes a subtask for the time of `lease`, unless it is done or somebody else's lease runs, in one conditional
    /// statement.
    /// `None` if it cannot be taken. A lease only saves work: two executors of one subtask do no harm. A lease that
    /// ends more than `MAX_WAIT_MS` from now does not count.
    async fn take_subtask(&self, subtask: (ContentId, i64), lease: Lease) -> Result<Option<Subtask>, StoreError>;

    /// docs/protocol.md#d2, one transaction, READ COMMITTED: one `INSERT .. SELECT` for the next `batch_size`
    /// followers of the subtask, then its progress, which never goes back. Skips only missing edges, `Pull` edges and
    /// readers who are off.
    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError>;

    /// docs/protocol.md#begun-subtasks, one transaction: [`Self::take_subtask`], [`Self::push_batch`] for its next
    /// `batch_size` followers and, if no other subtask is open when it begins, [`Self::finish`]. Does nothing if
    /// `policy` needs facts about the author's followers, or some bucket of inboxes outside SQL has a token.
    async fn begin_subtask(
        &self,
        subtask: (ContentId, i64),
        lease: Lease,
        batch_size: u32,
        policy: &DeliveryPolicy,
    ) -> Result<Begun, StoreError>;

    /// docs/protocol.md#d3, one transaction: deletes the record and its subtasks if the chain is complete and all
    /// subtasks are done, or if the content was removed. Returns whether the record is gone. If it is not yet time,
    /// one statement outside any transaction says so.
    async fn finish(&self, content: ContentId) -> Result<bool, StoreError>;

    /// Counts a failure, stores its text (cut to 500 characters), and sets when the sweeper looks again. Ends the
    /// lease of the failed subtask, whose range begins at `subtask`.
    async fn record_failure(
        &self,
        content: ContentId,
        subtask: Option<i64>,
        error: &str,
        retry_at_ms: i64,
    ) -> Result<(), StoreError>;

    /// At most `limit` records that are due, or due more than `MAX_WAIT_MS` ahead, oldest first, of those that are to
    /// be looked at from `from_ms` on. The same transaction sets each to `next_look_ms`, or twice or four times as far
    /// ahead after repeated looks. So several sweepers share the work.
    async fn due(&self, from_ms: i64, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Delivery>, StoreError>;

    /// The waiting work that is to be looked at from `from_ms` on; `failing` counts records with at least `attempts`
    /// failures. Reads each of these records.
    async fn backlog(&self, from_ms: i64, attempts: u32) -> Result<Backlog, StoreError>;

    /// Records with at least `attempts` failures, oldest first, at most `limit`.
    async fn failing(&self, attempts: u32, limit: u64) -> Result<Vec<Delivery>, StoreError>;
}
