//! Coverage as a type, the k-way merge, which stops where the first run ends, and the page of one snapshot.
//!
//! A [`Run`] is entries of a source, and the range in which they are *all* of its entries. It cannot claim more than a
//! constructor has checked, so "assumed complete" cannot be expressed.

use super::{
    floor::Floor,
    page::{Cut, Direction, Page, PageRequest},
    position::{Entry, Position},
};

/// Entries of one source in a window, and the position down to which none is missing.
///
/// Invariants: entries lie strictly beyond the bound, in reading order, without duplicates. Every entry of the source
/// from the bound to `reaches` (inclusive) is among them, and none lies beyond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    direction: Direction,
    entries: Vec<Entry>,
    reaches: Position,
}

/// A window of an area that is trusted down to an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedArea {
    /// The direction of the window.
    pub direction: Direction,
    /// Where it starts, exclusive.
    pub bound: Option<Position>,
    /// Rows that were requested.
    pub limit: usize,
    /// The lowest trusted position.
    pub edge: Position,
}

impl Run {
    /// The result of a query limited to `limit` entries. If it has fewer, the source is exhausted.
    ///
    /// `rows` may be in any order; duplicates count once.
    pub fn from_limited_query(direction: Direction, rows: Vec<Entry>, limit: usize) -> Self {
        let cut = rows.len() >= limit;
        Self::ordered(direction, rows, |last| if cut { last.unwrap_or(direction.start()) } else { direction.end() })
    }

    /// A query's rows from a trusted area that ends at its edge (a floor, or the end of a cached outbox). Beyond the
    /// edge nothing is known. If there are as many rows as the limit allows, they are in reading order.
    ///
    /// Towards older entries the area is everything from the edge up. Towards newer ones the bound must lie in the
    /// area, or else nothing is known.
    pub fn from_trusted_area(area: &TrustedArea, rows: Vec<Entry>) -> Self {
        let seen: Vec<Position> = rows.iter().map(Entry::position).collect();
        Self::from_filtered_area(area, &seen, rows)
    }

    /// As [`Self::from_trusted_area`], after a filter: `seen` are all rows in reading order, `passed` those that belong
    /// to the source.
    pub fn from_filtered_area(area: &TrustedArea, seen: &[Position], passed: Vec<Entry>) -> Self {
        let TrustedArea { direction, bound, limit, edge } = *area;
        let trusted = match direction {
            Direction::Older => true,
            Direction::Newer => bound.unwrap_or(Position::OLDEST) >= edge,
        };
        if !trusted {
            return Self::unknown(direction, bound);
        }
        let end = if direction == Direction::Older { edge } else { direction.end() };
        let reaches = match seen.last() {
            Some(last) if seen.len() >= limit => {
                if direction.meets_first(*last, end) {
                    *last
                } else {
                    end
                }
            }
            None if limit == 0 => bound.unwrap_or(direction.start()),
            _ => end,
        };
        let passed = passed.into_iter().filter(|entry| !direction.meets_first(reaches, entry.position())).collect();
        Self::ordered(direction, passed, |_| reaches)
    }

    /// All entries of a source from the bound to the publish time `end_ms`, inclusive; `rows` in any order.
    pub fn from_stretch(direction: Direction, rows: Vec<Entry>, end_ms: i64) -> Self {
        let reaches = match direction {
            Direction::Older => Position::bound(end_ms, 0),
            Direction::Newer => Position::bound(end_ms, i64::MAX),
        };
        let rows = rows.into_iter().filter(|row| !direction.meets_first(reaches, row.position())).collect();
        Self::ordered(direction, rows, |_| reaches)
    }

    /// A run that knows nothing beyond the bound.
    pub fn unknown(direction: Direction, bound: Option<Position>) -> Self {
        Self { direction, entries: Vec::new(), reaches: bound.unwrap_or(direction.start()) }
    }

    /// The entries in reading order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// No entry of the source is missing down to here, inclusive.
    pub const fn reaches(&self) -> Position {
        self.reaches
    }

    /// Whether no entry of the source is missing up to `position`.
    pub fn covers(&self, position: Position) -> bool {
        !self.direction.meets_first(self.reaches, position)
    }

