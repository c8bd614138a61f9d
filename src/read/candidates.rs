//! Reads a page's candidates in one statement, and judges by what this node remembers of the reader whether they make
//! the page.
//!
//! What is remembered counts only if its version equals the one in the statement's snapshot.

use std::sync::Arc;

use super::{
    PageQuery, Raw, TimelineReader, cached_outboxes,
    outside_inbox::{Inbox, InboxSlices, Refusal},
    readers::KnownReader,
};
use crate::{
    domain::{
        ContentId, IdMap, UserId,
        limits::MAX_RAW_COUNT,
        timeline::{
            authors::{Outboxes, Sources},
            candidates::{Ask, Candidate, CandidateLimits, Candidates, CardFacts, OutboxVersion, Pulled, Wanted},
            route::{Miss, Progress},
        },
    },
    store::{OutboxCache, StoreError},
};

/// Upper bound of the rows of a source that one page reads.
const MOST_ROWS: usize = 2 * MAX_RAW_COUNT as usize;

/// What one statement has read for a page.
pub(super) struct CandidatesRead {
    limits: CandidateLimits,
    wanted: Wanted,
    /// The uncovered authors whose outboxes were read.
    named: Box<[UserId]>,
    /// Where their outboxes are cached, if only the versions of these were read.
    cache: Option<Arc<dyn OutboxCache>>,
    /// What was read of an inbox outside SQL, and is believed.
    sides: Option<InboxSlices>,
    found: Candidates,
}

/// A page, or why candidates do not make one, and the statements that it took to know.
pub(super) type Judged = Result<Raw, (Miss, u8)>;

