//! Deleted accounts. One row hides everything of the user at once; a worker then deletes it step by step.

use async_trait::async_trait;

use super::{StoreError, new_account::PasswordHash, relations::Pair};
use crate::domain::{Entry, Handle, SessionId, UserId};

/// The outcome of deleting an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// The account is deleted, and these sessions have ended with it.
    Gone {
        /// All of the user's sessions.
        sessions: Vec<SessionId>,
    },
    /// The password is a different one now, or the user has got one.
    PasswordChanged,
    /// There is no such account, or it has been deleted before.
    Unknown,
}

/// A deleted account that may have rows left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedAccount {
    /// The deleted user.
    pub user: UserId,
    /// When it was deleted, ms UTC.
    pub deleted_at: i64,
}

/// A content left over from a deleted account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftContent {
    /// Its entry.
    pub entry: Entry,
    /// Whether it has been removed.
    pub is_removed: bool,
}

/// Deleted accounts.
#[async_trait]
pub trait AccountDeletions: Send + Sync {
    /// One transaction, the same size for every user. It blanks the profile except the handle, which stays reserved,
    /// deletes password, sessions and counts, turns the inbox off (docs/protocol.md#off), and inserts the row that
    /// marks the account as deleted. From then on no read shows the user or their contents, and all writes of theirs
    /// are refused. `password` is the user's hash; `None` for users without a password.
    async fn delete(&self, user: UserId, password: Option<&PasswordHash>, now_ms: i64) -> Result<Deleted, StoreError>;

    /// Whether an account that had this handle has been deleted.
    async fn was_deleted(&self, handle: &Handle) -> Result<bool, StoreError>;

    /// One transaction: takes the deleted account that has waited longest of those due by `now_ms`. No other node gets
    /// it before `next_look_ms`.
    async fn due(&self, now_ms: i64, next_look_ms: i64) -> Result<Option<DeletedAccount>, StoreError>;

    /// Sets when to look at the account next; `None`: nothing of it is left.
    async fn look_at(&self, user: UserId, at_ms: Option<i64>) -> Result<(), StoreError>;

    /// The user's oldest contents beyond those that [`AccountDeletions::erase`] has passed: at most `limit`, oldest
    /// first.
    async fn contents_left(&self, user: UserId, limit: u64) -> Result<Vec<LeftContent>, StoreError>;

    /// One transaction: blanks text, media and key of these removed contents, and moves the mark behind the last of
    /// them. Idempotent.
    async fn erase(&self, user: UserId, contents: &[Entry]) -> Result<(), StoreError>;

    /// The user's edges in both directions, including the one to themselves: at most `limit` in each direction.
    async fn edges_left(&self, user: UserId, limit: u64) -> Result<Vec<Pair>, StoreError>;

    /// One transaction: deletes at most `limit` reactions of the user and lowers the counters. Returns how many.
    async fn take_back_reactions(&self, user: UserId, limit: u64) -> Result<u64, StoreError>;

    /// One transaction: deletes the user's read marker, the mutes, hides and blocks by and of them, and sessions that
    /// began during the deletion, and turns off an inbox that opened during it; at most `limit` rows of each kind. The
    /// version of the authors ([`super::timelines`]) of each reader who excluded the user becomes the fresh random
    /// `version`. Returns the number of rows.
    async fn clear(&self, user: UserId, version: i64, limit: u64) -> Result<u64, StoreError>;
}
