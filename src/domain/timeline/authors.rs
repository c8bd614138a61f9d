//! The remembered authors of a timeline: the followed and the excluded ones of one snapshot, with its version. A page
//! may use them if its own snapshot has the same version.

use super::{
    coverage::{Run, TrustedArea},
    floor::Floor,
    page::{Direction, PageRequest},
    plan::Snapshot,
    position::{Entry, Position},
};
use crate::domain::{Counters, ViewerReactions, ids::UserId};

/// Whose contents a reader's timeline has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineAuthors {
    version: i64,
    followed: Box<[UserId]>,
    excluded: Box<[UserId]>,
    is_covered: bool,
}

/// A content that a page may show: it exists and is of the kinds that were asked for. Whether its author is in the
/// timeline is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its position and its author.
    pub entry: Entry,
    /// Who published what it reposts; `None` if it is no repost.
    pub original_author: Option<UserId>,
    /// `None` if they were not asked for.
    pub facts: Option<CardFacts>,
}

/// What a page's snapshot says of a content that may change as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardFacts {
    /// The content's counters.
    pub counters: Counters,
    /// The reader's reactions to it.
    pub reactions: ViewerReactions,
    /// The version of its author's profile.
    pub profile_version: i64,
}

/// What one snapshot says about a page of a reader whose authors are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// The version of the reader's authors; `None` if the reader has no account.
    pub version: Option<i64>,
    /// The reader's floor.
    pub floor: Floor,
    /// Contents in flight, on both sides of the bound and in any order; `None` if there were too many of them, or of
    /// `leaving`, to read all.
    pub in_flight: Option<Vec<Candidate>>,
    /// Authors whose accounts are being deleted: what is left of theirs is in no timeline.
    pub leaving: Vec<UserId>,
    /// Rows of the inbox beyond the bound as the page meets them, from the floor on.
    pub ahead: Vec<Candidate>,
    /// As `ahead`, at the bound and on its near side; empty if there is no bound.
    pub behind: Vec<Candidate>,
}

/// How many rows of an inbox [`Candidates`] hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateLimits {
    /// Beyond the bound.
    pub ahead: usize,
    /// At the bound and on its near side.
    pub behind: usize,
}

impl TimelineAuthors {
    /// `followed` with whether deliveries and the inbox cover the edge, and `excluded`, both in any order and of one
    /// snapshot with `version`.
    pub fn new(version: i64, followed: Vec<(UserId, bool)>, mut excluded: Vec<UserId>) -> Self {
        excluded.sort_unstable();
        excluded.dedup();
        let is_shown = |author: &UserId| excluded.binary_search(author).is_err();
        let is_covered = followed.iter().all(|(author, is_covered)| *is_covered || !is_shown(author));
        let mut followed: Vec<UserId> = followed.into_iter().map(|(author, _)| author).filter(is_shown).collect();
        followed.sort_unstable();
        Self { version, followed: followed.into(), excluded: excluded.into(), is_covered }
    }

    /// Of the snapshot that the authors were read from.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// Whether the inbox is trusted for every author; then it still is in every snapshot of the same version, as only
    /// changes with a new version take trust away.
    pub const fn is_covered(&self) -> bool {
        self.is_covered
    }

    /// Whether exclusions leave anybody out.
    pub const fn excludes(&self) -> bool {
        !self.excluded.is_empty()
    }

