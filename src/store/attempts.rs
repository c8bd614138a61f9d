//! Sign-in attempts, counted where every node sees them.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::account::attempts::SignInDecision;

/// The keys of the three counts of a sign-in: digests of at most 64 characters, so that a stranger's input is neither
/// long nor readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    /// The account, from this network.
    pub pair: String,
    /// The account, from all networks.
    pub account: String,
    /// The network, on all accounts.
    pub network: String,
}

/// Sign-in attempts.
#[async_trait]
pub trait Attempts: Send + Sync {
    /// One transaction: decides by [`crate::domain::account::attempts::admit`] and, if it admits, counts a failure in
    /// all three. Simultaneous attempts are decided one after the other. The statements are the same for unknown
    /// accounts.
    async fn admit(&self, subjects: &Subjects, now_ms: i64) -> Result<SignInDecision, StoreError>;

    /// Records that the admitted attempt succeeded: clears the pair's failures, makes its network known, and lowers
    /// the other two counts by one.
    async fn succeeded(&self, subjects: &Subjects, now_ms: i64) -> Result<(), StoreError>;

    /// Deletes at most `limit` counts whose last attempt was before `attempt_ms` and whose last success was before
    /// `success_ms`. Returns how many.
    async fn forget(&self, attempt_ms: i64, success_ms: i64, limit: u64) -> Result<u64, StoreError>;
}
