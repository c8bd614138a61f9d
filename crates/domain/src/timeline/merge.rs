//! The k-way merge: merges runs into one page and stops where the first run ends.

use super::{
    coverage::Run,
    page::Direction,
    position::{Entry, Position},
};

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
