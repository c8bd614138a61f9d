//! The search's index: by which terms contents can be found. Rows come with a publish and go with a removal, in the
//! same transaction.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    UserId,
    search::{Candidates, Look, Source, Span},
};

/// How far the contents that were there before the index have been taken into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Contents of this step.
    pub contents: usize,
    /// All contents with an id up to this have their terms.
    pub through: i64,
    /// Whether that is all there are.
    pub is_done: bool,
}

/// Terms of contents.
#[async_trait]
pub trait SearchTerms: Send + Sync {
    /// How many contents of each source lie in `span`, in the order of `sources`; counted up to
    /// [`crate::domain::limits::SEARCH_BLOCK`], those included that a look would leave out. One statement.
    async fn count(&self, sources: &[Source], span: Span) -> Result<Vec<usize>, StoreError>;

    /// Of the newest [`crate::domain::limits::SEARCH_BLOCK`] contents of the look's source in `span` the newest
    /// `limit` that have the other terms, too, are of its author, are neither removed nor reposts, and that `viewer`
    /// may see: with an author all but what a block keeps apart, without one also not what is left out of the viewer's
    /// timeline. One statement: one snapshot.
    async fn candidates(
        &self,
        viewer: Option<UserId>,
        look: &Look,
        span: Span,
        limit: usize,
    ) -> Result<Candidates, StoreError>;

    /// One step through all contents by id, in one transaction: the next ones get the terms that they lack, and the
    /// place is kept. Bounded by [`crate::domain::limits::MAX_INDEXED_CONTENTS`] and
    /// [`crate::domain::limits::MAX_INDEXED_TERMS`]. May be called by several nodes at once; begins anew for another
    /// [`crate::domain::search::terms::FORM`].
    async fn index_next(&self) -> Result<Indexed, StoreError>;
}
