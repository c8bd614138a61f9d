//! Contents whose delivery is not finished, and the subtasks that they are cut into. A delivery record is at once the
//! transactional event, the retry record and a read source.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    ContentId, Entry,
    delivery::{DeliveryPolicy, subtask::Progress},
};

/// A delivery that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What is delivered.
    pub entry: Entry,
    /// Whether the content was removed: nothing need be delivered any more.
    pub removed: bool,
    /// Failures so far.
    pub attempts: u32,
    /// What the last failure said; empty if there was none.
    pub last_error: String,
}

/// A subtask: the content, and how far its range has come. Identity: content and `progress.range.after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subtask {
    /// Whose delivery.
    pub content: ContentId,
    /// Place in the chain, from 1; for people, nothing depends on it.
    pub task_no: i32,
    /// What is served and what is left.
    pub progress: Progress,
}

/// A batch of a subtask, done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// Progress after it; `None` if the subtask is gone (its delivery was finished by another worker).
    pub progress: Option<Progress>,
    /// Inbox rows inserted; those that were there do not count.
    pub rows: u64,
}

/// How an attempt to deliver in one transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtOnce {
    /// The record is gone: everybody is served, or the content is removed, or another worker has ended the delivery.
    Ended {
        /// Inbox rows inserted; those that were there do not count.
        rows: u64,
    },
    /// It has to be cut into subtasks, or has been. Nothing was changed.
    ToBeCut,
}

/// Whom a delivery serves before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    /// Only if there are more targets than this, which is what one transaction serves.
    pub more_than: u32,
    /// Only who was seen at this time (ms) or later.
    pub seen_since_ms: i64,
    /// Those of them who were seen last, at most so many.
    pub most: u32,
}

/// What is waiting, for metrics and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Deliveries not finished.
    pub unfinished: u64,
    /// Of those, how many have failed at least as often as asked.
    pub failing: u64,
    /// Publish time (ms) of the oldest.
    pub oldest: Option<i64>,
}

/// Deliveries and subtasks.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// The delivery record of a content; `None` if it is finished.
    async fn find(&self, content: ContentId) -> Result<Option<Delivery>, StoreError>;

    /// docs/protocol.md#d1, #d2 and #d3 in one transaction that locks the record first: serves the one range that all
    /// followers are, and deletes the record. Only if no subtask was cut yet, the author has at most `most` followers,
    /// themselves included, and `policy` need not look at them. If the content is removed, deletes the record and its
    /// subtasks.
    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError>;

    /// Before the first range is cut, in one transaction that locks the record first: inserts the rows of the targets
    /// whom `first` means, of those among the [`crate::domain::limits::MAX_LAST_SEEN`] readers seen last if the author
    /// has as many followers. Nothing else changes: the ranges hold them as well. Returns how many rows.
    async fn serve_first(&self, content: ContentId, first: First) -> Result<u64, StoreError>;

    /// docs/protocol.md#d1, one transaction: adds at most `limit` ranges of `subtask_size` followers to the end of the
    /// content's chain. Does nothing if the record is gone or the chain complete. Returns whether the chain is
    /// complete now.
    async fn extend_chain(&self, content: ContentId, subtask_size: u32, limit: usize) -> Result<bool, StoreError>;

    /// Subtasks of a content that are not done, ascending.
    async fn open_subtasks(&self, content: ContentId) -> Result<Vec<Subtask>, StoreError>;

    /// Takes a subtask until `lease_until_ms`, if it is not done and no lease is running at `now_ms`; one conditional
    /// statement. `None` if there is nothing to take. A lease only saves work: two executors at one subtask change
    /// nothing. One that ends more than `MAX_WAIT_MS` from now does not count.
    async fn take_subtask(
        &self,
        content: ContentId,
        after: i64,
        now_ms: i64,
        lease_until_ms: i64,
    ) -> Result<Option<Subtask>, StoreError>;

    /// docs/protocol.md#d2, one transaction, READ COMMITTED: one `INSERT .. SELECT` for the next `batch_size`
    /// followers of the subtask, then its progress (which never goes back). Skips only absent and `Pull` edges and
    /// readers that are off.
    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError>;

    /// docs/protocol.md#d3, one transaction: if the chain is complete and every subtask done, or the content removed,
    /// deletes the record and its subtasks. Returns whether the record is gone.
    async fn finish(&self, content: ContentId) -> Result<bool, StoreError>;

    /// Counts a failure, keeps its text (cut to 500 characters), and sets when the sweeper looks again. Ends the lease
    /// of the subtask that failed, the one with the range that begins at `subtask`, if it was one.
    async fn record_failure(
        &self,
        content: ContentId,
        subtask: Option<i64>,
        error: &str,
        retry_at_ms: i64,
    ) -> Result<(), StoreError>;

    /// Records whose time to be looked at again has come, or lies more than `MAX_WAIT_MS` ahead, oldest first, at most
    /// `limit`; each is set to `next_look_ms` in the same transaction, so that several sweepers share the work: twice
    /// and then four times as far ahead the more often it was looked at.
    async fn due(&self, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Delivery>, StoreError>;

    /// What is waiting; `failing` counts records with at least `attempts` failures.
    async fn backlog(&self, attempts: u32) -> Result<Backlog, StoreError>;

    /// Records with at least `attempts` failures, oldest first, at most `limit`.
    async fn failing(&self, attempts: u32, limit: u64) -> Result<Vec<Delivery>, StoreError>;
}
