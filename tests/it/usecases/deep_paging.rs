//! Walks through many pages, past the end of the inbox: every page is exact, and the inbox serves them again once it
//! has grown.

use std::sync::Arc;

use anyhow::{Result, ensure};
use tidefeed::{
    app::Settings,
    domain::{
        ContentId, Entry, PageRequest, PageSize, UserId, account::profile::Registration, content::Draft,
        timeline::tier::InboxTiers,
    },
    store::{
        Seeding as _,
        seeding::{SeedAuthor, SeedContent, SeedFollow},
    },
};

use crate::{
    harness::{BEGINNING, CacheBackend, TestApp, settings},
    servers::{Backend, definition_takes_more, on_each_backend},
    usecases::delivery::user,
};

const CONTENTS: i64 = 2_000;
const AUTHORS: i64 = 4;
const READER: i64 = 9;
const SIZE: i64 = 50;
const MINUTE: i64 = 60_000;
const TIERS: InboxTiers = InboxTiers { keep: 100, step: 200, deep_keep: 1_500, longest_ms: 60 * MINUTE };

fn seeded(id: i64) -> Result<SeedAuthor> {
    let content = |number: i64| {
        Ok(SeedContent {
            id: ContentId::try_new(number)?,
            draft: Draft::try_new("words", Vec::new(), None)?,
            publish_time: BEGINNING - 10 * CONTENTS + number / 3,
            reactions: Vec::new(),
        })
    };
    let own = (1..=CONTENTS).filter(|number| id != READER && number % AUTHORS == id - 1);
    Ok(SeedAuthor {
        id: UserId::try_new(id)?,
        registration: Registration::try_new(&format!("user{id}"), "User", "", None)?,
        created_at: 1,
        last_seen: BEGINNING,
        incarnation: id,
        contents: own.map(content).collect::<Result<_>>()?,
    })
}

/// A reader of four authors who publish in turn, three contents in a millisecond. The reader has just come back, so
/// the inbox holds one step.
async fn app(backend: Backend) -> Result<Arc<TestApp>> {
    let app = TestApp::start_with(backend, CacheBackend::NoCache, Settings { tiers: TIERS, ..settings() }).await?;
    for id in (1..=AUTHORS).chain([READER]) {
        app.store.add_authors(&[seeded(id)?]).await?;
    }
    let follows: Vec<SeedFollow> = (1..=AUTHORS)
        .map(|author| SeedFollow {
            follower: user(READER),
            author: user(author),
            incarnation: author,
            followed_at: BEGINNING,
        })
        .collect();
    app.store.add_follows(&follows).await?;
    app.reactivator.visit(user(READER), None).await?;
    Ok(app)
}

/// Reads page after page up to the oldest content, each of which must equal the oracle's, and runs `between` after
/// each. Returns, for each page, whether the inbox and the contents in flight sufficed for it.
async fn walk(app: &TestApp, mut between: impl AsyncFnMut(usize) -> Result<()>) -> Result<Vec<bool>> {
    // From here on the node remembers which contents are reposts, and the reader's authors, so a page needs no other
    // statement.
    let all = (1..=CONTENTS).map(ContentId::try_new).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<_> = app.ports.contents.by_ids(None, &all).await?.into_iter().map(Arc::new).collect();
    app.reader.remember_contents(&all);
    let mut request = PageRequest::newest(PageSize::try_new(SIZE)?);
    app.reader.page(user(READER), &request).await?;
    let (mut seen, mut from_inbox) = (Vec::new(), Vec::new());
    loop {
        let inbox = app.page_of_inbox(user(READER), &request).await?;
        let before = app.store.statements();
        let page = app.reader.page(user(READER), &request).await?;
        let statements = app.store.statements() - before;
        ensure!(
            statements <= 2 + definition_takes_more(),
            "page {} costs {statements} statements",
            from_inbox.len() + 1
        );
        from_inbox.push(statements == 1 && inbox.is_some());
        let mut oracle = app.ports.timelines.oracle(user(READER), &request).await?;
        oracle.truncate(request.size.get());
        ensure!(page.entries == oracle, "page {} is {:?} and not {oracle:?}", from_inbox.len(), page.entries);
        seen.extend(page.entries.iter().map(|it| it.content.get()));
        if !page.has_older {
            break;
        }
        request.bound = page.entries.last().map(Entry::position);
        between(from_inbox.len()).await?;
    }
    ensure!(seen.iter().copied().eq((1..=CONTENTS).rev()), "the walk met {} contents", seen.len());
    Ok(from_inbox)
}

