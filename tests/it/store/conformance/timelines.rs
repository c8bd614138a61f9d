//! Tests what the timelines port promises: in every state that the protocol allows, a page is exactly what the
//! definition gives.

use std::collections::HashMap;

use anyhow::{Context as _, Result, ensure};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tidefeed::{
    domain::{
        ContentId, ContentKind, Direction, EdgeMode, Entry, Floor, Kinds, Page, PageRequest, PageSize, Position, Run,
        UserId, ViewerReactions,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{CandidateLimits, CardFacts, Wanted},
            exclusion::ExclusionKind,
            plan::{Next, Outboxes, UncoveredAuthor, decide},
            stretch::{Stretch, StretchSnapshot},
        },
    },
    store::{Timelines as _, timelines::Depth},
};

use super::{World, rows::entry, user};
use crate::{
    harness::is_fast,
    servers::{Backend, on_each_backend},
};

const AUTHORS: i64 = 4;

/// Everything that affects a page of one reader. The reader is user 1, authors are 11 and up.
#[derive(Clone, Debug)]
struct State {
    /// The edge to each author; `None` if not followed.
    edges: Vec<Option<EdgeMode>>,
    /// The exclusions of each author.
    excluded: Vec<Vec<ExclusionKind>>,
    /// `None`: no state row.
    floor: Option<Floor>,
    contents: Vec<Placed>,
}

/// A content, and the tables besides `contents` in which it is.
#[derive(Clone, Copy, Debug)]
struct Placed {
    entry: Entry,
    kind: ContentKind,
    /// The original's author, for a repost.
    original_author: Option<UserId>,
    removed: bool,
    in_flight: bool,
    in_inbox: bool,
}

impl State {
    fn edge(&self, author: UserId) -> Option<EdgeMode> {
        let place = usize::try_from(author.get() - 11).ok()?;
        self.edges.get(place).copied().flatten()
    }

    fn is_excluded(&self, author: UserId) -> bool {
        let place = usize::try_from(author.get() - 11).ok();
        place.and_then(|place| self.excluded.get(place)).is_some_and(|causes| !causes.is_empty())
    }

    fn is_shown(&self, content: &Placed) -> bool {
        !self.is_excluded(content.entry.author)
            && content.original_author.is_none_or(|author| !self.is_excluded(author))
    }

    fn floor(&self) -> Floor {
        self.floor.unwrap_or(Floor::Off)
    }

    /// Restores the invariant: every content for which the reader trusts the inbox is in it, or in flight.
    fn keep_the_invariant(mut self) -> Self {
        for place in 0..self.contents.len() {
            let it = self.contents[place];
            let covered = self.edge(it.entry.author) == Some(EdgeMode::Push)
                && it.entry.position() >= self.floor().trusted_from();
            if covered && !it.removed && !it.in_flight {
                self.contents[place].in_inbox = true;
            }
        }
        self
    }

