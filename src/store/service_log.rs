//! What services did, as whom, and how it ended.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{UserId, account::service::ServiceName};

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCall {
    /// ms UTC.
    pub at_ms: i64,
    /// Who.
    pub service: ServiceName,
    /// As whom; `None`: as nobody.
    pub user: Option<UserId>,
    /// The fields of the operation's root, at most [`crate::domain::limits::MAX_LOGGED_CHARS`] characters.
    pub operation: String,
    /// `OK`, or the code of the first error; at most 60 characters.
    pub outcome: String,
}

/// The log of services.
#[async_trait]
pub trait ServiceLog: Send + Sync {
    /// Adds lines, each with a random number. One statement for every
    /// [`crate::domain::limits::MAX_LOGGED_AT_ONCE`].
    async fn log_calls(&self, lines: &[(LoggedCall, i64)]) -> Result<(), StoreError>;

    /// The newest lines, newest first: of one service, or of all.
    async fn logged_calls(&self, service: Option<&ServiceName>, limit: u64) -> Result<Vec<LoggedCall>, StoreError>;

    /// Deletes at most `limit` lines from before `before_ms`; returns how many.
    async fn forget_calls(&self, before_ms: i64, limit: u64) -> Result<u64, StoreError>;
}
