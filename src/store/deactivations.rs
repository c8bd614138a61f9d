//! Deactivated users: they are shown, but nobody signs in or acts as them.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{SessionId, UserId};

/// Deactivations.
#[async_trait]
pub trait Deactivations: Send + Sync {
    /// One transaction: deactivates the user, ends their sessions and takes them out of the search for people. Returns
    /// the ended sessions; `None` if there is no such user. Idempotent. No session of theirs begins before
    /// [`Self::reactivate`].
    async fn deactivate(&self, user: UserId, now_ms: i64) -> Result<Option<Vec<SessionId>>, StoreError>;

    /// One transaction: undoes [`Self::deactivate`], apart from the ended sessions. `false` if there is no such user.
    /// Idempotent.
    async fn reactivate(&self, user: UserId) -> Result<bool, StoreError>;

    /// Those among `ids` who have an account and are not deactivated, in any order. One statement for every 16384.
    async fn active_among(&self, ids: &[UserId]) -> Result<Vec<UserId>, StoreError>;
}