    /// Bytes that this holds.
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + (self.followed.len() + self.excluded.len()) * size_of::<UserId>()
    }

    /// Whether the timeline has this one of the contents that were found.
    pub fn shows(&self, candidate: &Candidate, found: &Candidates) -> bool {
        let is_excluded = |author: &UserId| self.excluded.binary_search(author).is_ok();
        self.followed.binary_search(&candidate.entry.author).is_ok()
            && !found.leaving.contains(&candidate.entry.author)
            && !candidate.original_author.as_ref().is_some_and(is_excluded)
    }

    /// The snapshot of a page, out of candidates of the same version that `limits` bounded. `None` if they are of
    /// another version, or cannot make a snapshot: some edge is not covered, or too much is in flight.
    pub fn snapshot(&self, request: &PageRequest, found: &Candidates, limits: CandidateLimits) -> Option<Snapshot> {
        let in_flight = found.in_flight.as_ref()?;
        if found.version != Some(self.version) || !self.is_covered {
            return None;
        }
        let PageRequest { direction, bound, .. } = *request;
        let edge = found.floor.trusted_from();
        let area = |direction, limit| TrustedArea { direction, bound, limit, edge };
        let flying = self.entries(in_flight, found);
        let ahead = self.runs(&area(direction, limits.ahead), (&found.ahead, found), &flying, |position, from| {
            direction.meets_first(from, position)
        });
        let back = direction.reversed();
        let behind = bound.map(|_| {
            self.runs(&area(back, limits.behind), (&found.behind, found), &flying, |position, from| {
                back.meets_first(from, position) || position == from
            })
        });
        Some(Snapshot {
            floor: found.floor,
            excludes: self.excludes(),
            uncovered: Vec::new(),
            ahead,
            behind: behind.unwrap_or_default(),
        })
    }

    /// Whether more rows of the inbox may complete a page that these do not: on some side all that `limits` allow were
    /// read, and too few of them are shown.
    pub fn wants_more_rows(&self, request: &PageRequest, found: &Candidates, limits: CandidateLimits) -> bool {
        let shown = |rows: &[Candidate]| self.entries(rows, found).len();
        let is_short = |rows: &[Candidate], limit, need| rows.len() == limit && shown(rows) < need;
        is_short(&found.ahead, limits.ahead, request.need()) || is_short(&found.behind, limits.behind, 1)
    }

    /// Those of these contents, which were found, that the timeline has.
    fn entries(&self, candidates: &[Candidate], found: &Candidates) -> Vec<Entry> {
        candidates.iter().filter(|it| self.shows(it, found)).map(|it| it.entry).collect()
    }

    /// What is in flight in the window, and what the inbox has.
    fn runs(
        &self,
        area: &TrustedArea,
        (inbox, found): (&[Candidate], &Candidates),
        in_flight: &[Entry],
        is_beyond: impl Fn(Position, Position) -> bool,
    ) -> Vec<Run> {
        let from = area.bound.unwrap_or(area.direction.start());
        let mut flying = in_flight.to_vec();
        flying.retain(|entry| area.bound.is_none() || is_beyond(entry.position(), from));
        let seen: Vec<Position> = inbox.iter().map(|it| it.entry.position()).collect();
        vec![
            Run::from_limited_query(area.direction, flying, usize::MAX),
            Run::from_filtered_area(area, &seen, self.entries(inbox, found)),
        ]
    }
}

impl CandidateLimits {
    /// Rows to read for a page: as many as it needs, and twice as many for a reader with exclusions, because excluded
    /// rows are dropped.
    pub fn of(request: &PageRequest, authors: &TimelineAuthors) -> Self {
        let rows = if authors.excludes() { 2 } else { 1 };
        Self { ahead: request.need() * rows, behind: 4 * rows }
    }

    /// Twice as much of both, unless that is more than any page needs.
    pub fn doubled(self, most: usize) -> Option<Self> {
        let Self { ahead, behind } = self;
        (ahead < most).then_some(Self { ahead: ahead * 2, behind: behind * 2 })
    }
}

/// Whether the page certainly reaches below this floor, judging by its bound alone.
pub fn lies_below(request: &PageRequest, floor: Floor) -> bool {
    let edge = floor.trusted_from();
    match request.direction {
        Direction::Older => request.bound.unwrap_or(Position::NEWEST) <= edge,
        Direction::Newer => request.bound.unwrap_or(Position::OLDEST) < edge,
    }
}
