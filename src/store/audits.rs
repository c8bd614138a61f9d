//! What an audit reads: a reader's rows, compared with the invariant of docs/coverage.md.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Entry, UserId, timeline::audit::DifferenceCause};

/// A flaw among a reader's rows. One that is trusted makes some page wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flaw {
    /// [`DifferenceCause::Hole`] or [`DifferenceCause::Misplaced`].
    pub cause: DifferenceCause,
    /// The content that is missing; or the row as it stands.
    pub entry: Entry,
}

/// Audits of rows.
#[async_trait]
pub trait Audits: Send + Sync {
    /// Readers with an inbox that may be trusted (one that is not off), ids above `after`, ascending, at most `limit`.
    async fn readers(&self, after: i64, limit: u64) -> Result<Vec<UserId>, StoreError>;

    /// The highest id that [`Audits::readers`] could name; 0 if there is none. One look at the end of an index.
    async fn last_reader(&self) -> Result<i64, StoreError>;

    /// Flaws of the trusted part of the reader's inbox, at most `limit` of each kind. One statement, hence one
    /// snapshot: what it names was wrong at that instant, whatever went on.
    async fn flaws(&self, reader: UserId, limit: u64) -> Result<Vec<Flaw>, StoreError>;
}
