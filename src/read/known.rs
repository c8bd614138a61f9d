//! Reads a page in one statement for readers whose authors this node remembers. The statement reads neither edges nor
//! exclusions, and no reactions if the node remembers them.
//!
//! What is remembered counts only if its version equals the one in the page's snapshot.

use std::collections::HashMap;

use super::{
    TimelineReader, count,
    known_authors::RememberedReader,
    outcome::{Outcome, Raw},
};
use crate::{
    domain::{
        ContentId, PageRequest, UserId,
        limits::MAX_RAW_COUNT,
        timeline::{
            authors::lies_below,
            candidates::{Candidate, CandidateLimits, Candidates, CardFacts, Wanted},
            plan::{Next, decide},
            reactions::RememberedReactions,
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
        let known = self.known_or_learned(reader).await?;
        let Some(mut known) = known.filter(|known| known.authors.is_covered()) else { return Ok(Outcome::Unknown) };
        if lies_below(request, known.floor) {
            return Ok(Outcome::BelowFloor);
        }
        let mut read = self.first_candidates(reader, request, &known, with_facts).await?;
        if is_outdated(&known, &read.found, read.wanted) {
            let Some(renewed) = self.learn(reader).await? else { return Ok(Outcome::Unknown) };
            known = renewed;
            read = self.first_candidates(reader, request, &known, with_facts).await?;
        }
        self.serve(reader, request, &known, read).await
    }

    /// What this node remembers of the reader, or reads now.
    pub(super) async fn known_or_learned(&self, reader: UserId) -> Result<Option<RememberedReader>, StoreError> {
        match self.known.get(reader) {
            Some(known) => Ok(Some(known)),
            None => self.learn(reader).await,
        }
    }

    /// Reads the reader's authors and reactions from the store and remembers them.
    pub(super) async fn learn(&self, reader: UserId) -> Result<Option<RememberedReader>, StoreError> {
        let Some(read) = self.timelines.reader(reader).await? else {
            self.known.forget(reader);
            return Ok(None);
        };
        let hints = self.known.get(reader).map(|known| known.hints).unwrap_or_default();
        let known = RememberedReader::of(read, hints);
        self.known.remember(reader, known.clone());
        Ok(Some(known))
    }

    /// Reads the candidates of a page. Readers with exclusions get larger limits, because some of their rows are not
    /// shown.
    async fn first_candidates(
        &self,
        reader: UserId,
        request: &PageRequest,
        known: &RememberedReader,
        with_facts: bool,
    ) -> Result<Read, StoreError> {
        let (limits, wanted) = (known.authors.limits(request), known.wanted(with_facts));
        let found = self.timelines.page_candidates(reader, request, limits, wanted).await?;
        Ok(Read { limits, wanted, found })
    }

    /// Doubles the number of inbox rows while too few of them are shown.
    async fn serve(
        &self,
        reader: UserId,
        request: &PageRequest,
        known: &RememberedReader,
        Read { mut limits, wanted, mut found }: Read,
    ) -> Result<Outcome, StoreError> {
        let authors = &known.authors;
        loop {
            let Some(snapshot) = authors.snapshot(request, &found, limits) else { return Ok(Outcome::Unknown) };
            if let Next::Serve(page) = decide(request, &snapshot, None) {
                count("inbox");
                self.known.note_page(reader, request, (&page, found.floor));
                return Ok(Outcome::Page(Raw::of(page, found.floor, facts(known, &found, wanted))));
            }
            if !authors.wants_more_rows(request, &found, limits) {
                self.known.note_floor(reader, found.floor);
                return Ok(Outcome::BelowFloor);
            }
            let Some(wider) = limits.doubled(MOST_ROWS) else { return Ok(Outcome::Unknown) };
            limits = wider;
            found = self.timelines.page_candidates(reader, request, limits, wanted).await?;
        }
    }
}

/// What one statement has read for a page.
struct Read {
    limits: CandidateLimits,
    wanted: Wanted,
    found: Candidates,
}

/// Whether the page's snapshot is of another version than what is remembered.
pub(super) fn is_outdated(known: &RememberedReader, found: &Candidates, wanted: Wanted) -> bool {
    found.version != Some(known.authors.version()) || !has_reactions(known, found, wanted)
}

/// Whether the reader's reactions are known at the page's snapshot, or no facts were asked for.
fn has_reactions(known: &RememberedReader, found: &Candidates, wanted: Wanted) -> bool {
    !wanted.facts || wanted.reactions || reactions_at(known, found.reactions_version).is_some()
}

/// The remembered reactions of the reader, if they are of this version.
pub(super) fn reactions_at(known: &RememberedReader, version: i64) -> Option<&RememberedReactions> {
    known.reactions.as_deref().filter(|it| it.version() == version)
}

/// These facts with the remembered reactions; empty if the snapshot has another version of them.
pub(super) fn with_reactions(
    known: &RememberedReader,
    reactions_version: i64,
    facts: HashMap<ContentId, CardFacts>,
) -> HashMap<ContentId, CardFacts> {
    let Some(all) = reactions_at(known, reactions_version) else { return HashMap::new() };
    facts.into_iter().map(|(content, facts)| (content, CardFacts { reactions: all.to(content), ..facts })).collect()
}

/// The facts of the page's snapshot; empty if the reactions among them are not known.
pub(super) fn facts(known: &RememberedReader, found: &Candidates, wanted: Wanted) -> HashMap<ContentId, CardFacts> {
    if !has_reactions(known, found, wanted) {
        return HashMap::new();
    }
    let remembered = known.reactions.as_deref().filter(|_| !wanted.reactions);
    let facts = |it: &Candidate| {
        let facts = it.facts?;
        let reactions = remembered.map_or(facts.reactions, |all| all.to(it.entry.content));
        Some((it.entry.content, CardFacts { reactions, ..facts }))
    };
    found.ahead.iter().chain(found.in_flight.iter().flatten()).filter_map(facts).collect()
}
