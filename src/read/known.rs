//! Pages of readers whose authors this node remembers: one statement, which asks neither for edges nor for exclusions.
//!
//! What is remembered is used only if the version in the page's own snapshot is the same.

use std::{collections::HashMap, sync::Arc};

use super::{Raw, TimelineReader, count, known_authors::Known, reached_below};
use crate::{
    domain::{
        ContentId, Floor, PageRequest, Position, UserId,
        limits::MAX_RAW_COUNT,
        timeline::{
            authors::{CandidateLimits, Candidates, CardFacts, TimelineAuthors, lies_below},
            plan::{Next, decide},
        },
    },
    store::StoreError,
};

/// Rows of an inbox that are read for one page at most.
const MOST_ROWS: usize = 2 * MAX_RAW_COUNT as usize;
impl TimelineReader {
    /// The page, as [`Self::read`] gives it, if the reader's inbox and what is in flight suffice for it; `None` if they
    /// do not.
    pub(super) async fn read_known(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<Option<Raw>, StoreError> {
        let known = self.known.get(reader);
        if known.as_ref().is_some_and(|known| !known.authors.is_covered() || lies_below(request, known.floor)) {
            return Ok(None);
        }
        let Some(mut authors) = (match known {
            Some(Known { authors, .. }) => Some(authors),
            None => self.learn(reader).await?,
        }) else {
            return Ok(None);
        };
        let mut found = self.candidates(reader, request, &authors, with_facts).await?;
        if found.1.version != Some(authors.version()) {
            let Some(renewed) = self.learn(reader).await? else { return Ok(None) };
            authors = renewed;
            found = self.candidates(reader, request, &authors, with_facts).await?;
        }
        self.serve(reader, request, &authors, (found.0, found.1, with_facts)).await
    }

    /// Reads the reader's authors, and remembers them.
    async fn learn(&self, reader: UserId) -> Result<Option<Arc<TimelineAuthors>>, StoreError> {
        let Some(authors) = self.timelines.authors(reader).await?.map(Arc::new) else {
            self.known.forget(reader);
            return Ok(None);
        };
        self.known.remember(reader, &authors, Floor::At(Position::OLDEST));
        Ok(authors.is_covered().then_some(authors))
    }

    async fn candidates(
        &self,
        reader: UserId,
        request: &PageRequest,
        authors: &TimelineAuthors,
        with_facts: bool,
    ) -> Result<(CandidateLimits, Candidates), StoreError> {
        let limits = CandidateLimits::of(request, authors);
        Ok((limits, self.timelines.page_candidates(reader, request, limits, with_facts).await?))
    }

    /// Longer and longer stretches of the inbox are read while too many of its rows fall away.
    async fn serve(
        &self,
        reader: UserId,
        request: &PageRequest,
        authors: &Arc<TimelineAuthors>,
        (mut limits, mut found, with_facts): (CandidateLimits, Candidates, bool),
    ) -> Result<Option<Raw>, StoreError> {
        loop {
            let Some(snapshot) = authors.snapshot(request, &found, limits) else { return Ok(None) };
            self.known.remember(reader, authors, found.floor);
            if let Next::Serve(page) = decide(request, &snapshot, None) {
                count("inbox");
                let reached = reached_below(&page, found.floor);
                return Ok(Some(Raw { page, reached, facts: facts(&found) }));
            }
            let is_cut = found.ahead.len() == limits.ahead || found.behind.len() == limits.behind;
            let Some(wider) = limits.doubled(MOST_ROWS).filter(|_| is_cut) else { return Ok(None) };
            limits = wider;
            found = self.timelines.page_candidates(reader, request, limits, with_facts).await?;
        }
    }
}

fn facts(found: &Candidates) -> HashMap<ContentId, CardFacts> {
    let all = found.ahead.iter().chain(found.in_flight.iter().flatten());
    all.filter_map(|it| Some((it.entry.content, it.facts?))).collect()
}
