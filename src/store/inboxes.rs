//! Inboxes and what is trusted of them. Every method is one transaction in the lock form of docs/protocol.md: the
//! reader's state row is locked first and everything else read after.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Floor, UserId, delivery::ReaderFacts, timeline::tier::LifeEnds};

/// The outcome of covering an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Covered {
    /// The edge is `Push` now.
    Yes {
        /// Rows inserted.
        rows: u64,
    },
    /// There is no edge, or it is not `Fill`.
    NotFilling,
    /// The edge is `Fill` and the reader's inbox lies outside SQL: nothing was done here.
    Outside,
}

/// The outcome of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extended {
    /// The floor is here now.
    To(Floor),
    /// The reader is off; nothing was done.
    Off,
}

/// A reader who has just been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenReader {
    /// The previous visit, in ms.
    pub before: Option<i64>,
    /// The reader's facts after this visit.
    pub reader: ReaderFacts,
    /// The floor after this visit.
    pub floor: Floor,
    /// Whether this visit has opened it: the reader had no inbox.
    pub was_off: bool,
}

/// The result of a trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trimmed {
    /// Rows deleted.
    pub rows: u64,
    /// Whether the floor was raised.
    pub raised: bool,
}

/// Inboxes and their states.
#[async_trait]
pub trait Inboxes: Send + Sync {
    /// The reader's floor; [`Floor::Off`] if there is no state.
    async fn floor(&self, reader: UserId) -> Result<Floor, StoreError>;

    /// docs/protocol.md#on and "mark seen", readers in ascending order: last seen becomes `now_ms`, and a floor that
    /// is off (or absent) becomes [`Floor::OPEN`], unless the inbox lies outside SQL; no other floor changes. How
    /// often a reader comes is smoothed; notes within [`crate::domain::limits::VISIT_MS`] are one visit. Two
    /// statements for every 256 readers, and two more if some have no state. In their order, without deleted
    /// accounts, whose inboxes stay off.
    async fn mark_seen(&self, readers: &[UserId], now_ms: i64) -> Result<Vec<SeenReader>, StoreError>;

    /// docs/protocol.md#cover: the newest `keep` contents of the author at or above the floor become inbox rows, the
    /// floor rises if that was cut, the edge becomes `Push`, the revision goes up, and `version`, a random number,
    /// becomes that of the reader's authors. Only if the edge is `Fill`.
    async fn cover(&self, reader: UserId, author: UserId, keep: u32, version: i64) -> Result<Covered, StoreError>;

    /// docs/protocol.md#x2: deletes the author's rows from the reader's inbox unless the edge exists (again).
    async fn clear_unfollowed(&self, reader: UserId, author: UserId) -> Result<u64, StoreError>;

    /// docs/protocol.md#extend: reads the `Push` authors' contents below the floor, the `step` newest become rows and
    /// the floor the oldest of them, or [`crate::domain::Position::OLDEST`] if there were fewer.
    async fn extend(&self, reader: UserId, step: u32) -> Result<Extended, StoreError> {
        let extended = self.extend_all(&[reader], step).await?;
        Ok(extended.first().map_or(Extended::Off, |(_, extended)| *extended))
    }

    /// As [`Inboxes::extend`], for many readers in ascending order, in one transaction. All states are locked before
    /// anything else is read. In their order, without deleted accounts.
    async fn extend_all(&self, readers: &[UserId], step: u32) -> Result<Vec<(UserId, Extended)>, StoreError>;

    /// Calls of [`Inboxes::extend_all`] that may run at once behind those who wait for an answer of the store; at
    /// least 1.
    fn room(&self) -> usize;

    /// Rows in the trusted part of the inbox, `at_most` of them counted.
    async fn held(&self, reader: UserId, at_most: u32) -> Result<u64, StoreError>;

    /// [`Inboxes::overfull`] passes over the reader until this time (ms). Changes nothing else.
    async fn keep_deep(&self, reader: UserId, until_ms: i64) -> Result<(), StoreError>;

    /// docs/protocol.md#trim: keeps the newest `keep` rows and raises the floor to the oldest of them; an inbox that
    /// is off loses all rows.
    async fn trim(&self, reader: UserId, keep: u32) -> Result<Trimmed, StoreError>;

    /// Gives up everything that the inbox claims and deletes its rows: docs/protocol.md#off, TRIM and ON in one
    /// transaction. Deliveries include the reader as before; one who is off stays so. Returns how many rows went.
    async fn reset(&self, reader: UserId) -> Result<u64, StoreError>;

    /// docs/protocol.md#off, set-based: readers last seen before `seen_before_ms` are off, at most `limit`. Returns
    /// how many.
    async fn turn_off_unseen(&self, seen_before_ms: i64, limit: u64) -> Result<u64, StoreError>;

    /// Readers with ids above `after` whose inbox holds more than `keep` rows, or is off and holds any: at most
    /// `limit` states are looked at, ascending. Inboxes that are on and kept deep until one of the times `deep` are
    /// passed over. Returns them and the last id looked at (`None` at the end).
    async fn overfull(
        &self,
        after: i64,
        keep: u32,
        limit: u64,
        deep: LifeEnds,
    ) -> Result<(Vec<UserId>, Option<i64>), StoreError>;
}
