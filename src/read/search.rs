//! Searching: which source leads, look after look along it, until the page is full or has cost enough.

use std::sync::Arc;

use crate::{
    domain::{
        PageSize, Position, UserId,
        limits::{MAX_CANDIDATES, MAX_LOOKS},
        search::{Found, Search, Source},
    },
    store::{SearchTerms, StoreError},
};

/// Finds contents.
pub struct Searcher {
    terms: Arc<dyn SearchTerms>,
}

impl Searcher {
    /// Over the port that keeps the terms.
    pub fn new(terms: Arc<dyn SearchTerms>) -> Self {
        Self { terms }
    }

    /// The newest contents below `after` that are looked for and that `viewer` may see, at most `size`. Fewer only if
    /// there are no more, or after [`MAX_LOOKS`] looks. At most one statement more than looks.
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
        for _ in 0..MAX_LOOKS {
            let candidates = self.terms.candidates(viewer, &look, span, limit).await?;
            span.below = candidates.reached.or(span.below);
            if found.take(search, candidates, size) {
                break;
            }
            limit = MAX_CANDIDATES;
        }
        Ok(found)
    }

    /// The sources with their counts; what is alone need not be counted.
    async fn counted(&self, search: &Search, after: Option<Position>) -> Result<Vec<(Source, usize)>, StoreError> {
        let sources = search.sources();
        let counts = match sources.len() {
            1 => vec![1],
            _ => self.terms.count(&sources, search.span(after)).await?,
        };
        Ok(sources.into_iter().zip(counts).collect())
    }
}
