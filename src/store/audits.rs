//! Finds rows that contradict others: flaws in a reader's inbox (the invariant of docs/coverage.md), and counters that
//! differ from what they count.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{ContentId, Entry, UserId, timeline::audit::DifferenceCause};

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

/// What counters are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Likes, bookmarks, replies and reposts of a content.
    Content(ContentId),
    /// Followers, followed authors and contents of a user.
    User(UserId),
}

/// A counter that differs from the number of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Miscount {
    /// Whose counter it is.
    pub of: Counted,
    /// Its name in the API, such as `likes`.
    pub counter: &'static str,
    /// What it says.
    pub kept: i64,
    /// How many rows there are.
    pub rows: i64,
}

/// The wrong counters among some contents or users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recount {
    /// The wrong ones.
    pub miscounts: Vec<Miscount>,
    /// The last id that was looked at, from which to go on; `None` at the end.
    pub last: Option<i64>,
    /// How many contents or users were looked at.
    pub looked_at: u64,
}

/// Audits of counters.
#[async_trait]
pub trait CounterAudits: Send + Sync {
    /// Compares the counters of at most `limit` contents with ids above `after`. One statement, so that counters and
    /// rows are of one instant.
    async fn recount_contents(&self, after: i64, limit: u64) -> Result<Recount, StoreError>;

    /// As [`CounterAudits::recount_contents`], of users.
    async fn recount_users(&self, after: i64, limit: u64) -> Result<Recount, StoreError>;

    /// Sets the counters to the numbers of their rows, whatever happens meanwhile.
    async fn correct(&self, of: Counted) -> Result<(), StoreError>;
}