async fn rows(app: &TestApp) -> Result<u64> {
    app.ports.inboxes.held(user(READER), 10_000).await.map_err(Into::into)
}

/// Looks at every inbox once.
async fn trim(app: &TestApp) -> Result<()> {
    while !app.trimmer.run_once().await?.1 {}
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn paging_past_the_floor_extends_the_inbox_and_the_deeper_the_shorter(backend: Backend) -> Result<()> {
        let app = app(backend).await?;
        ensure!(rows(&app).await? == 200);
        let first = walk(&app, async |_| app.settle().await).await?;
        // Only one page of each step is pulled: the one that reaches below the floor. Beyond the deepest inbox all
        // are.
        let pulled = first.iter().filter(|from_inbox| !**from_inbox).count();
        ensure!(first.len() == 40 && pulled <= 8 + 10, "{pulled} pages were pulled: {first:?}");
        ensure!(rows(&app).await? == 1_500);

        trim(&app).await?;
        let again = walk(&app, async |_| Ok(())).await?;
        ensure!(again[..29].iter().all(|from_inbox| *from_inbox), "a deep page was pulled: {again:?}");
        ensure!(!again[31], "what lies below the inbox came from it");

        // 60 minutes times 100 / 1500.
        app.clock.advance(3 * MINUTE);
        trim(&app).await?;
        ensure!(rows(&app).await? == 1_500, "it is trimmed before its time");
        app.clock.advance(2 * MINUTE);
        trim(&app).await?;
        ensure!(rows(&app).await? == 100, "it outlives its time");
        walk(&app, async |_| Ok(())).await.map(drop)
    }

    async fn a_reader_without_an_inbox_is_pulled_at_once(backend: Backend) -> Result<()> {
        let app = app(backend).await?;
        walk(&app, async |_| Ok(())).await?;
        app.turn_off(user(READER)).await?;
        let request = PageRequest::newest(PageSize::try_new(SIZE)?);
        let mut costs = Vec::new();
        for _ in 0..3 {
            let before = app.store.statements();
            app.reader.page(user(READER), &request).await?;
            costs.push(app.store.statements() - before);
        }
        ensure!(costs == [2, 1, 1], "the inbox is looked at once, then it is known to be off: {costs:?}");
        Ok(())
    }

    async fn a_deep_inbox_ends_with_a_clock_that_is_set_back(backend: Backend) -> Result<()> {
        let app = app(backend).await?;
        walk(&app, async |_| app.settle().await).await?;
        app.clock.advance(-5 * 60 * MINUTE);
        trim(&app).await?;
        ensure!(rows(&app).await? == 100, "it lives on for hours");
        Ok(())
    }

    async fn a_walk_is_exact_whatever_is_trimmed_and_extended_under_it(backend: Backend) -> Result<()> {
        let app = app(backend).await?;
        let reader = user(READER);
        let rng = app.rng.clone();
        for _ in 0..2 {
            walk(&app, async |_| {
                match rng.u32() % 4 {
                    0 => drop(app.ports.inboxes.trim(reader, 100).await?),
                    1 => {
                        app.clock.advance(MINUTE);
                        trim(&app).await?;
                    }
                    2 => app.turn_off(reader).await?,
                    _ => {}
                }
                app.settle().await
            })
            .await?;
        }
        Ok(())
    }

    async fn a_note_that_comes_twice_extends_once(backend: Backend) -> Result<()> {
        let app = app(backend).await?;
        let newest = BEGINNING - 10 * CONTENTS + CONTENTS / 3;
        for _ in 0..3 {
            app.reactivator.visit(user(READER), Some(newest - 100)).await?;
        }
        ensure!(rows(&app).await? == 400, "{} rows", rows(&app).await?);
        Ok(())
    }
}
