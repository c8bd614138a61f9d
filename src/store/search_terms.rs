//! The search index: the terms by which contents are found. Publishing inserts rows and removing deletes them, in the
//! same transaction.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    UserId,
    search::{Candidates, Look, Source, Span},
};

/// Progress of indexing contents that are older than the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Contents of this step.
    pub contents: usize,
    /// All contents up to this id are indexed.
    pub through: i64,
    /// Whether all contents are indexed.
    pub is_done: bool,
}

/// Terms of contents.
#[async_trait]
pub trait SearchTerms: Send + Sync {
    /// The number of contents of each source in `span`, in the order of `sources`. Counts up to
    /// [`crate::domain::limits::SEARCH_BLOCK`], including contents that a search would leave out. One statement.
    async fn count(&self, sources: &[Source], span: Span) -> Result<Vec<usize>, StoreError>;

    /// The newest `limit` matching contents among the newest [`crate::domain::limits::SEARCH_BLOCK`] of the source in
    /// `span`. They have the other terms and the author, are neither removed nor reposts, and are visible to `viewer`:
    /// with an author everything that no block hides, otherwise only what the viewer's timeline would not exclude. One
    /// statement, so one snapshot.
    async fn candidates(
        &self,
        viewer: Option<UserId>,
        look: &Look,
        span: Span,
        limit: usize,
    ) -> Result<Candidates, StoreError>;

    /// One step through all contents by id, in one transaction: adds missing terms and stores the place. Bounded by
    /// [`crate::domain::limits::MAX_INDEXED_CONTENTS`] and [`crate::domain::limits::MAX_INDEXED_TERMS`]. Several nodes
    /// may call it at once. Starts again for another [`crate::domain::search::terms::FORM`].
    async fn index_next(&self) -> Result<Indexed, StoreError>;
}