    /// The timeline by its definition, newest first.
    fn timeline(&self, kinds: Kinds) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self
            .contents
            .iter()
            .filter(|it| !it.removed && self.edge(it.entry.author).is_some() && self.is_shown(it))
            .filter(|it| kinds.contains(it.kind))
            .map(|it| it.entry)
            .collect();
        entries.sort_by_key(|it| std::cmp::Reverse(it.position()));
        entries
    }

    fn page(&self, request: &PageRequest) -> (Page, Vec<Entry>) {
        let all = self.timeline(request.kinds);
        let bound = request.bound.unwrap_or(request.direction.start());
        let mut ahead: Vec<Entry> =
            all.iter().filter(|it| request.direction.meets_first(bound, it.position())).copied().collect();
        if request.direction == Direction::Newer {
            ahead.reverse();
        }
        let more_ahead = ahead.len() > request.size.get();
        let more_behind = request.bound.is_some() && all.len() > ahead.len();
        let needed: Vec<Entry> = ahead.iter().take(request.need()).copied().collect();
        ahead.truncate(request.size.get());
        let page = match request.direction {
            Direction::Older => Page { entries: ahead, has_older: more_ahead, has_newer: more_behind },
            Direction::Newer => {
                ahead.reverse();
                Page { entries: ahead, has_older: more_behind, has_newer: more_ahead }
            }
        };
        (page, needed)
    }

    /// The outboxes that a cache would prove of the authors in the snapshot.
    fn outboxes(&self, request: &PageRequest, authors: &[UncoveredAuthor]) -> Outboxes {
        let of_one = |author: UserId, direction: Direction, limit: usize, wanted: &dyn Fn(Position) -> bool| {
            let mut rows: Vec<Entry> = self
                .contents
                .iter()
                .filter(|it| !it.removed && it.entry.author == author && wanted(it.entry.position()))
                .map(|it| it.entry)
                .collect();
            rows.sort_by_key(Entry::position);
            if direction == Direction::Older {
                rows.reverse();
            }
            rows.truncate(limit);
            Run::from_limited_query(direction, rows, limit)
        };
        let PageRequest { direction, bound, .. } = *request;
        let from = bound.unwrap_or(direction.start());
        let mut outboxes = Outboxes::default();
        for UncoveredAuthor { author, .. } in authors {
            let ahead = |at| direction.meets_first(from, at);
            outboxes.ahead.push(of_one(*author, direction, request.need(), &ahead));
            if bound.is_some() {
                outboxes.behind.push(of_one(*author, direction.reversed(), 1, &|at| !ahead(at)));
            }
        }
        outboxes
    }

    fn bounds(&self) -> Vec<Option<Position>> {
        let mut bounds: Vec<Option<Position>> = vec![None, Some(Position::OLDEST), Some(Position::NEWEST)];
        bounds.extend(self.contents.iter().map(|it| Some(it.entry.position())));
        bounds.push(Some(self.floor().trusted_from()));
        bounds
    }

    async fn build(&self, world: &World) -> Result<()> {
        let tables =
            ["contents", "counters", "exclusions", "follows", "inboxes", "inbox_states", "deliveries", "outbox_heads"];
        for table in tables.into_iter().chain(["user_counts"]) {
            world.run(&format!("DELETE FROM {table}")).await?;
        }
        world.run("INSERT INTO user_counts (user_id) VALUES (1)").await?;
        let reader = user(1);
        for (place, mode) in (11..).zip(&self.edges) {
            if let Some(mode) = mode {
                world.put_edge(reader, user(place), *mode).await?;
            }
        }
        for (place, causes) in (11..).zip(&self.excluded) {
            for cause in causes {
                world.exclude(reader, user(place), *cause).await?;
                world.exclude(user(place), reader, *cause).await?;
            }
        }
        if let Some(floor) = self.floor {
            world.set_floor(reader, floor).await?;
        }
        world.run("INSERT INTO outbox_heads (author_id, stamp) VALUES (11, 7), (12, 8), (13, 9)").await?;
        let those = |wanted: &dyn Fn(&Placed) -> bool| -> Vec<Entry> {
            self.contents.iter().filter(|it| wanted(it)).map(|it| it.entry).collect()
        };
        world.put_contents(&those(&|_| true)).await?;
        world.deliver(&those(&|it| it.in_flight)).await?;
        world.fill_inbox(reader, &those(&|it| it.in_inbox)).await?;
        for it in self.contents.iter().filter(|it| it.kind != ContentKind::Post) {
            world.set_kind(it.entry.content, it.kind).await?;
        }
        for it in &self.contents {
            if let Some(author) = it.original_author {
                world.set_original_author(it.entry.content, author).await?;
            }
        }
        for it in self.contents.iter().filter(|it| it.removed) {
            world.remove(it.entry.content).await?;
        }
        Ok(())
    }
}

fn states() -> impl Strategy<Value = State> {
    let mode = prop_oneof![
        1 => Just(None),
        1 => Just(Some(EdgeMode::Pull)),
        1 => Just(Some(EdgeMode::Fill)),
        3 => Just(Some(EdgeMode::Push)),
    ];
    let floor = prop_oneof![
        1 => Just(None),
        1 => Just(Some(Floor::Off)),
        1 => Just(Some(Floor::OPEN)),
        2 => Just(Some(Floor::At(Position::OLDEST))),
        4 => (1_i64..8, 1_i64..20).prop_map(|(time, id)| Some(Floor::At(Position::bound(time, id)))),
    ];
    let kind = prop::sample::select(ContentKind::ALL.to_vec());
    let whereabouts = (proptest::bool::weighted(0.15), proptest::bool::weighted(0.25), any::<bool>());
    let placed = (1_i64..8, 11..11 + AUTHORS, kind, whereabouts, 11..11 + AUTHORS);
    let causes = prop_oneof![12 => Just(Vec::new()), 1 => prop::sample::subsequence(ExclusionKind::ALL.to_vec(), 1..3)];
    (vec(mode, 4), vec(causes, 4), floor, vec(placed, 0..18)).prop_map(|(edges, excluded, floor, contents)| {
        let contents =
            (1..).zip(contents).map(|(id, (time, author, kind, (removed, in_flight, in_inbox), original))| Placed {
                entry: entry(id, user(author), time),
                kind,
                original_author: (kind == ContentKind::Repost).then(|| user(original)),
                removed,
                in_flight,
                in_inbox,
            });
        State { edges, excluded, floor, contents: contents.collect() }.keep_the_invariant()
    })
}

/// How the reads of a state were served: a suite that never used the short way shows nothing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    inbox_served: usize,
    inbox_refused: usize,
    known_served: usize,
    known_refused: usize,
    stretch_served: usize,
    stretch_refused: usize,
}

