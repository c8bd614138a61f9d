//! The remembered authors of a timeline: the followed and the excluded ones in one snapshot, with its version. A page
//! may use them if its own snapshot has the same version.

use super::{
    candidates::{Candidate, CandidateLimits, Candidates},
    floor::Floor,
    merge::{Run, Snapshot, TrustedArea},
    outside::{Slice, Window},
    page::{Direction, PageRequest},
    position::{Entry, Position},
    reactions::RememberedReactions,
    route::Miss,
};
use crate::ids::UserId;

/// The authors whose contents a reader's timeline shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineAuthors {
    version: i64,
    followed: Box<[UserId]>,
    uncovered: Box<[UserId]>,
    excluded: Box<[UserId]>,
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
    pub fn new(version: i64, followed: &[(UserId, bool)], mut excluded: Vec<UserId>) -> Self {
        excluded.sort_unstable();
        excluded.dedup();
        let is_shown = |author: &UserId| excluded.binary_search(author).is_err();
        let of = |wanted: fn(bool) -> bool| {
            let some = followed.iter().filter(|(author, is_covered)| wanted(*is_covered) && is_shown(author));
            let mut some: Vec<UserId> = some.map(|(author, _)| *author).collect();
            some.sort_unstable();
            Box::from(some)
        };
        Self { version, followed: of(|_| true), uncovered: of(|is_covered| !is_covered), excluded: excluded.into() }
    }

    /// The version in the snapshot that the authors were read from.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// Followed authors who are not left out and for whom the inbox is not trusted, ascending. In every snapshot of the
    /// same version it is trusted for all others, because an edge that loses trust changes the version.
    pub const fn uncovered(&self) -> &[UserId] {
        &self.uncovered
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
        size_of::<Self>() + (self.followed.len() + self.uncovered.len() + self.excluded.len()) * size_of::<UserId>()
    }

    /// Whether the timeline shows this one of the contents in `found`.
    pub fn shows(&self, candidate: &Candidate, found: &Candidates) -> bool {
        let is_excluded = |author: &UserId| self.excluded.binary_search(author).is_ok();
        self.followed.binary_search(&candidate.entry.author).is_ok()
            && !found.leaving.contains(&candidate.entry.author)
            && !candidate.original_author.as_ref().is_some_and(is_excluded)
    }

    /// The contents in flight, if these candidates may be judged by what is remembered: they are of its version, and
    /// not too much is in flight.
    pub fn in_flight<'a>(&self, found: &'a Candidates) -> Result<&'a [Candidate], Miss> {
        if found.version != Some(self.version) {
            return Err(Miss::Outdated);
        }
        found.in_flight.as_deref().ok_or(Miss::Crowded)
    }

    /// The snapshot of a page from these candidates. [`Miss::Short`] if some uncovered author was not pulled, or
    /// exclusions cannot be applied to reposts.
    pub fn snapshot(&self, request: &PageRequest, found: &Candidates, sources: &Sources<'_>) -> Result<Snapshot, Miss> {
        let in_flight = self.in_flight(found)?;
        let is_pulled = |author: &UserId| sources.outboxes.authors().binary_search(author).is_ok();
        // Cached outboxes do not tell whose contents a repost shows.
        let has_original_authors = sources.has_original_authors && matches!(sources.outboxes, Outboxes::Read(_));
        if !self.uncovered.iter().all(is_pulled) || (self.excludes() && !has_original_authors) {
            return Err(Miss::Short);
        }
        let in_flight = self.entries(in_flight, found);
        let side = |side: &PageSide| {
            let mut runs = vec![side.in_flight(&in_flight), self.inbox(side, found, sources)];
            match sources.outboxes {
                Outboxes::Read([]) => {}
                Outboxes::Read(_) => {
                    let rows = if side.is_behind { &found.pulled_behind } else { &found.pulled_ahead };
                    runs.push(self.filtered(&side.area(Position::OLDEST), rows, found));
                }
                Outboxes::Cached(_, [ahead, behind]) => {
                    runs.extend_from_slice(if side.is_behind { behind } else { ahead });
                }
            }
            runs
        };
        let [ahead, behind] = PageSide::both(request, sources.limits);
        Ok(Snapshot {
            floor: sources.slices.map_or(found.floor, |slices| Floor::At(slices[0].1.header.floor)),
            ahead: side(&ahead),
            behind: request.bound.map(|_| side(&behind)).unwrap_or_default(),
        })
    }

    /// Rows to read for a page: as many as it needs, and twice as many for a reader with exclusions, because excluded
    /// rows are dropped.
    pub fn limits(&self, request: &PageRequest) -> CandidateLimits {
        let rows = if self.excludes() { 2 } else { 1 };
        CandidateLimits { ahead: request.need() * rows, behind: 4 * rows }
    }

    /// Whether more rows may complete the page: of some source all rows that `limits` allow were read, and too few
    /// of them are shown.
    pub fn wants_more_rows(&self, request: &PageRequest, found: &Candidates, limits: CandidateLimits) -> bool {
        let is_short = |rows: &[Candidate], limit, need| rows.len() == limit && self.entries(rows, found).len() < need;
        [&found.ahead, &found.pulled_ahead].into_iter().any(|rows| is_short(rows, limits.ahead, request.need()))
            || [&found.behind, &found.pulled_behind].into_iter().any(|rows| is_short(rows, limits.behind, 1))
    }

    /// The entries of those candidates in `found` that the timeline shows.
    fn entries(&self, candidates: &[Candidate], found: &Candidates) -> Vec<Entry> {
        candidates.iter().filter(|it| self.shows(it, found)).map(|it| it.entry).collect()
    }

    /// The run of the inbox.
    fn inbox(&self, side: &PageSide, found: &Candidates, sources: &Sources<'_>) -> Run {
        let rows = if side.is_behind { &found.behind } else { &found.ahead };
        match sources.slices {
            None => self.filtered(&side.area(found.floor.trusted_from()), rows, found),
            Some(slices) => {
                let (window, slice) = slices[usize::from(side.is_behind)];
                slice.run(window, self.entries(rows, found))
            }
        }
    }

    /// The run of a source whose rows in this area were read, of any author.
    fn filtered(&self, area: &TrustedArea, rows: &[Candidate], found: &Candidates) -> Run {
        let seen: Vec<Position> = rows.iter().map(|it| it.entry.position()).collect();
        Run::from_filtered_area(area, &seen, self.entries(rows, found))
    }
}

