//! Pages of readers whose inboxes lie outside SQL. A page that cannot be believed is read from SQL as for everybody
//! else, so this module affects the cost of a page, never its entries.

use std::collections::HashMap;

use super::{
    TimelineReader, count,
    known::{facts, is_outdated},
    known_authors::RememberedReader,
    outcome::Raw,
    outside_inbox::{AskedInbox, Refusal, Sides},
};
use crate::{
    domain::{
        ContentId, Floor, PageRequest, UserId,
        timeline::{
            candidates::CardFacts,
            outside::Expected,
            plan::{Next, Snapshot, decide},
        },
    },
    store::StoreError,
    telemetry::metrics::OUTSIDE_READS,
};

/// Rows that are requested beyond the page's need, because some authors are no longer followed, and some contents are
/// removed.
const SPARE_ROWS: usize = 4;
/// Factor by which a slice grows if too few of its rows are shown.
const WIDENING: usize = 8;
/// Tries for one page. Another try helps if the inbox changed in between, the slice was too short, or the authors
/// changed.
const TRIES: usize = 3;

/// What one attempt requests.
struct Attempt<'a> {
    inbox: &'a AskedInbox<'a>,
    request: &'a PageRequest,
    /// Rows ahead of the bound.
    rows: usize,
    /// Whether the statement may use remembered authors.
    by_authors: bool,
    with_facts: bool,
}

/// How an attempt ends.
enum Tried {
    /// The page is exact.
    Page(Raw),
    /// Another attempt may help; with the reason.
    Again(&'static str),
    /// Only SQL can give the page; with the reason.
    No(&'static str),
}

/// The result of the statement between both slices.
struct Found {
    expected: Option<Expected>,
    /// `None` if too much is in flight to use the remembered authors.
    snapshot: Option<Snapshot>,
    facts: HashMap<ContentId, CardFacts>,
    /// Whether the remembered authors and reactions have the snapshot's versions.
    is_current: bool,
}

impl TimelineReader {
    /// The page, if the reader has an inbox outside SQL that suffices for it and is believed.
    pub(super) async fn read_outside(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<Option<Raw>, StoreError> {
        let Some(inbox) = self.outside.as_ref().and_then(|outside| outside.ask(reader)) else { return Ok(None) };
        let rows = request.need() + SPARE_ROWS;
        let mut attempt = Attempt { inbox: &inbox, request, rows, by_authors: true, with_facts };
        for _ in 0..TRIES {
            let (page, outcome) = match self.try_outside(&mut attempt).await? {
                Tried::Page(page) => (Some(page), "believed"),
                Tried::Again(why) => {
                    metrics::counter!(OUTSIDE_READS, "outcome" => why).increment(1);
                    continue;
                }
                Tried::No(why) => (None, why),
            };
            metrics::counter!(OUTSIDE_READS, "outcome" => outcome).increment(1);
            if page.is_some() {
                count("outside");
            }
            return Ok(page);
        }
        Ok(None)
    }

    async fn try_outside(&self, attempt: &mut Attempt<'_>) -> Result<Tried, StoreError> {
        let Attempt { inbox, request, rows, .. } = *attempt;
        let sides = match inbox.before(request, rows).await {
            Ok(sides) => sides,
            Err(refusal) => return Ok(refusal.into()),
        };
        let known = if attempt.by_authors { self.known_or_learned(inbox.reader).await? } else { None };
        let found = match known.filter(|known| known.authors.is_covered()) {
            Some(known) => by_authors(attempt, &sides, &known).await?,
            None => self.by_edges(attempt, &sides).await?,
        };
        if let Err(refusal) = inbox.judge(&sides, found.expected).await {
            return Ok(refusal.into());
        }
        if !found.is_current {
            self.learn(inbox.reader).await?;
            return Ok(Tried::Again("outdated"));
        }
        let Some(snapshot) = found.snapshot else {
            attempt.by_authors = false;
            return Ok(Tried::Again("crowded"));
        };
        Ok(match decide(request, &snapshot, None) {
            Next::Serve(page) => Tried::Page(Raw::of(page, snapshot.floor, found.facts)),
            _ if sides.is_full => {
                attempt.rows *= WIDENING;
                Tried::Again("short")
            }
            _ => Tried::No("short"),
        })
    }

    /// One statement that reads the reader's edges.
    async fn by_edges(&self, attempt: &Attempt<'_>, sides: &Sides) -> Result<Found, StoreError> {
        let (ahead, behind) = (&sides.ahead, sides.behind.as_ref());
        let AskedInbox { reader, .. } = *attempt.inbox;
        let found = attempt.inbox.pages().page_with(reader, attempt.request, ahead, behind).await?;
        if !found.is_uncovered {
            self.known.forget_uncovered(reader);
        }
        let floor = Floor::At(ahead.slice.header.floor);
        let (ahead, behind) = (found.ahead, found.behind);
        let snapshot = Snapshot { floor, excludes: false, uncovered: Vec::new(), ahead, behind };
        Ok(Found { expected: found.expected, snapshot: Some(snapshot), facts: HashMap::new(), is_current: true })
    }
}

/// One statement without edges, for a reader whose authors are remembered and all covered.
async fn by_authors(attempt: &Attempt<'_>, sides: &Sides, known: &RememberedReader) -> Result<Found, StoreError> {
    let wanted = known.wanted(attempt.with_facts);
    let Attempt { inbox, request, .. } = *attempt;
    let (ahead, behind) = (&sides.ahead, sides.behind.as_ref());
    let candidates = inbox.pages().candidates_with(inbox.reader, request, (ahead, behind), wanted).await?;
    let (expected, found) = (candidates.expected, candidates.found);
    let behind = behind.map(|side| (&side.window, &side.slice));
    let snapshot = known.authors.outside_snapshot(&found, (&ahead.window, &ahead.slice), behind);
    let is_current = !is_outdated(known, &found, wanted);
    Ok(Found { expected, snapshot, facts: facts(known, &found, wanted), is_current })
}

impl From<Refusal> for Tried {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Changed => Self::Again("changed"),
            Refusal::No(why) => Self::No(why),
        }
    }
}
