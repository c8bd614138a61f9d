//! Coverage as a type: some entries of a source, and how far they are *all* of its entries.
//!
//! A [`Run`] cannot claim more than a constructor has checked, so that "assumed complete" cannot be expressed. Where a
//! run ends, the merge knows nothing, and says so.

use super::{
    page::Direction,
    position::{Entry, Position},
};

/// Entries of one source in a window, and the position up to which none is missing.
///
/// Invariants: entries lie strictly beyond the bound and are ordered as the window meets them, no position twice;
/// every entry of the source from the bound to `reaches` (inclusive) is among them; none lies beyond `reaches`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    direction: Direction,
    entries: Vec<Entry>,
    reaches: Position,
}

/// A window of an area that is trusted only up to an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedArea {
    /// Which way the window leads.
    pub direction: Direction,
    /// Where it starts, exclusive.
    pub bound: Option<Position>,
    /// Rows that were asked for.
    pub limit: usize,
    /// The lowest position that is trusted.
    pub edge: Position,
}

impl Run {
    /// What a query gave that was limited to `limit` entries: if it gave fewer, the source is exhausted.
    ///
    /// `rows` in any order; repeated positions count once.
    pub fn from_limited_query(direction: Direction, rows: Vec<Entry>, limit: usize) -> Self {
        let cut = rows.len() >= limit;
        Self::ordered(direction, rows, |last| if cut { last.unwrap_or(direction.start()) } else { direction.end() })
    }

    /// The rows of a trusted area that ends at `edge` (a floor, or where a cache begins): a limited query's rows, of
    /// which nothing is known beyond `edge`.
    ///
    /// Reading towards older entries the area is `edge` and all above it; towards newer ones it must start at or below
    /// the bound, or nothing is known at all.
    pub fn from_trusted_area(
        direction: Direction,
        bound: Option<Position>,
        rows: Vec<Entry>,
        limit: usize,
        edge: Position,
    ) -> Self {
        match direction {
            Direction::Older => {
                let cut = rows.len() >= limit;
                let rows = rows.into_iter().filter(|entry| entry.position() >= edge).collect();
                Self::ordered(direction, rows, |last| match last {
                    Some(last) if cut => last.max(edge),
                    _ => edge,
                })
            }
            Direction::Newer if bound.unwrap_or(Position::OLDEST) >= edge || edge == Position::OLDEST => {
                Self::from_limited_query(direction, rows, limit)
            }
            Direction::Newer => Self::unknown(direction, bound),
        }
    }

    /// As [`Self::from_trusted_area`], of an area whose rows a filter has looked at: `seen` are the rows as they lie
    /// there, `passed` the entries among them that are in the source.
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

    /// Nothing is known of the source beyond the bound.
    pub fn unknown(direction: Direction, bound: Option<Position>) -> Self {
        Self { direction, entries: Vec::new(), reaches: bound.unwrap_or(direction.start()) }
    }

    /// The source has nothing in the window.
    pub const fn empty(direction: Direction) -> Self {
        Self { direction, entries: Vec::new(), reaches: direction.end() }
    }

    /// This run, and from where it ends the `further` one, which covers the area beyond `edge` and nothing else.
    #[must_use]
    pub fn then(mut self, further: Self) -> Self {
        debug_assert_eq!(self.direction, further.direction);
        self.entries.extend(further.entries);
        Self::ordered(self.direction, self.entries, |_| further.reaches)
    }

    /// The entries, as the window meets them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Up to here (inclusive) no entry of the source is missing.
    pub const fn reaches(&self) -> Position {
        self.reaches
    }

    /// Whether no entry of the source is missing up to `position`.
    pub fn covers(&self, position: Position) -> bool {
        !self.direction.meets_first(self.reaches, position)
    }

    /// Whether the source has nothing more in this window.
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
