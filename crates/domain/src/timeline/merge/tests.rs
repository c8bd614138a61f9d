//! Tests what a merge gives, and which page a snapshot makes.
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
        let area = TrustedArea { direction, bound, limit, edge };
        let merged = merge(direction, &[Run::from_trusted_area(&area, trusted)], need);
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

mod pages {
    use std::collections::BTreeMap;

    use proptest::{collection::btree_map, prelude::*};

    use super::super::*;
    use crate::{
        ids::{ContentId, UserId},
        timeline::{page::PageSize, position::Position},
    };

    fn entries(times: &[i64]) -> Vec<Entry> {
        let author = UserId::try_new(1).unwrap();
        times
            .iter()
            .map(|time| Entry { publish_time: *time, content: ContentId::try_new(*time).unwrap(), author })
            .collect()
    }

    fn older(times: &[i64], limit: usize) -> Run {
        Run::from_limited_query(Direction::Older, entries(times), limit)
    }

    fn request(size: i64, bound: Option<i64>) -> PageRequest {
        let bound = bound.map(|time| Position::bound(time, time));
        PageRequest { bound, ..PageRequest::newest(PageSize::try_new(size).unwrap()) }
    }

    fn snapshot(ahead: Vec<Run>, behind: Vec<Run>) -> Snapshot {
        Snapshot { floor: Floor::OPEN, ahead, behind }
    }

