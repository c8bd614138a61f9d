//! Coverage as a type, and the k-way merge, which stops where the first run ends.
//!
//! A [`Run`] is entries of a source, and the range in which they are *all* of its entries. It cannot claim more than a
//! constructor has checked, so "assumed complete" cannot be expressed.

use super::{
    page::Direction,
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

    /// A query's rows from a trusted area that ends at `edge` (a floor, or the end of a cached outbox). Beyond `edge`
    /// nothing is known.
    ///
    /// Towards older entries the area is everything from `edge` up. Towards newer ones the bound must lie in the area,
    /// or else nothing is known.
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

    /// As [`Self::from_trusted_area`], after a filter: `seen` are all rows in order, `passed` those that belong to the
    /// source.
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

    /// A run of a source without entries in the window.
    pub const fn empty(direction: Direction) -> Self {
        Self { direction, entries: Vec::new(), reaches: direction.end() }
    }

    /// Extends this run with `further`, which covers the area beyond `edge` and nothing else.
    #[must_use]
    pub fn then(mut self, further: Self) -> Self {
        debug_assert_eq!(self.direction, further.direction);
        self.entries.extend(further.entries);
        Self::ordered(self.direction, self.entries, |_| further.reaches)
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::ids::{ContentId, UserId};

    fn entry(time: i64, id: i64) -> Entry {
        Entry { publish_time: time, content: ContentId::try_new(id).unwrap(), author: UserId::try_new(1).unwrap() }
    }

    fn direction() -> impl Strategy<Value = Direction> {
        prop_oneof![Just(Direction::Older), Just(Direction::Newer)]
    }

    fn met(direction: Direction, mut all: Vec<Entry>) -> Vec<Entry> {
        all.sort_by_key(Entry::position);
        all.dedup_by_key(|entry| entry.position());
        if direction == Direction::Older {
            all.reverse();
        }
        all
    }

    proptest! {
        /// Sources cut at arbitrary limits: what the merge gives is a prefix of the true answer, and the whole of it
        /// when it says so.
        #[test]
        fn a_merge_is_a_prefix_of_the_union_and_reports_completeness(
            sources in vec(vec((0_i64..12, 1_i64..6), 0..12), 1..6), limits in vec(1_usize..8, 6), need in 1_usize..9, direction in direction(),
        ) {
            let sources: Vec<Vec<Entry>> = sources.into_iter()
                .map(|source| met(direction, source.into_iter().map(|(time, id)| entry(time, id)).collect())).collect();
            let runs: Vec<Run> = sources.iter().zip(&limits)
                .map(|(source, limit)| {
                    Run::from_limited_query(direction, source.iter().take(*limit).copied().collect(), *limit)
                })
                .collect();
            let expected: Vec<Entry> = met(direction, sources.concat()).into_iter().take(need).collect();
            let merged = merge(direction, &runs, need);
            prop_assert!(expected.starts_with(&merged.entries));
            if merged.complete {
                prop_assert_eq!(&merged.entries, &expected);
            }
            if limits.iter().all(|limit| *limit >= need) {
                prop_assert!(merged.complete, "sources read to the page's length always suffice");
            }
        }

        /// A trusted area gives nothing that lies beyond its edge, and never claims what lies there.
        #[test]
        fn an_area_is_never_believed_beyond_its_edge(
            rows in vec((1_i64..12, 1_i64..6), 0..12), edge in (0_i64..12, 1_i64..6), bound in proptest::option::of((0_i64..12, 1_i64..6)),
            limit in 1_usize..8, need in 1_usize..8, direction in direction(),
        ) {
            let edge = Position::bound(edge.0, edge.1);
            let bound = bound.map(|(time, id)| Position::bound(time, id));
            let from = bound.unwrap_or(direction.start());
            let all: Vec<Entry> = met(direction, rows.into_iter().map(|(time, id)| entry(time, id)).collect())
                .into_iter().filter(|entry| direction.meets_first(from, entry.position())).collect();
            let trusted: Vec<Entry> =
                all.iter().filter(|entry| entry.position() >= edge).take(limit).copied().collect();
            let merged = merge(direction, &[Run::from_trusted_area(direction, bound, trusted, limit, edge)], need);
            let expected: Vec<Entry> = all.iter().take(need).copied().collect();
            prop_assert!(expected.starts_with(&merged.entries));
            if merged.complete {
                prop_assert_eq!(merged.entries, expected);
            }
        }
    }

    #[test]
    fn an_unknown_source_holds_back_every_entry() {
        let known = Run::from_limited_query(Direction::Older, vec![entry(5, 1)], 3);
        let unknown = Run::unknown(Direction::Older, None);
        assert_eq!(merge(Direction::Older, &[known, unknown], 1), Merged { entries: Vec::new(), complete: false });
    }

    #[test]
    fn the_same_entry_from_two_sources_is_one_entry() {
        let run = || Run::from_limited_query(Direction::Older, vec![entry(5, 1), entry(4, 1)], 9);
        let merged = merge(Direction::Older, &[run(), run()], 9);
        assert_eq!(merged, Merged { entries: vec![entry(5, 1), entry(4, 1)], complete: true });
    }
}
