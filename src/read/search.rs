//! Searches contents: walks along the rarest source, block by block, until the page is full or its budget is spent.

use std::sync::Arc;

use crate::{
    domain::{
        PageSize, Position, UserId,
        limits::{MAX_CANDIDATES, MAX_SEARCH_BLOCKS},
        search::{Found, Search, Source},
    },
    store::{SearchTerms, StoreError},
};

/// Searches contents.
pub struct Searcher {
    terms: Arc<dyn SearchTerms>,
}

impl Searcher {
    /// Searches the terms in `terms`.
    pub fn new(terms: Arc<dyn SearchTerms>) -> Self {
        Self { terms }
    }

    /// The newest contents below `after` that match `search` and that `viewer` may see, at most `size`. The page is
    /// shorter only at the end of the results or after [`MAX_SEARCH_BLOCKS`] blocks. Costs at most one statement for
    /// each block, and one more.
    pub async fn page(
        &self,
        viewer: Option<UserId>,
        search: &Search,
        after: Option<Position>,
        size: PageSize,
    ) -> Result<Found, StoreError> {
        let (mut span, mut found) = (search.span(after), Found::nothing());
        let Some(look) = search.look(self.counted(search, after).await?) else { return Ok(found) };
        let mut limit = size.get() + 1;
        for _ in 0..MAX_SEARCH_BLOCKS {
            let candidates = self.terms.candidates(viewer, &look, span, limit).await?;
            span.below = candidates.reached.or(span.below);
            if found.take(search, candidates, size) {
                break;
            }
            limit = MAX_CANDIDATES;
        }
        Ok(found)
    }

    /// The sources with their counts. A single source is not counted.
    async fn counted(&self, search: &Search, after: Option<Position>) -> Result<Vec<(Source, usize)>, StoreError> {
        let sources = search.sources();
        let counts = match sources.len() {
            1 => vec![1],
            _ => self.terms.count(&sources, search.span(after)).await?,
        };
        Ok(sources.into_iter().zip(counts).collect())
    }
}
