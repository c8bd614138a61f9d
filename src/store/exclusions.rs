//! Mutes, hides and blocks. Only reads look here; inboxes, floors and edge modes do not depend on them.

use async_trait::async_trait;

use super::{StoreError, relations::Pair};
use crate::domain::{UserId, timeline::exclusion::ExclusionState};

/// How a mute or a hide ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// Kept out from now on.
    New,
    /// Was kept out; nothing changed.
    Already,
    /// There is no such user.
    UnknownUser,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// Neither sees the other from now on, and neither follows the other.
    New {
        /// The edges that there were: none, one or both.
        ended: Vec<Pair>,
    },
    /// Was blocked; nothing changed.
    Already,
    /// There is no such user.
    UnknownUser,
}

/// What a user has decided about others, as a list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusionList {
    /// Whom the user has muted.
    Muted,
    /// Whom the user has blocked.
    Blocked,
    /// From whom the user hides.
    HiddenFrom,
}

/// Exclusions. All changes are idempotent, each one transaction, true for the next read. Nobody is ever excluded from
/// their own timeline: callers pass two different users. Each change sets the version of the readers' authors
/// ([`super::timelines`]) to the fresh random `version`.
#[async_trait]
pub trait Exclusions: Send + Sync {
    /// `author`'s contents are not in `reader`'s timeline, by the reader's wish.
    async fn mute(&self, reader: UserId, author: UserId, version: i64) -> Result<Excluded, StoreError>;

    /// Lifts [`Self::mute`]; `false` if there was nothing to lift.
    async fn unmute(&self, reader: UserId, author: UserId, version: i64) -> Result<bool, StoreError>;

    /// `author`'s contents are not in `reader`'s timeline, by the author's wish.
    async fn hide(&self, author: UserId, reader: UserId, version: i64) -> Result<Excluded, StoreError>;

    /// Lifts [`Self::hide`]; `false` if there was nothing to lift.
    async fn unhide(&self, author: UserId, reader: UserId, version: i64) -> Result<bool, StoreError>;

    /// One transaction: neither is shown the other's contents, the follow edges between them end (counts and pending
    /// relations as in [`super::Follows::unfollow`]). Takes the counts of both first, by ascending id, as a follow
    /// does: no edge outlives a block.
    async fn block(&self, user: UserId, other: UserId, version: i64, now_ms: i64) -> Result<Blocked, StoreError>;

    /// Lifts `user`'s block of `other`; one that `other` has put stays. `false` if there was nothing to lift.
    async fn unblock(&self, user: UserId, other: UserId, version: i64) -> Result<bool, StoreError>;

    /// `user`'s mutes, hides and blocks among `others`: a row for each of them with at least one. Never what the others
    /// have decided. One statement.
    async fn exclusion_states(
        &self,
        user: UserId,
        others: &[UserId],
    ) -> Result<Vec<(UserId, ExclusionState)>, StoreError>;

    /// At most `limit` of the users about whom `user` has decided so, with ids above `after`, ascending. One
    /// statement.
    async fn excluded(
        &self,
        user: UserId,
        what: ExclusionList,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError>;
}
