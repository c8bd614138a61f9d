//! Finds people by name, and suggests people to follow.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    UserId,
    search::people::{FoundUser, KeyPrefix},
};

/// Finding people. [`super::Accounts`] and [`super::Profiles`] keep in the transaction of each change by what a user
/// is found ([`crate::domain::search::people::keys_of`]); a deleted account is found by nothing.
#[async_trait]
pub trait People: Send + Sync {
    /// Users with a key that begins with `prefix`, each once, by the first such key and then by id: those that follow
    /// `after`, at most `limit`. Without those between whom and `viewer` a block stands. One statement: a range of an
    /// index.
    async fn named(
        &self,
        viewer: Option<UserId>,
        prefix: &KeyPrefix,
        after: Option<&FoundUser>,
        limit: usize,
    ) -> Result<Vec<FoundUser>, StoreError>;

    /// Whom `viewer` could follow, at most `limit`: first whom the newest
    /// [`crate::domain::limits::SUGGESTING_FOLLOWS`] of the viewer's follows follow, of each the newest as many, by
    /// how many of them do; then everybody. Both by followers, and then by id, the largest first. Nobody whom the
    /// viewer follows or keeps out, from whom the viewer hides, or who hides from the viewer. For the anonymous
    /// (`None`) the most followed. At most three statements, which read at most
    /// [`crate::domain::limits::SUGGESTING_FOLLOWS`] squared edges, and as many users more as the viewer follows and
    /// keeps out.
    async fn suggested(&self, viewer: Option<UserId>, limit: usize) -> Result<Vec<UserId>, StoreError>;
}
