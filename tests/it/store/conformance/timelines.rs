//! Tests what the timelines port promises: in every state that the protocol allows, a page is exactly what the
//! definition gives.

use anyhow::{Context as _, Result, ensure};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tidefeed::{
    domain::{
        ContentId, ContentKind, Direction, EdgeMode, Entry, Floor, IdMap, Kinds, Page, PageRequest, PageSize, Position,
        UserId, ViewerReactions,
        timeline::{
            authors::{Outboxes, ReaderSnapshot, Sources, TimelineAuthors},
            candidates::{Ask, CandidateLimits, CardFacts, OutboxVersion, Pulled, Wanted},
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::{
        Cards as _, Timelines as _,
        cards::{ContentParts, UserParts},
    },
};

use super::{
    World,
    rows::entry,
    timeline_states::{AUTHORS, State, of_one_author, states},
    user,
};
use crate::{
    harness::cases_by,
    servers::{Backend, on_each_backend},
};

/// What the definition of a timeline gives equals the oracle's entries, from every content on.
async fn check_definitions(world: &World, contents: &[Entry]) -> Result<()> {
    let bounds: Vec<Option<Position>> = contents.iter().map(|it| Some(it.position())).chain([None]).collect();
    for bound in bounds {
        for (direction, size) in
            [(Direction::Older, 1), (Direction::Older, 7), (Direction::Newer, 1), (Direction::Newer, 7)]
        {
            let request = PageRequest { direction, bound, ..PageRequest::newest(PageSize::try_new(size)?) };
            let mut wanted = world.store.oracle(user(1), &request).await?;
            wanted.truncate(request.need() - 1);
            wanted.sort_unstable_by_key(|it| std::cmp::Reverse(it.position()));
            let page = world.store.definition(user(1), &request, false).await?.snapshot.page(&request);
            let entries = page.map(|page| page.entries).context("no page")?;
            ensure!(entries == wanted, "{request:?}: {entries:?}, not {wanted:?}");
        }
    }
    Ok(())
}

/// How the reads of a state were served: a suite that never used the short way shows nothing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    served: usize,
    refused: usize,
    cached_served: usize,
    stretch_served: usize,
    stretch_refused: usize,
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
    check_candidates(world, state, (&page, request), seen).await?;
    check_stretches(world, state, (&page, request), seen).await?;
    let OutboxesSnapshot { snapshot, facts, .. } = world.store.definition(reader, request, true).await?;
    ensure!(snapshot.floor == state.floor(), "{snapshot:?}");
    let served = snapshot.page(request);
    ensure!(served.as_ref() == Some(&page), "the definition gives {served:?}, wanted {page:?}, of {snapshot:?}");
    check_facts(world, &page, &facts, |_| true).await
}

/// Checks the page of a reader whose authors are remembered, with as few rows as possible and with many; the outboxes
/// of uncovered authors are read, or cached.
async fn check_candidates(
    world: &World,
    state: &State,
    (page, request): (&Page, &PageRequest),
    seen: &mut Seen,
) -> Result<()> {
    let reader = user(1);
    let ReaderSnapshot { authors, floor, .. } =
        world.store.reader(reader).await?.context("the reader has an account")?;
    check_uncovered(state, authors.uncovered())?;
    let few = CandidateLimits { ahead: request.need(), behind: 1 };
    let all = CandidateLimits { ahead: 100, behind: 100 };
    let by_counters = Wanted { facts: true, reactions: false, original_authors: authors.excludes() };
    for (limits, wanted) in [(few, Wanted::ENTRIES), (all, Wanted::ALL), (few, by_counters), (all, by_counters)] {
        for many_in_flight in [false, true] {
            let pulled = Pulled::Contents(authors.uncovered());
            let ask = Ask { limits, wanted, pulled, many_in_flight };
            let found = world.store.candidates(reader, request, &ask).await?;
            ensure!(floor == found.floor, "{floor:?} with the authors, {:?} with the page", found.floor);
            let has_original_authors = wanted.original_authors;
            let nobody = Sources { limits, has_original_authors, outboxes: Outboxes::Read(&[]), slices: None };
            let of_inbox = authors.snapshot(request, &found, &nobody);
            ensure!(of_inbox.is_ok() == authors.uncovered().is_empty(), "{of_inbox:?} of {authors:?}");
            let sources = Sources { outboxes: Outboxes::Read(authors.uncovered()), ..nobody };
            let snapshot = authors.snapshot(request, &found, &sources).ok().context("all are named")?;
            if let Some(served) = snapshot.page(request) {
                ensure!(served == *page, "candidates give {served:?}, wanted {page:?}, of {found:?} and {authors:?}");
                seen.served += 1;
            } else {
                seen.refused += 1;
            }
        }
    }
    // Cached outboxes contain neither the kinds of contents nor the original's author of a repost.
    if !request.kinds.is_all() || authors.excludes() || authors.uncovered().is_empty() {
        return Ok(());
    }
    let ask = Ask { pulled: Pulled::Versions(authors.uncovered()), ..Ask::of_inbox(all, Wanted::ENTRIES) };
    let found = world.store.candidates(reader, request, &ask).await?;
    check_versions(state, &found.versions)?;
    let runs = state.outboxes(request, authors.uncovered());
    let outboxes = Outboxes::Cached(authors.uncovered(), &runs);
    let snapshot =
        authors.snapshot(request, &found, &Sources { limits: all, has_original_authors: true, outboxes, slices: None });
    if let Some(served) = snapshot.ok().context("all are named")?.page(request) {
        ensure!(served == *page, "caches give {served:?}, wanted {page:?}, of {found:?} and {runs:?}");
        seen.cached_served += 1;
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
        let Some(OutboxesSnapshot { snapshot, facts, reactions_version }) =
            world.store.stretch(user(1), request, stretch, &authors).await?
        else {
            ensure!(authors.followed().is_empty(), "{authors:?} are not believed");
            continue;
        };
        ensure!(reactions.as_ref().is_none_or(|it| it.version() == reactions_version), "version {reactions_version}");
        let same: Vec<_> = authors.followed().iter().map(|author| (*author, true)).collect();
        let others = TimelineAuthors::new(authors.version() + 1, &same, Vec::new());
        ensure!(world.store.stretch(user(1), request, stretch, &others).await?.is_none(), "of another version");
        if let Some(served) = snapshot.page(request) {
            ensure!(served == *page, "a stretch gives {served:?}, wanted {page:?}, of {snapshot:?}");
            let has_facts = |entry: &Entry| {
                stretch.facts_end_ms.is_some_and(|end_ms| match request.direction {
                    Direction::Older => entry.publish_time >= end_ms,
                    Direction::Newer => entry.publish_time <= end_ms,
                })
            };
            check_facts(world, &served, &facts, has_facts).await?;
            seen.stretch_served += 1;
        } else {
            seen.stretch_refused += 1;
        }
    }
    Ok(())
}

/// The facts of a page's entries are those of their own statement, as far as there are to be facts.
async fn check_facts(
    world: &World,
    page: &Page,
    facts: &IdMap<ContentId, CardFacts>,
    has_facts: impl Fn(&Entry) -> bool,
) -> Result<()> {
    let contents: Vec<ContentId> = page.entries.iter().map(|entry| entry.content).collect();
    let parts = ContentParts { counters: true, reactions: false, author: Some(UserParts::default()) };
    let cards = world.store.content_cards(Some(user(1)), &contents, parts).await?;
    for entry in &page.entries {
        let card = cards.iter().find(|card| card.content.id == entry.content && has_facts(entry));
        let expected = card.and_then(|card| {
            let (counters, profile_version) = (card.counters?, card.author.as_ref()?.profile.version);
            Some(CardFacts { counters, reactions: ViewerReactions::default(), profile_version })
        });
        ensure!(facts.get(&entry.content) == expected.as_ref(), "{entry:?}: {facts:?}, not {expected:?}");
    }
    Ok(())
}

fn check_uncovered(state: &State, uncovered: &[UserId]) -> Result<()> {
    let expected: Vec<UserId> = (11..11 + AUTHORS).map(user).filter(|author| state.is_uncovered(*author)).collect();
    ensure!(uncovered == expected, "{uncovered:?} count as uncovered, {expected:?} are");
    Ok(())
}

fn check_versions(state: &State, versions: &[OutboxVersion]) -> Result<()> {
    let mut versions = versions.to_vec();
    versions.sort_by_key(|it| it.author);
    let expected: Vec<OutboxVersion> = (11..11 + AUTHORS)
        .zip([7, 8, 9, 0])
        .map(|(author, version)| OutboxVersion { author: user(author), version })
        .filter(|it| state.is_uncovered(it.author))
        .collect();
    ensure!(versions == expected, "{versions:?}, not {expected:?}");
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
        assert!(covered.served > 0 && covered.refused == 0, "{covered:?}");
        let off = check(&world, &of_one_author(Floor::Off), 3).await?;
        assert!(off.served == 0 && off.refused > 0, "{off:?}");
        assert!(off.stretch_served > 0 && off.stretch_refused > 0, "{off:?}");
        let edges = vec![Some(EdgeMode::Fill), None, None, None];
        let pulled = State { edges, ..of_one_author(Floor::At(Position::OLDEST)) };
        let pulled = check(&world, &pulled, 3).await?;
        assert!(pulled.served > 0 && pulled.refused == 0 && pulled.cached_served > 0, "{pulled:?}");
        over_states(&world, cases_by(if backend == Backend::Sqlite { 3 } else { 16 }))
    }

    /// Where outboxes are read by stretches of time, most of them hold nothing here.
    async fn contents_years_apart_are_all_found(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let times = (0..26).map(|nth| 1_700_000_000_000 - 3_i64.pow(nth));
        let contents: Vec<Entry> =
            (1..).zip(times).map(|(id, time)| entry(id, user(101 + id % 20), time)).collect();
        world.put_contents(&contents).await?;
        for author in 101..=120 {
            world.put_edge(user(1), user(author), EdgeMode::Pull).await?;
        }
        check_definitions(&world, &contents).await?;
let heads: Vec<String> = (101..=120).map(|author| format!("({author}, 1, 1700000000000)")).collect();
        world.insert("outbox_heads", "author_id, stamp, published_at", &heads).await?;
        check_definitions(&world, &contents).await?;
        world.remove(contents[0].content).await?;
        check_definitions(&world, &contents).await
    }
}
