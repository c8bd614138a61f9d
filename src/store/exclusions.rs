//! Mutes, hides and blocks. Only reads look here; inboxes, floors and edge modes do not depend on them.

use async_trait::async_trait;

use super::{StoreError, relations::Pair};
use crate::domain::{UserId, timeline::exclusion::ExclusionState};

/// The outcome of a mute or a hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// The author is kept out from now on.
    New,
    /// The author was kept out before; nothing changed.
    Already,
    /// There is no such user.
    UnknownUser,
}

/// The outcome of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// Neither sees or follows the other from now on.
    New {
        /// The ended follow edges.
        ended: Vec<Pair>,
    },
    /// The block existed; nothing changed.
    Already,
    /// There is no such user.
    UnknownUser,
}

/// A user's decisions about others, as a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusionList {
    /// Whom the user has muted.
    Muted,
    /// Whom the user has blocked.
    Blocked,
    /// From whom the user hides.
    HiddenFrom,
}

/// Exclusions. All changes are idempotent transactions that take effect on the next read. Callers pass two different
/// users: nobody is excluded from their own timeline. Each change sets the version of the readers' authors
/// ([`super::timelines`]) to the newly drawn `version`.
#[async_trait]
pub trait Exclusions: Send + Sync {
    /// Keeps `author` out of `reader`'s timeline on the reader's behalf.
    async fn mute(&self, reader: UserId, author: UserId, version: i64) -> Result<Excluded, StoreError>;

    /// Lifts [`Self::mute`]; `false` if there was nothing to lift.
    async fn unmute(&self, reader: UserId, author: UserId, version: i64) -> Result<bool, StoreError>;

    /// Keeps `author` out of `reader`'s timeline on the author's behalf.
    async fn hide(&self, author: UserId, reader: UserId, version: i64) -> Result<Excluded, StoreError>;

    /// Lifts [`Self::hide`]; `false` if there was nothing to lift.
    async fn unhide(&self, author: UserId, reader: UserId, version: i64) -> Result<bool, StoreError>;

    /// One transaction: hides the contents of both from each other and ends the follow edges between them (counts and
    /// pending relations as in [`super::Follows::unfollow`]). Locks the counts of both first, by ascending id; a follow
    /// locks those of its follower, so that no edge outlives a block.
    async fn block(&self, user: UserId, other: UserId, version: i64, now_ms: i64) -> Result<Blocked, StoreError>;

    /// Lifts `user`'s block of `other`; a block by `other` stays. `false` if there was none.
    async fn unblock(&self, user: UserId, other: UserId, version: i64) -> Result<bool, StoreError>;

    /// `user`'s mutes, hides and blocks of `others`: one row for each user with at least one. Never what the others
    /// have decided. One statement.
    async fn exclusion_states(
        &self,
        user: UserId,
        others: &[UserId],
    ) -> Result<Vec<(UserId, ExclusionState)>, StoreError>;

    /// At most `limit` users in this list of `user`, with ids above `after`, ascending. One statement.
    async fn excluded(
        &self,
        user: UserId,
        what: ExclusionList,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError>;
}
