//! Finds people by name, and suggests people to follow.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    UserId,
    search::people::{FoundUser, KeyPrefix},
};

/// Search for people. [`super::Accounts`] and [`super::Profiles`] maintain each user's keys
/// ([`crate::domain::search::people::keys_of`]) in their transactions; a deleted account has none.
#[async_trait]
pub trait People: Send + Sync {
    /// At most `limit` users with a key that begins with `prefix`, each once, ordered by the first such key and then
    /// by id, after `after`. Without users behind a block with `viewer`. One statement on a range of an index.
    async fn named(
        &self,
        viewer: Option<UserId>,
        prefix: &KeyPrefix,
        after: Option<&FoundUser>,
        limit: usize,
    ) -> Result<Vec<FoundUser>, StoreError>;

    /// Whether all names are indexed in the current [`crate::domain::search::people::KEYS_FORM`]. Once they are, they
    /// stay so. One statement.
    async fn is_current(&self) -> Result<bool, StoreError>;

    /// One step through all users by id, which gives them the keys of the current form in place of others; returns
    /// whether all have them. One transaction of at most [`crate::domain::limits::MAX_INDEXED_CONTENTS`] users, which
    /// keeps its place. Several nodes may call it at once.
    async fn index_next(&self) -> Result<bool, StoreError>;

    /// At most `limit` users whom `viewer` could follow. First come those whom users followed by the viewer follow, the
    /// most often followed ones first, then all others. Ties are ordered by followers and then by id, the largest
    /// first. Of the viewer's follows the newest [`crate::domain::limits::SUGGESTING_FOLLOWS`] count, and of each of
    /// those users as many of the newest follows. Leaves out users whom the viewer follows or excludes or hides from,
    /// and who hide from the viewer. Anonymous viewers (`None`) get the most followed. At most three statements, which
    /// read at most [`crate::domain::limits::SUGGESTING_FOLLOWS`] squared edges, and as many further users as the
    /// viewer follows and excludes.
    async fn suggested(&self, viewer: Option<UserId>, limit: usize) -> Result<Vec<UserId>, StoreError>;
}