/// The posts of one followed author, all in an inbox that is trusted as `floor` says. So it is known how its pages are
/// served.
fn of_one_author(floor: Floor) -> State {
    let placed = |id| Placed {
        entry: entry(id, user(11), id),
        kind: ContentKind::Post,
        original_author: None,
        removed: false,
        in_flight: false,
        in_inbox: true,
    };
    let edges = vec![Some(EdgeMode::Push), None, None, None];
    State { edges, excluded: vec![Vec::new(); 4], floor: Some(floor), contents: (1..=5).map(placed).collect() }
}

async fn check(world: &World, state: &State, size: i64) -> Result<Seen> {
    let mut seen = Seen::default();
    state.build(world).await?;
    for bound in state.bounds() {
        for direction in [Direction::Older, Direction::Newer] {
            let request = PageRequest { direction, bound, ..PageRequest::newest(PageSize::try_new(size)?) };
            check_page(world, state, &request, &mut seen).await.with_context(|| format!("{request:?}"))?;
            let some = Kinds::try_new([ContentKind::Post, ContentKind::Repost])?;
            check_page(world, state, &request.of(some), &mut seen)
                .await
                .with_context(|| format!("some kinds, {request:?}"))?;
        }
    }
    Ok(seen)
}

async fn check_page(world: &World, state: &State, request: &PageRequest, seen: &mut Seen) -> Result<()> {
    let reader = user(1);
    let (page, needed) = state.page(request);
    ensure!(world.store.oracle(reader, request).await? == needed, "the oracle is wrong");
    check_known(world, &page, request, seen).await?;
    check_stretches(world, state, (&page, request), seen).await?;
    for depth in [Depth::Everything, Depth::Outboxes] {
        let snapshot = world.store.read(reader, request, depth).await?;
        ensure!(snapshot.floor == state.floor() && snapshot.uncovered.is_empty(), "{snapshot:?}");
        let next = decide(request, &snapshot, None);
        ensure!(next == Next::Serve(page.clone()), "{depth:?} gives {next:?}, wanted {page:?}, of {snapshot:?}");
    }
    if !request.kinds.is_all() {
        return Ok(());
    }
    let snapshot = world.store.read(reader, request, Depth::Inbox).await?;
    check_uncovered(state, &snapshot.uncovered)?;
    let excludes = state.floor.is_some() && state.excluded.iter().any(|causes| !causes.is_empty());
    ensure!(snapshot.excludes == excludes, "{snapshot:?}");
    let outboxes = state.outboxes(request, &snapshot.uncovered);
    let next = decide(request, &snapshot, Some(&outboxes));
    // Cached outboxes do not contain the original's author of a repost.
    let is_known = snapshot.uncovered.is_empty() || state.excluded.iter().all(Vec::is_empty);
    if let Next::Serve(served) = next
        && is_known
    {
        ensure!(served == page, "the inbox gives {served:?}, wanted {page:?}, of {snapshot:?} and {outboxes:?}");
        seen.inbox_served += 1;
    } else {
        seen.inbox_refused += 1;
    }
    Ok(())
}

/// Checks the page of a reader whose authors are remembered, with as few rows as possible and with many.
async fn check_known(world: &World, page: &Page, request: &PageRequest, seen: &mut Seen) -> Result<()> {
    let reader = user(1);
    let ReaderSnapshot { authors, floor, .. } =
        world.store.reader(reader).await?.context("the reader has an account")?;
    let few = CandidateLimits { ahead: request.need(), behind: 1 };
    let all = CandidateLimits { ahead: 100, behind: 100 };
    let by_counters = Wanted { facts: true, reactions: false, original_authors: authors.excludes() };
    for (limits, wanted) in [(few, Wanted::ENTRIES), (all, Wanted::ALL), (few, by_counters), (all, by_counters)] {
        let found = world.store.page_candidates(reader, request, limits, wanted).await?;
        ensure!(floor == found.floor, "{floor:?} with the authors, {:?} with the page", found.floor);
        let snapshot = authors.snapshot(request, &found, limits);
        ensure!(snapshot.is_some() == authors.is_covered(), "{snapshot:?} of {authors:?}");
        let next = snapshot.as_ref().map(|snapshot| decide(request, snapshot, None));
        if let Some(Next::Serve(served)) = next {
            ensure!(served == *page, "known authors give {served:?}, wanted {page:?}, of {found:?} and {authors:?}");
            seen.known_served += 1;
        } else {
            seen.known_refused += 1;
        }
    }
    Ok(())
}

