//! The remembered authors of a timeline: the followed and the excluded ones in one snapshot, with its version. A page
//! may use them if its own snapshot has the same version.

use super::{
    candidates::{Candidate, CandidateLimits, Candidates},
    coverage::{Run, TrustedArea},
    floor::Floor,
    outside::{Slice, Window},
    page::{Direction, PageRequest},
    plan::Snapshot,
    position::{Entry, Position},
    reactions::RememberedReactions,
};
use crate::ids::UserId;

/// The authors whose contents a reader's timeline shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineAuthors {
    version: i64,
    followed: Box<[UserId]>,
    excluded: Box<[UserId]>,
    is_covered: bool,
}

/// What a node may remember of a reader, of one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderSnapshot {
    /// The authors of the reader's timeline.
    pub authors: TimelineAuthors,
    /// The reader's reactions; `None` if there are too many.
    pub reactions: Option<RememberedReactions>,
    /// The reader's floor.
    pub floor: Floor,
}

impl TimelineAuthors {
    /// `followed` says for each author whether deliveries and the inbox cover the edge. Both lists are in any order,
    /// from the snapshot of `version`.
    pub fn new(version: i64, followed: Vec<(UserId, bool)>, mut excluded: Vec<UserId>) -> Self {
        excluded.sort_unstable();
        excluded.dedup();
        let is_shown = |author: &UserId| excluded.binary_search(author).is_err();
        let is_covered = followed.iter().all(|(author, is_covered)| *is_covered || !is_shown(author));
        let mut followed: Vec<UserId> = followed.into_iter().map(|(author, _)| author).filter(is_shown).collect();
        followed.sort_unstable();
        Self { version, followed: followed.into(), excluded: excluded.into(), is_covered }
    }

    /// The version in the snapshot that the authors were read from.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// Whether the inbox is trusted for every author. That then holds in every snapshot of the same version, because
    /// losing trust changes the version.
    pub const fn is_covered(&self) -> bool {
        self.is_covered
    }

    /// Whether some author is excluded.
    pub const fn excludes(&self) -> bool {
        !self.excluded.is_empty()
    }

    /// Followed authors who are not left out, ascending.
    pub const fn followed(&self) -> &[UserId] {
        &self.followed
    }

    /// Bytes in memory.
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + (self.followed.len() + self.excluded.len()) * size_of::<UserId>()
    }

    /// Whether the timeline shows this one of the contents in `found`.
    pub fn shows(&self, candidate: &Candidate, found: &Candidates) -> bool {
        let is_excluded = |author: &UserId| self.excluded.binary_search(author).is_ok();
        self.followed.binary_search(&candidate.entry.author).is_ok()
            && !found.leaving.contains(&candidate.entry.author)
            && !candidate.original_author.as_ref().is_some_and(is_excluded)
    }

    /// The snapshot of a page, from candidates within `limits`. `None` if the versions differ, some edge is not
    /// covered, or too much is in flight.
    pub fn snapshot(&self, request: &PageRequest, found: &Candidates, limits: CandidateLimits) -> Option<Snapshot> {
        let flying = self.flying(found)?;
        let PageRequest { direction, bound, .. } = *request;
        let edge = found.floor.trusted_from();
        let area = |direction, limit| TrustedArea { direction, bound, limit, edge };
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

    /// As [`Self::snapshot`], of a reader whose inbox lies outside SQL: the slices are what was read of it, each in its
    /// window, and `found` has those of their contents that exist.
    pub fn outside_snapshot(
        &self,
        found: &Candidates,
        ahead: (&Window, &Slice),
        behind: Option<(&Window, &Slice)>,
    ) -> Option<Snapshot> {
        let flying = self.flying(found)?;
        let runs = |(window, slice): (&Window, &Slice), rows: &[Candidate]| {
            let Window { direction, bound, .. } = *window;
            let is_beyond = |entry: &&Entry| bound.is_none_or(|bound| direction.meets_first(bound, entry.position()));
            let flying = flying.iter().filter(is_beyond).copied().collect();
            let flying = Run::from_limited_query(direction, flying, usize::MAX);
            vec![flying, slice.run(window, self.entries(rows, found))]
        };
        Some(Snapshot {
            floor: found.floor,
            excludes: self.excludes(),
            uncovered: Vec::new(),
            ahead: runs(ahead, &found.ahead),
            behind: behind.map(|side| runs(side, &found.behind)).unwrap_or_default(),
        })
    }

    /// Rows to read for a page: as many as it needs, and twice as many for a reader with exclusions, because excluded
    /// rows are dropped.
    pub fn limits(&self, request: &PageRequest) -> CandidateLimits {
        let rows = if self.excludes() { 2 } else { 1 };
        CandidateLimits { ahead: request.need() * rows, behind: 4 * rows }
    }

    /// Whether more inbox rows may complete the page: on some side all rows that `limits` allow were read, and too few
    /// of them are shown.
    pub fn wants_more_rows(&self, request: &PageRequest, found: &Candidates, limits: CandidateLimits) -> bool {
        let shown = |rows: &[Candidate]| self.entries(rows, found).len();
        let is_short = |rows: &[Candidate], limit, need| rows.len() == limit && shown(rows) < need;
        is_short(&found.ahead, limits.ahead, request.need()) || is_short(&found.behind, limits.behind, 1)
    }

    /// The contents in flight that the timeline shows. `None` if the versions differ, some edge is not covered, or too
    /// much is in flight: then `found` makes no page.
    fn flying(&self, found: &Candidates) -> Option<Vec<Entry>> {
        let in_flight = found.in_flight.as_ref()?;
        let is_believed = found.version == Some(self.version) && self.is_covered;
        is_believed.then(|| self.entries(in_flight, found))
    }

    /// The entries of those candidates in `found` that the timeline shows.
    fn entries(&self, candidates: &[Candidate], found: &Candidates) -> Vec<Entry> {
        candidates.iter().filter(|it| self.shows(it, found)).map(|it| it.entry).collect()
    }

    /// The runs of the contents in flight and of the inbox.
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

/// Whether the page certainly reaches below this floor, judging only by its bound.
pub fn lies_below(request: &PageRequest, floor: Floor) -> bool {
    let edge = floor.trusted_from();
    match request.direction {
        Direction::Older => request.bound.unwrap_or(Position::NEWEST) <= edge,
        Direction::Newer => request.bound.unwrap_or(Position::OLDEST) < edge,
    }
}
