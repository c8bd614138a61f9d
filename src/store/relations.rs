//! Pairs whose follow edge has changed and whose inbox has yet to follow: the record behind the relation queue. One
//! row a pair, so that repeated operations merge and the last one wins: the worker looks at the edge as it is.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::domain::UserId;

/// A pair to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pair {
    /// Whose inbox.
    pub follower: UserId,
    /// Whose contents.
    pub author: UserId,
}

/// A pending relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingRelation {
    /// Which pair.
    pub pair: Pair,
    /// Changed by every operation on the pair, and never the same again: a worker's end deletes the record only if it
    /// is unchanged.
    pub version: i64,
    /// Failures since the last operation.
    pub attempts: u32,
}

/// Pending relations.
#[async_trait]
pub trait Relations: Send + Sync {
    /// The pair's record; `None` if nothing is pending.
    async fn find(&self, pair: Pair) -> Result<Option<PendingRelation>, StoreError>;

    /// Deletes the record if its version is still this one.
    async fn done(&self, relation: &PendingRelation) -> Result<(), StoreError>;

    /// Counts a failure and sets when the sweeper looks again.
    async fn record_failure(&self, relation: &PendingRelation, retry_at_ms: i64) -> Result<(), StoreError>;

    /// As [`super::Deliveries::due`].
    async fn due(&self, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<PendingRelation>, StoreError>;
}