/// Checks the page from a stretch that ends at some content, and from one that holds everything.
async fn check_stretches(
    world: &World,
    state: &State,
    (page, request): (&Page, &PageRequest),
    seen: &mut Seen,
) -> Result<()> {
    let all = if request.direction == Direction::Older { 0 } else { i64::MAX };
    let ReaderSnapshot { authors, reactions, .. } =
        world.store.reader(user(1)).await?.context("the reader has an account")?;
    let first = state.contents.first().map(|it| it.entry.publish_time);
    let one = first.map(|end_ms| Stretch { end_ms, most_rows: request.need(), facts_end_ms: None });
    let rest = [(request.need(), Some(all)), (100, first)].map(|(most_rows, facts_end_ms)| Stretch {
        end_ms: all,
        most_rows,
        facts_end_ms,
    });
    for stretch in one.into_iter().chain(rest) {
        let Some(StretchSnapshot { snapshot, facts, reactions_version }) =
            world.store.stretch(user(1), request, stretch, &authors).await?
        else {
            ensure!(authors.followed().is_empty(), "{authors:?} are not believed");
            continue;
        };
        ensure!(reactions.as_ref().is_none_or(|it| it.version() == reactions_version), "version {reactions_version}");
        let same = authors.followed().iter().map(|author| (*author, true)).collect();
        let others = TimelineAuthors::new(authors.version() + 1, same, Vec::new());
        ensure!(world.store.stretch(user(1), request, stretch, &others).await?.is_none(), "of another version");
        if let Next::Serve(served) = decide(request, &snapshot, None) {
            ensure!(served == *page, "a stretch gives {served:?}, wanted {page:?}, of {snapshot:?}");
            check_facts(world, &served, (stretch, request.direction), &facts).await?;
            seen.stretch_served += 1;
        } else {
            seen.stretch_refused += 1;
        }
    }
    Ok(())
}

/// The facts of a page's entries are those of their own statement, as far as the stretch has facts.
async fn check_facts(
    world: &World,
    page: &Page,
    (stretch, direction): (Stretch, Direction),
    facts: &HashMap<ContentId, CardFacts>,
) -> Result<()> {
    let contents: Vec<ContentId> = page.entries.iter().map(|entry| entry.content).collect();
    let all = world.store.card_facts(user(1), &contents).await?;
    for entry in &page.entries {
        let is_asked = stretch.facts_end_ms.is_some_and(|end_ms| match direction {
            Direction::Older => entry.publish_time >= end_ms,
            Direction::Newer => entry.publish_time <= end_ms,
        });
        let expected = all.get(&entry.content).filter(|_| is_asked);
        let expected = expected.map(|it| CardFacts { reactions: ViewerReactions::default(), ..*it });
        ensure!(
            facts.get(&entry.content) == expected.as_ref(),
            "{entry:?} of {stretch:?}: {facts:?}, not {expected:?}"
        );
    }
    Ok(())
}

fn check_uncovered(state: &State, uncovered: &[UncoveredAuthor]) -> Result<()> {
    let mut named: Vec<UncoveredAuthor> = uncovered.to_vec();
    named.sort_by_key(|it| it.author);
    let expected: Vec<UncoveredAuthor> = (11..11 + AUTHORS)
        .zip([7, 8, 9, 0])
        .filter(|(author, _)| state.edge(user(*author)).is_some_and(|mode| mode != EdgeMode::Push))
        .filter(|(author, _)| !state.is_excluded(user(*author)))
        .map(|(author, version)| UncoveredAuthor { author: user(author), version })
        .collect();
    ensure!(named == expected, "{named:?} are named, {expected:?} are uncovered");
    Ok(())
}

/// Runs `check` over random states; a state that fails is shrunk to a small one.
fn over_states(world: &World, cases: u32) -> Result<()> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        let checked = TestRunner::new(config).run(&(states(), 1_i64..5), |(state, size)| {
            let checked = runtime.block_on(check(world, &state, size));
            checked.map(drop).map_err(|error| TestCaseError::fail(format!("{error:#}")))
        });
        checked.map_err(anyhow::Error::from)
    })
}

on_each_backend! {
    async fn pages_equal_the_definition_in_every_state_the_protocol_allows(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?;
        world.hurry().await?;
        let covered = check(&world, &of_one_author(Floor::At(Position::OLDEST)), 3).await?;
        assert!(covered.inbox_served > 0 && covered.inbox_refused == 0, "{covered:?}");
        assert!(covered.known_served > 0 && covered.known_refused == 0, "{covered:?}");
        let off = check(&world, &of_one_author(Floor::Off), 3).await?;
        assert!(off.inbox_served == 0 && off.inbox_refused > 0, "{off:?}");
        assert!(off.known_served == 0 && off.known_refused > 0, "{off:?}");
        assert!(off.stretch_served > 0 && off.stretch_refused > 0, "{off:?}");
        over_states(&world, if backend == Backend::Sqlite && !is_fast() { 100 } else { 16 })
    }
}
