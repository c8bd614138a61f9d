//! Reads a page in one statement for readers whose authors this node remembers. The statement reads neither edges nor
//! exclusions.
//!
//! The remembered authors count only if their version equals the one in the page's snapshot.

use std::{collections::HashMap, sync::Arc};

use super::{
    TimelineReader, count,
    known_authors::Known,
    outcome::{Outcome, Raw},
};
use crate::{
    domain::{
        ContentId, PageRequest, UserId,
        limits::MAX_RAW_COUNT,
        timeline::{
            authors::{CandidateLimits, Candidates, CardFacts, TimelineAuthors, lies_below},
            plan::{Next, decide},
        },
    },
    store::StoreError,
};

/// Upper bound of the inbox rows that one page reads.
const MOST_ROWS: usize = 2 * MAX_RAW_COUNT as usize;

impl TimelineReader {
    /// The page, if the reader's inbox and the contents in flight suffice for it.
    pub(super) async fn read_known(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<Outcome, StoreError> {
        let Some(mut known) = self.known_or_learned(reader).await?.filter(|known| known.authors.is_covered()) else {
            return Ok(Outcome::Unknown);
        };
        if lies_below(request, known.floor) {
            return Ok(Outcome::BelowFloor);
        }
        let mut found = self.candidates(reader, request, &known.authors, with_facts).await?;
        if found.1.version != Some(known.authors.version()) {
            let Some(renewed) = self.learn(reader).await? else { return Ok(Outcome::Unknown) };
            known = renewed;
            found = self.candidates(reader, request, &known.authors, with_facts).await?;
        }
        self.serve(reader, request, &known.authors, (found.0, found.1, with_facts)).await
    }

    /// What this node remembers of the reader's authors, or reads of them now.
    pub(super) async fn known_or_learned(&self, reader: UserId) -> Result<Option<Known>, StoreError> {
        match self.known.get(reader) {
            Some(known) => Ok(Some(known)),
            None => self.learn(reader).await,
        }
    }

    /// Reads the reader's authors from the store and remembers them.
    pub(super) async fn learn(&self, reader: UserId) -> Result<Option<Known>, StoreError> {
        let Some((authors, floor)) = self.timelines.authors(reader).await? else {
            self.known.forget(reader);
            return Ok(None);
        };
        let authors = Arc::new(authors);
        let hints = self.known.get(reader).map(|known| known.hints).unwrap_or_default();
        let known = Known { authors, floor, hints };
        self.known.remember(reader, known.clone());
        Ok(Some(known))
    }

    /// Reads the candidates of a page. Readers with exclusions get larger limits, because some of their rows are not
    /// shown.
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

    /// Doubles the number of inbox rows while too few of them are shown.
    async fn serve(
        &self,
        reader: UserId,
        request: &PageRequest,
        authors: &Arc<TimelineAuthors>,
        (mut limits, mut found, with_facts): (CandidateLimits, Candidates, bool),
    ) -> Result<Outcome, StoreError> {
        loop {
            let Some(snapshot) = authors.snapshot(request, &found, limits) else { return Ok(Outcome::Unknown) };
            if let Next::Serve(page) = decide(request, &snapshot, None) {
                count("inbox");
                self.known.note_page(reader, request, (&page, found.floor));
                return Ok(Outcome::Page(Raw::of(page, found.floor, facts(&found))));
            }
            if !authors.wants_more_rows(request, &found, limits) {
                self.known.note_floor(reader, found.floor);
                return Ok(Outcome::BelowFloor);
            }
            let Some(wider) = limits.doubled(MOST_ROWS) else { return Ok(Outcome::Unknown) };
            limits = wider;
            found = self.timelines.page_candidates(reader, request, limits, with_facts).await?;
        }
    }
}

pub(super) fn facts(found: &Candidates) -> HashMap<ContentId, CardFacts> {
    let all = found.ahead.iter().chain(found.in_flight.iter().flatten());
    all.filter_map(|it| Some((it.entry.content, it.facts?))).collect()
}
