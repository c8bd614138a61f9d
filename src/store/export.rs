//! Reads all of what a product may take with it, in pages by primary key. Pages of different moments are no snapshot.

use async_trait::async_trait;

use super::{
    StoreError,
    imports::{ImportedExclusion, ImportedFollow, ImportedMarker, ImportedReaction},
};
use crate::domain::{ContentId, UserId, account::external::ExternalId};

/// Rows in ascending order, each with its key: where the next page begins.
pub type Keyed<const COLUMNS: usize, T> = Vec<([i64; COLUMNS], T)>;

/// Pages of whole tables: at most `limit` rows whose key lies above `after`, one statement each. Zeros come before
/// every row.
#[async_trait]
pub trait Export: Send + Sync {
    /// Users whose accounts are not deleted, by id.
    async fn all_users(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, UserId>, StoreError>;

    /// Contents that are not removed, by id.
    async fn all_contents(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, ContentId>, StoreError>;

    /// What the product says of contents, by content: the external id of one that is removed or whose author has no
    /// account any more, and of which only that is left; `None` for others.
    async fn all_tombstones(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, Option<ExternalId>>, StoreError>;

    /// Edges by follower and author, without those of users to themselves.
    async fn all_follows(&self, after: [i64; 2], limit: u64) -> Result<Keyed<2, ImportedFollow>, StoreError>;

    /// Reactions by content, kind and user.
    async fn all_reactions(&self, after: [i64; 3], limit: u64) -> Result<Keyed<3, ImportedReaction>, StoreError>;

    /// Mutes, hides and blocks, each once, by reader, author and cause.
    async fn all_exclusions(&self, after: [i64; 3], limit: u64) -> Result<Keyed<3, ImportedExclusion>, StoreError>;

    /// Read markers by reader.
    async fn all_markers(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, ImportedMarker>, StoreError>;
}