    /// Whether the source has no further entries in this window.
    pub fn is_exhausted(&self) -> bool {
        self.reaches == self.direction.end()
    }

    fn ordered(
        direction: Direction,
        mut entries: Vec<Entry>,
        reaches: impl FnOnce(Option<Position>) -> Position,
    ) -> Self {
        entries.sort_unstable_by(|a, b| match direction {
            Direction::Older => b.position().cmp(&a.position()),
            Direction::Newer => a.position().cmp(&b.position()),
        });
        entries.dedup_by_key(|entry| entry.position());
        let reaches = reaches(entries.last().map(Entry::position));
        Self { direction, entries, reaches }
    }
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// At most the needed number of entries, in reading order, without duplicates and without gaps.
    pub entries: Vec<Entry>,
    /// Whether these are all the needed entries, or all entries: reading more would change nothing.
    pub complete: bool,
}

/// Merges `runs` into the first `need` entries in `direction`.
///
/// Entries beyond the nearest end of any run are left out, because that run might have others before them.
pub fn merge(direction: Direction, runs: &[Run], need: usize) -> Merged {
    let mut heads: Vec<&[Entry]> = runs.iter().map(Run::entries).collect();
    let mut entries: Vec<Entry> = Vec::with_capacity(need);
    while entries.len() < need {
        let Some(next) = take_first(direction, &mut heads) else { break };
        if !runs.iter().all(|run| run.covers(next.position())) {
            return Merged { entries, complete: false };
        }
        if entries.last().map(Entry::position) != Some(next.position()) {
            entries.push(next);
        }
    }
    let complete = entries.len() == need || runs.iter().all(Run::is_exhausted);
    Merged { entries, complete }
}

/// Takes the next entry in reading order off its run.
fn take_first(direction: Direction, heads: &mut [&[Entry]]) -> Option<Entry> {
    let mut best: Option<(usize, Position)> = None;
    for (index, head) in heads.iter().enumerate() {
        if let Some(entry) = head.first()
            && best.is_none_or(|(_, position)| direction.meets_first(entry.position(), position))
        {
            best = Some((index, entry.position()));
        }
    }
    let (index, _) = best?;
    let (entry, rest) = heads[index].split_first()?;
    heads[index] = rest;
    Some(*entry)
}

/// What one snapshot says about one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The reader's floor. The page does not depend on it; upkeep does.
    pub floor: Floor,
    /// The sources of the page, each read up to the page's need.
    pub ahead: Vec<Run>,
    /// The sources at and behind the bound, each read up to one entry. Empty without a bound.
    pub behind: Vec<Run>,
}

impl Snapshot {
    /// The page; `None` if the sources do not reach far enough for an exact one.
    pub fn page(&self, request: &PageRequest) -> Option<Page> {
        exact_page(request, &self.ahead, &self.behind)
    }
}

/// The page made of these sources: `ahead` of the bound, each read up to the page's need, and `behind` it (inclusive),
/// each up to one entry. `None` if the sources do not reach far enough for an exact page.
pub fn exact_page(request: &PageRequest, ahead: &[Run], behind: &[Run]) -> Option<Page> {
    let ahead = merge(request.direction, ahead, request.need());
    if !ahead.complete {
        return None;
    }
    let more_behind = request.bound.is_some() && lies_behind(request.direction.reversed(), behind)?;
    Some(page(request, ahead.entries, more_behind))
}

/// Whether there is anything behind the bound. One entry of any source proves it. `None` if no source can tell.
fn lies_behind(direction: Direction, runs: &[Run]) -> Option<bool> {
    if runs.iter().any(|run| !run.entries().is_empty()) {
        return Some(true);
    }
    let nothing = merge(direction, runs, 1);
    nothing.complete.then_some(false)
}

fn page(request: &PageRequest, entries: Vec<Entry>, more_behind: bool) -> Page {
    let Cut { rows: entries, has_older, has_newer } = Cut::of(request, entries, more_behind);
    Page { entries, has_older, has_newer }
}

#[cfg(test)]
mod tests;