    /// Where an entry of a made-up world is kept.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Source {
        InFlight,
        Covered,
        Uncovered,
    }

    /// Positions of a world: few times and ids, so that ties are common.
    type Coordinates = (i64, i64);

    fn at((time, id): Coordinates) -> Position {
        Position::bound(time, id)
    }

    /// One side of the bound as stores give it: a limited query, an inbox that is trusted from the floor on, an outbox
    /// that is complete from somewhere.
    fn sources(
        world: &BTreeMap<Coordinates, Source>,
        side: (Direction, Option<Position>, bool),
        need: usize,
        edges: [Position; 2],
    ) -> [Run; 3] {
        let (direction, bound, inclusive) = side;
        let rows = |kept: Source, from: Position| -> Vec<Entry> {
            let start = bound.unwrap_or(direction.start());
            let mut rows: Vec<Entry> = world
                .iter()
                .filter(|(coordinates, it)| **it == kept && at(**coordinates) >= from)
                .filter(|(coordinates, _)| {
                    direction.meets_first(start, at(**coordinates)) || (inclusive && at(**coordinates) == start)
                })
                .map(|(coordinates, _)| Entry {
                    publish_time: coordinates.0,
                    content: ContentId::try_new(coordinates.1).unwrap(),
                    author: UserId::try_new(1).unwrap(),
                })
                .collect();
            if direction == Direction::Older {
                rows.reverse();
            }
            rows.truncate(need);
            rows
        };
        let area = |edge| TrustedArea { direction, bound, limit: need, edge };
        [
            Run::from_limited_query(direction, rows(Source::InFlight, Position::OLDEST), need),
            Run::from_trusted_area(&area(edges[0]), rows(Source::Covered, edges[0])),
            Run::from_trusted_area(&area(edges[1]), rows(Source::Uncovered, edges[1])),
        ]
    }

    fn naive(world: &BTreeMap<Coordinates, Source>, request: &PageRequest) -> Page {
        let all: Vec<Position> = world.keys().rev().map(|coordinates| at(*coordinates)).collect();
        let (newer, older): (Vec<Position>, Vec<Position>) = match (request.bound, request.direction) {
            (Some(bound), Direction::Older) => all.into_iter().partition(|coordinates| *coordinates >= bound),
            (Some(bound), Direction::Newer) => all.into_iter().partition(|coordinates| *coordinates > bound),
            (None, Direction::Older) => (Vec::new(), all),
            (None, Direction::Newer) => (all, Vec::new()),
        };
        let size = request.size.get();
        let entry = |coordinates: &Position| Entry {
            publish_time: coordinates.publish_time(),
            content: ContentId::try_new(coordinates.content_number()).unwrap(),
            author: UserId::try_new(1).unwrap(),
        };
        match request.direction {
            Direction::Older => Page {
                entries: older.iter().take(size).map(entry).collect(),
                has_older: older.len() > size,
                has_newer: !newer.is_empty(),
            },
            Direction::Newer => {
                let from = newer.len().saturating_sub(size);
                Page {
                    entries: newer[from..].iter().map(entry).collect(),
                    has_older: !older.is_empty(),
                    has_newer: from > 0,
                }
            }
        }
    }

    proptest! {
        /// Whatever the sources cover, a page that is served is the naive one, flags and all; if they cover
        /// everything, one is served.
        #[test]
        fn a_served_page_is_the_naive_one(
            world in btree_map(
                (1_i64..9, 1_i64..4),
                prop_oneof![Just(Source::InFlight), Just(Source::Covered), Just(Source::Uncovered)],
                0..24,
            ),
            edges in [prop_oneof![Just((0, 0)), (1_i64..9, 1_i64..4)], prop_oneof![Just((0, 0)), (1_i64..9, 1_i64..4)]],
            bound in proptest::option::of((1_i64..9, 1_i64..4)), size in 1_i64..6, newer in any::<bool>(),
        ) {
            let direction = if newer { Direction::Newer } else { Direction::Older };
            let newest = PageRequest::newest(PageSize::try_new(size).unwrap());
            let request = PageRequest { direction, bound: bound.map(at), ..newest };
            let edges = edges.map(at);
            let ahead = sources(&world, (direction, request.bound, false), request.need(), edges).to_vec();
            let mut snapshot = snapshot(ahead, Vec::new());
            if request.bound.is_some() {
                snapshot.behind = sources(&world, (direction.reversed(), request.bound, true), 1, edges).to_vec();
            }
            let page = snapshot.page(&request);
            if edges == [Position::OLDEST; 2] {
                prop_assert!(page.is_some(), "sources that cover everything suffice");
            }
            if let Some(page) = page {
                prop_assert_eq!(page, naive(&world, &request));
            }
        }
    }

    #[test]
    fn a_covered_page_is_served_from_one_snapshot() {
        let snapshot = snapshot(vec![older(&[9, 8, 7], 3)], Vec::new());
        let page = Page { entries: entries(&[9, 8]), has_older: true, has_newer: false };
        assert_eq!(snapshot.page(&request(2, None)), Some(page));
    }

    #[test]
    fn a_page_that_reaches_below_the_floor_is_not_served() {
        let floor = Position::bound(8, 8);
        let area = TrustedArea { direction: Direction::Older, bound: None, limit: 3, edge: floor };
        let inbox = Run::from_trusted_area(&area, entries(&[9, 8]));
        assert_eq!(snapshot(vec![inbox], Vec::new()).page(&request(2, None)), None);
    }

    #[test]
    fn a_source_that_knows_nothing_lets_nothing_be_served() {
        let inbox = || older(&[9, 8, 7], 3);
        let page = Page { entries: entries(&[10, 9]), has_older: true, has_newer: false };
        assert_eq!(snapshot(vec![inbox(), older(&[10], 3)], Vec::new()).page(&request(2, None)), Some(page));
        let unknown = Run::unknown(Direction::Older, None);
        assert_eq!(snapshot(vec![inbox(), unknown], Vec::new()).page(&request(2, None)), None);
    }

    #[test]
    fn one_newer_entry_of_any_source_proves_a_previous_page() {
        let behind = vec![
            Run::from_limited_query(Direction::Newer, entries(&[12]), 1),
            Run::unknown(Direction::Newer, Some(Position::bound(9, 9))),
        ];
        let page = Page { entries: entries(&[8]), has_older: false, has_newer: true };
        assert_eq!(snapshot(vec![older(&[8], 3)], behind).page(&request(2, Some(9))), Some(page));
    }
}
