//! The search index: the terms by which contents are found. Publishing inserts rows and removing deletes them, in the
//! same transaction unless they are many; then the indexer does, and searches read the content meanwhile.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    ContentId, Entry, Position, UserId,
    search::{Candidates, Look, Source, Span},
};

/// Progress of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indexed {
    /// Contents of this step that were published before, or by other rules.
    pub contents: usize,
    /// All contents up to this id are indexed.
    pub through: i64,
    /// Contents that waited to be indexed when this step began.
    pub waiting: usize,
    /// Whether there is nothing to do.
    pub is_done: bool,
}

/// Contents that wait to be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unindexed {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// All of them down to this position, inclusive, are included; `None`: down to the end of the span.
    pub reached: Option<Position>,
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

    /// The newest contents in `span` that wait to be indexed, at most
    /// [`crate::domain::limits::MAX_UNINDEXED_READ`], as [`SearchTerms::candidates`] leaves out and shows. A content
    /// that is not among them is indexed, for every later statement. One statement.
    async fn unindexed(
        &self,
        viewer: Option<UserId>,
        author: Option<UserId>,
        span: Span,
    ) -> Result<Unindexed, StoreError>;

    /// The texts of contents, which never change. One statement.
    async fn texts(&self, contents: &[ContentId]) -> Result<Vec<(ContentId, String)>, StoreError>;

    /// Whether every content is indexed in the current [`crate::domain::search::terms::FORM`] or waits to be. Once it
    /// is so, it stays so. One statement.
    async fn is_current(&self) -> Result<bool, StoreError>;

    /// One step: writes terms of contents that wait, deletes terms of removed ones, and, if none wait, goes on through
    /// all contents by id and gives them the terms of the current form in place of the former. One transaction for
    /// each, of at most [`crate::domain::limits::MAX_INDEXED_CONTENTS`] contents and
    /// [`crate::domain::limits::MAX_INDEXED_TERMS`] terms, which keeps its place. Several nodes may call it at once.
    /// Starts again for another form.
    async fn index_next(&self) -> Result<Indexed, StoreError>;
}
