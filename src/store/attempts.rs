//! Sign-in attempts, counted where every node sees them.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::account::attempts::Admission;

/// What the three counts of a sign-in are kept under: digests of at most 64 characters, so that what a stranger types
/// is neither long nor readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    /// The account from this network.
    pub pair: String,
    /// The account from everywhere.
    pub account: String,
    /// The network on all accounts.
    pub network: String,
}

/// Sign-in attempts.
#[async_trait]
pub trait Attempts: Send + Sync {
    /// One transaction: decides by [`crate::domain::account::attempts::admit`], and counts a failure for all three if
    /// it admits. Attempts at the same moment are decided one after the other. The statements are the same for every
    /// account, there or not.
    async fn admit(&self, subjects: &Subjects, now_ms: i64) -> Result<Admission, StoreError>;

    /// The admitted attempt was good: the pair's failures are forgotten and its network is known from now on; the
    /// other two counts go back by one.
    async fn succeeded(&self, subjects: &Subjects, now_ms: i64) -> Result<(), StoreError>;

    /// Deletes counts whose last attempt was before `attempt_ms` and whose last success before `success_ms`, `limit`
    /// at most; returns how many.
    async fn forget(&self, attempt_ms: i64, success_ms: i64, limit: u64) -> Result<u64, StoreError>;
}
