//! Follow edges: who follows whom, and what deliveries may assume of it.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{EdgeMode, UserId};

/// How a follow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// The edge is new; the author's contents are in the reader's timeline from now on, also the older ones.
    New,
    /// The edge was there; nothing changed.
    Already,
    /// There is no such author.
    UnknownAuthor,
    /// The reader follows [`crate::domain::limits::MAX_FOLLOWS`] authors.
    TooMany,
    /// One of the two has blocked the other.
    Blocked,
}

/// Follow edges.
#[async_trait]
pub trait Follows: Send + Sync {
    /// PROTOCOL F1, one transaction: inserts the edge with `mode` (`Fill` or `Pull`) and `inc`, the counts, and the pending
    /// relation of the pair (see [`super::Relations`]). `inc` is a fresh random number: it tells this edge from an earlier one of the
    /// same pair.
    async fn follow(
        &self,
        follower: UserId,
        author: UserId,
        mode: EdgeMode,
        inc: i64,
        now_ms: i64,
    ) -> Result<Followed, StoreError>;

    /// PROTOCOL X1, one transaction: deletes the edge, lowers the counts, records the pending relation. `false` if there was none.
    async fn unfollow(&self, follower: UserId, author: UserId, now_ms: i64) -> Result<bool, StoreError>;

    /// Which of `authors` the follower follows. One statement.
    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// All authors that the follower follows, themselves included, ascending. At most
    /// [`crate::domain::limits::MAX_FOLLOWS`] and one.
    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError>;

    /// How many follow the author, themselves included; from the counts, one row.
    async fn follower_count(&self, author: UserId) -> Result<u64, StoreError>;

    /// Set-based, one transaction: every `Push` or `Fill` edge of the author to followers with `after < id <= through`
    /// whose readers were last seen before `seen_before_ms` (or never) becomes `Pull`. Returns how many.
    async fn demote_unseen(
        &self,
        author: UserId,
        after: i64,
        through: i64,
        seen_before_ms: i64,
    ) -> Result<u64, StoreError>;

    /// One transaction: `Pull` edges of the follower become `Fill`, each with a fresh `inc` derived from `inc_seed`, and a pending relation each.
    /// At most `limit`; returns the authors.
    async fn promote(
        &self,
        follower: UserId,
        inc_seed: i64,
        limit: u64,
        now_ms: i64,
    ) -> Result<Vec<UserId>, StoreError>;
}