/// How the candidates of a page were read.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Most rows of each source.
    pub limits: CandidateLimits,
    /// Whether the candidates have the original's author of a repost.
    pub has_original_authors: bool,
    /// The pulled authors, and what is known of their outboxes.
    pub outboxes: Outboxes<'a>,
    /// What was read of an inbox outside SQL, each slice in its window: ahead of the bound, and behind it if there is
    /// a bound. `None`: the inbox lies in SQL.
    pub slices: Option<&'a [(&'a Window, &'a Slice)]>,
}

/// The outboxes of pulled authors, whose ids are ascending.
#[derive(Debug, Clone, Copy)]
pub enum Outboxes<'a> {
    /// Their contents are among the candidates.
    Read(&'a [UserId]),
    /// These runs are of cached outboxes, at the versions of the snapshot: ahead of the bound, and behind it.
    Cached(&'a [UserId], &'a [Vec<Run>; 2]),
}

impl Outboxes<'_> {
    const fn authors(&self) -> &[UserId] {
        match self {
            Self::Read(authors) | Self::Cached(authors, _) => authors,
        }
    }
}

/// One side of a page's bound.
struct PageSide {
    is_behind: bool,
    direction: Direction,
    bound: Option<Position>,
    limit: usize,
}

impl PageSide {
    fn both(request: &PageRequest, limits: CandidateLimits) -> [Self; 2] {
        let PageRequest { direction, bound, .. } = *request;
        [
            Self { is_behind: false, direction, bound, limit: limits.ahead },
            Self { is_behind: true, direction: direction.reversed(), bound, limit: limits.behind },
        ]
    }

    fn area(&self, edge: Position) -> TrustedArea {
        let Self { direction, bound, limit, .. } = *self;
        TrustedArea { direction, bound, limit, edge }
    }

    /// All that is in flight on this side; behind the bound that includes what stands at it.
    fn in_flight(&self, all: &[Entry]) -> Run {
        let is_here = |entry: &&Entry| {
            let position = entry.position();
            self.bound.is_none_or(|bound| {
                self.direction.meets_first(bound, position) || (self.is_behind && position == bound)
            })
        };
        Run::from_limited_query(self.direction, all.iter().filter(is_here).copied().collect(), usize::MAX)
    }
}