impl TimelineReader {
    /// Reads the candidates. Of an inbox outside SQL, those that are not believed are refused.
    pub(super) async fn read_candidates(
        &self,
        asked: &PageQuery<'_>,
        known: &KnownReader,
        inbox: &Inbox<'_>,
        progress: Progress,
    ) -> Result<Result<CandidatesRead, Refusal>, StoreError> {
        let PageQuery { reader, request, with_facts } = *asked;
        let wanted = known.wanted(with_facts);
        let uncovered = known.authors.uncovered();
        // Cached outboxes contain neither the kinds of contents nor the original's author of a repost:
        // docs/coverage.md#who-is-excluded.
        let may_be_cached = !uncovered.is_empty() && request.kinds.is_all() && !known.authors.excludes();
        let cache = self.cache.clone().filter(|_| may_be_cached);
        let pulled = if cache.is_some() { Pulled::Versions(uncovered) } else { Pulled::Contents(uncovered) };
        let ask = |limits| Ask { limits, wanted, pulled, many_in_flight: progress.is_crowded() };
        let limits = known.limits(request, MOST_ROWS);
        let (limits, sides, found) = match inbox {
            Inbox::Sql => (limits, None, self.timelines.candidates(reader, request, &ask(limits)).await?),
            Inbox::Outside(outside) => {
                let sides = match outside.before(request).await {
                    Ok(sides) => sides,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                let limits = sides.limits();
                let both = (&sides.ahead, sides.behind.as_ref());
                let read = self.timelines.candidates_with(reader, request, both, &ask(limits)).await?;
                if let Err(refusal) = outside.judge(&sides, read.expected).await {
                    return Ok(Err(refusal));
                }
                (limits, Some(sides), read.found)
            }
        };
        Ok(Ok(CandidatesRead { limits, wanted, named: uncovered.into(), cache, sides, found }))
    }

    /// The page that these candidates make.
    pub(super) async fn judge(
        &self,
        asked: &PageQuery<'_>,
        known: &KnownReader,
        read: &CandidatesRead,
        progress: Progress,
    ) -> Result<Judged, StoreError> {
        let (request, found, authors) = (asked.request, &read.found, &known.authors);
        if !(has_reactions(known, found, read.wanted) || progress.has_learned()) {
            return Ok(Err((Miss::Outdated, 1)));
        }
        if let Err(miss) = authors.in_flight(found) {
            if miss == Miss::Crowded {
                self.readers.note_crowd();
            }
            return Ok(Err((miss, 1)));
        }
        let mut statements = 1;
        let mut cached = None;
        if let Some(cache) = &read.cache {
            let Some(versions) = versions_of_uncovered(known, found) else { return Ok(Err((Miss::Short, 1))) };
            // One statement was this, one fills the cache, and one is left to serve whatever the cache gives.
            let may_refill = progress.left() > 2;
            let pulled = cached_outboxes::pull(&**cache, &*self.contents, &versions, (request, may_refill)).await?;
            statements += u8::from(pulled.has_refilled);
            let Some(runs) = pulled.runs else { return Ok(Err((Miss::Short, statements))) };
            cached = Some(runs);
        }
        let slices = read.sides.as_ref().map(InboxSlices::slices);
        let outboxes = cached.as_ref().map_or(Outboxes::Read(&read.named), |runs| Outboxes::Cached(&read.named, runs));
        let has_original_authors = read.wanted.original_authors;
        let sources = Sources { limits: read.limits, has_original_authors, outboxes, slices: slices.as_deref() };
        let snapshot = match authors.snapshot(request, found, &sources) {
            Ok(snapshot) => snapshot,
            Err(miss) => return Ok(Err((miss, statements))),
        };
        if let Some(page) = snapshot.page(request) {
            let sql_floor = if read.sides.is_some() { known.floor } else { snapshot.floor };
            self.readers.note_page(asked.reader, request, (&page, sql_floor));
            return Ok(Ok(Raw::of(page, snapshot.floor, facts(known, found, read.wanted))));
        }
        let may_be_longer = match &read.sides {
            Some(sides) => sides.is_full,
            None => authors.wants_more_rows(request, found, read.limits),
        };
        if may_be_longer && read.limits.ahead < MOST_ROWS {
            self.readers.note_few_shown(asked.reader);
            return Ok(Err((Miss::FewShown, statements)));
        }
        if read.sides.is_none() {
            self.readers.note_floor(asked.reader, found.floor);
        }
        Ok(Err((Miss::Short, statements)))
    }
}

/// The versions of the outboxes to pull; `None` if some uncovered author was not named. Nothing is shown of accounts
/// that are being deleted.
fn versions_of_uncovered(known: &KnownReader, found: &Candidates) -> Option<Vec<OutboxVersion>> {
    let mut shown = known.authors.uncovered().iter().filter(|author| !found.leaving.contains(author));
    let mut named: IdMap<UserId, OutboxVersion> = found.versions.iter().map(|it| (it.author, *it)).collect();
    shown.try_fold(Vec::new(), |mut versions, author| {
        versions.push(named.remove(author)?);
        Some(versions)
    })
}

/// Whether the reader's reactions are known at the page's snapshot, or no facts were asked for.
fn has_reactions(known: &KnownReader, found: &Candidates, wanted: Wanted) -> bool {
    !wanted.facts || wanted.reactions || known.reactions_at(found.reactions_version).is_some()
}

/// These facts with the remembered reactions; empty if the snapshot has another version of them.
pub(super) fn with_reactions(
    known: &KnownReader,
    reactions_version: i64,
    facts: IdMap<ContentId, CardFacts>,
) -> IdMap<ContentId, CardFacts> {
    let Some(all) = known.reactions_at(reactions_version) else { return IdMap::default() };
    facts.into_iter().map(|(content, facts)| (content, CardFacts { reactions: all.to(content), ..facts })).collect()
}

/// The facts of the page's snapshot; empty if the reactions among them are not known.
fn facts(known: &KnownReader, found: &Candidates, wanted: Wanted) -> IdMap<ContentId, CardFacts> {
    if !has_reactions(known, found, wanted) {
        return IdMap::default();
    }
    let remembered = known.reactions.as_deref().filter(|_| !wanted.reactions);
    let facts = |it: &Candidate| {
        let facts = it.facts?;
        let reactions = remembered.map_or(facts.reactions, |all| all.to(it.entry.content));
        Some((it.entry.content, CardFacts { reactions, ..facts }))
    };
    let rows = found.ahead.iter().chain(&found.pulled_ahead);
    rows.filter_map(facts).collect()
}
