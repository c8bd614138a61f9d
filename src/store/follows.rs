//! Follow edges, and what deliveries may assume of them.

use async_trait::async_trait;

use super::{FollowLists, StoreError, relations::Pair};
use crate::domain::{
    EdgeMode, UserId,
    delivery::{AuthorFacts, ReaderFacts, subtask::Range},
};

/// The outcome of a follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// The edge is new. All of the author's contents are in the reader's timeline from now on.
    New,
    /// The edge existed; nothing changed.
    Already,
    /// There is no such author, or the reader's account has been deleted.
    UnknownAuthor,
    /// The reader follows [`crate::domain::limits::MAX_FOLLOWS`] authors already.
    TooMany,
    /// One of the two has blocked the other.
    Blocked,
}

/// Follow edges.
#[async_trait]
pub trait Follows: FollowLists {
    /// docs/protocol.md#f1, one transaction: inserts the edge with `mode` (`Fill` or `Pull`) and `incarnation`, raises
    /// the counts, and records the pair's pending relation (see [`super::Relations`]). `incarnation` is newly drawn.
    /// It distinguishes this edge from earlier ones of the pair, and becomes the version of the follower's authors
    /// ([`super::timelines`]).
    async fn follow(
        &self,
        follower: UserId,
        author: UserId,
        mode: EdgeMode,
        incarnation: i64,
        now_ms: i64,
    ) -> Result<Followed, StoreError>;

    /// docs/protocol.md#x1, one transaction: deletes the edge, lowers the counts, records the pending relation, and
    /// sets the version of the follower's authors ([`super::timelines`]) to the newly drawn `version`. `false` if
    /// there was no edge.
    async fn unfollow(&self, follower: UserId, author: UserId, version: i64, now_ms: i64) -> Result<bool, StoreError>;

    /// The `authors` whom the follower follows. One statement.
    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// All followed authors including the follower, ascending; at most [`crate::domain::limits::MAX_FOLLOWS`] and one.
    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError>;

    /// The followers in `range` whose edge to the author is not `Pull`, ascending; at most
    /// [`crate::domain::limits::MAX_JUDGED_EDGES`]. With `unseen_since`, only those not seen at that time (ms) or
    /// later. One statement.
    async fn pushed_readers(
        &self,
        author: UserId,
        range: Range,
        unseen_since: Option<i64>,
    ) -> Result<Vec<ReaderFacts>, StoreError>;

    /// The edges of these followers to the author become `Pull`, and the version of each of these readers' authors
    /// ([`super::timelines`]) becomes the fresh random `version`: one transaction for every 16 384 readers. Edges that
    /// are `Pull` already, or are gone, are not touched. Returns how many became so.
    async fn demote(&self, author: UserId, readers: &[UserId], version: i64) -> Result<u64, StoreError>;

    /// The authors with an edge in mode `Pull` from each of these followers, beside whom they follow; both ascending.
    /// One statement.
    async fn pulled_authors(&self, followers: &[UserId]) -> Result<Vec<(UserId, AuthorFacts)>, StoreError>;

    /// One transaction: those of the edges that are `Pull` become `Fill`, with the fresh `incarnation` and a pending
    /// relation each. The pairs of one follower are consecutive, and followers ascend. Returns which.
    async fn promote(&self, pairs: &[Pair], incarnation: i64, now_ms: i64) -> Result<Vec<Pair>, StoreError>;
}
