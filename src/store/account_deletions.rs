//! Deleted accounts. One row hides everything of the user at once; a worker then deletes it step by step.

use async_trait::async_trait;

use super::{StoreError, accounts::PasswordHash, relations::Pair};
use crate::domain::{Entry, SessionId, UserId};

/// How the deletion of an account ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// The account is gone; these sessions have ended with it.
    Gone {
        /// Whatever sessions there were.
        sessions: Vec<SessionId>,
    },
    /// The password is another one by now, or there is one after all.
    PasswordChanged,
    /// There is no such account, or none any more.
    Unknown,
}

/// A deleted account of which something may be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remains {
    /// Whose it was.
    pub user: UserId,
    /// When it was deleted, ms UTC.
    pub deleted_at: i64,
}

/// A content that a deleted account leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftContent {
    /// Which.
    pub entry: Entry,
    /// Whether it has been removed.
    pub is_removed: bool,
}

/// Deleted accounts.
#[async_trait]
pub trait AccountDeletions: Send + Sync {
    /// One transaction of a fixed size, whatever the user has: the profile is blanked except for the handle, which
    /// stays theirs; password, sessions and counts go, the inbox's floor is off (docs/protocol.md#off), and a row says
    /// that the account is deleted. From then on no read shows the user or anything of theirs, and every write of
    /// theirs is refused. `password` is what the user's must be; `None`: they have none.
    async fn delete(&self, user: UserId, password: Option<&PasswordHash>, now_ms: i64) -> Result<Deleted, StoreError>;

    /// One transaction: the deleted account that has waited longest among those that are to be looked at by `now_ms`;
    /// nobody else is given it before `next_look_ms`.
    async fn due(&self, now_ms: i64, next_look_ms: i64) -> Result<Option<Remains>, StoreError>;

    /// When the account is to be looked at next; `None`: nothing is left of it.
    async fn look_at(&self, user: UserId, at_ms: Option<i64>) -> Result<(), StoreError>;

    /// The user's oldest contents that [`AccountDeletions::erase`] has not passed yet, `limit` at most, oldest first.
    async fn contents_left(&self, user: UserId, limit: u64) -> Result<Vec<LeftContent>, StoreError>;

    /// One transaction: blanks texts, media and keys of these contents, which are removed, and passes the last of
    /// them. Idempotent.
    async fn erase(&self, user: UserId, contents: &[Entry]) -> Result<(), StoreError>;

    /// Edges of the user in either direction, their own to themselves included, `limit` at most of each direction.
    async fn edges_left(&self, user: UserId, limit: u64) -> Result<Vec<Pair>, StoreError>;

    /// One transaction: takes back `limit` of the user's reactions at most and lowers the counters; returns how many.
    async fn take_back_reactions(&self, user: UserId, limit: u64) -> Result<u64, StoreError>;

    /// One transaction: deletes what is the user's alone, read marker, mutes, hides and blocks of and by them, and
    /// sessions that began while the account was deleted; `limit` rows at most of each kind. The version of the authors
    /// ([`super::timelines`]) of each reader who excluded the user becomes the fresh random `version`. Returns how
    /// many rows went.
    async fn clear(&self, user: UserId, version: i64, limit: u64) -> Result<u64, StoreError>;
}
