//! Pending relations: pairs whose follow edge has changed but whose inbox has not. There is one row for each pair, so
//! operations merge: the worker looks at the edge as it is now.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::domain::UserId;

/// A reader and an author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pair {
    /// The reader, who owns the inbox.
    pub follower: UserId,
    /// The author.
    pub author: UserId,
}

/// A pending relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingRelation {
    /// The pair.
    pub pair: Pair,
    /// Every operation on the pair draws another one. The worker deletes the record only if it is unchanged.
    pub version: i64,
    /// Failures since the last operation.
    pub attempts: u32,
    /// Whether the author had an account when the record was read.
    pub author_exists: bool,
}

/// Pending relations.
#[async_trait]
pub trait Relations: Send + Sync {
    /// The pair's record; `None` if nothing is pending.
    async fn find(&self, pair: Pair) -> Result<Option<PendingRelation>, StoreError>;

    /// Deletes the record if its version is unchanged, unless the edge is still to be filled: then a fail-over has lost
    /// the covering, which must be repeated.
    async fn done(&self, relation: &PendingRelation) -> Result<(), StoreError>;

    /// Counts a failure and sets when the sweeper looks again.
    async fn record_failure(&self, relation: &PendingRelation, retry_at_ms: i64) -> Result<(), StoreError>;

    /// As [`super::Deliveries::due`].
    async fn due(&self, from_ms: i64, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Pair>, StoreError>;
}
