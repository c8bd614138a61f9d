//! Finds flaws in a reader's inbox: rows that contradict the invariant of docs/coverage.md.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Entry, UserId, timeline::audit::DifferenceCause};

/// A flaw in a reader's inbox. In the trusted part it makes some page wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    /// [`DifferenceCause::Hole`] or [`DifferenceCause::Misplaced`].
    pub cause: DifferenceCause,
    /// The missing content, or the wrong row.
    pub entry: Entry,
}

/// Audits of rows.
#[async_trait]
pub trait Audits: Send + Sync {
    /// Readers whose inbox is on, or lies outside SQL: at most `limit` ids above `after`, ascending.
    async fn readers(&self, after: i64, limit: u64) -> Result<Vec<UserId>, StoreError>;

    /// The highest id that [`Audits::readers`] could return; 0 without readers. Reads the end of an index.
    async fn last_reader(&self) -> Result<i64, StoreError>;

    /// Flaws in the trusted part of the reader's inbox, at most `limit` of each kind. One statement, so all flaws
    /// existed at one instant.
    async fn flaws(&self, reader: UserId, limit: u64) -> Result<Vec<Flaw>, StoreError>;
}
