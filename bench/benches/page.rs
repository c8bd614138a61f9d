//! Measures a page as a ratio to the naive query in the same run. Machines differ and are noisy; ratios are less so.
//!
//! `make bench` runs it on SQLite, and on a server
//! `cargo bench --package tidefeed-bench --bench page -- mysql://user:password@host/empty_database`.
//! Each pair is timed in turn, A B A B, and the medians are compared.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use support::{
    benched::{open_store, use_cases},
    harness::settings,
};
use tidefeed::{
    app::UseCases,
    domain::{ContentId, PageRequest, PageSize, Position, UserId, account::profile::Registration, content::Draft},
    store::{
        Inboxes, Seeding, Timelines,
        seeding::{SeedAuthor, SeedContent, SeedFollow},
        sql::SqlStore,
    },
};

const NOW: i64 = 1_790_000_000_000;
const AUTHORS: i64 = 500;
const CONTENTS_OF_EACH: i64 = 100;
const READER: i64 = 1_000_000;
const ROUNDS: usize = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let embedded = format!("sqlite://{}/bench.db", folder.path().display());
    let url = std::env::args().find(|argument| argument.starts_with("mysql://")).unwrap_or(embedded);
    let store = open_store(url.clone(), 2).await?;
    seed(&store).await?;
    let reader = UserId::try_new(READER)?;
    let use_cases = use_cases(&store, settings(), NOW).use_cases;
    let newest = PageRequest::newest(PageSize::default());
    let engine = url.split(':').next().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{AUTHORS} followed authors with {CONTENTS_OF_EACH} contents each; pages of 20; {ROUNDS} rounds; {engine}"
    )?;

    let pulled = compare(&store, &use_cases, reader, &newest).await?;
    writeln!(out, "pulled page (reader just back)   {pulled:.3} of the naive query")?;
    store.mark_seen(&[reader], NOW).await?;
    store.extend(reader, 300).await?;
    let covered = compare(&store, &use_cases, reader, &newest).await?;
    writeln!(out, "covered page (active reader)     {covered:.3} of the naive query")?;
    let depth = Position::bound(NOW - 600 * 60_000, 1);
    let deep = compare(&store, &use_cases, reader, &PageRequest { bound: Some(depth), ..newest }).await?;
    writeln!(out, "deep page (below the floor)      {deep:.3} of the naive query")?;
    Ok(())
}

/// Median time of the engine's page divided by that of the naive query. Both must return the same entries.
async fn compare(store: &SqlStore, use_cases: &UseCases, reader: UserId, request: &PageRequest) -> Result<f64> {
    let (mut ours, mut naive) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        let started = now();
        let page = use_cases.reader.page(reader, request).await?;
        ours.push(started.elapsed());
        let started = now();
        let mut oracle = store.oracle(reader, request).await?;
        naive.push(started.elapsed());
        oracle.truncate(request.size.get());
        ensure!(page.entries == oracle, "the engine and the naive query differ");
    }
    Ok(median(&mut ours).as_secs_f64() / median(&mut naive).as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]
fn now() -> Instant {
    Instant::now()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

async fn seed(store: &SqlStore) -> Result<()> {
    let authors: Vec<SeedAuthor> = (1..=AUTHORS).chain([READER]).map(author).collect::<Result<_>>()?;
    for some in authors.chunks(50) {
        store.add_authors(some).await?;
    }
    let follower = UserId::try_new(READER)?;
    let follow = |id: i64| Ok(SeedFollow { follower, author: UserId::try_new(id)?, incarnation: id, followed_at: NOW });
    Ok(store.add_follows(&(1..=AUTHORS).map(follow).collect::<Result<Vec<_>>>()?).await?)
}

/// Contents a minute apart, all authors in turn; the reader has none.
fn author(id: i64) -> Result<SeedAuthor> {
    let count = if id == READER { 0 } else { CONTENTS_OF_EACH };
    let content = |number: i64| {
        Ok(SeedContent {
            id: ContentId::try_new(number * AUTHORS + id)?,
            draft: Draft::try_new("words", Vec::new(), None)?,
            publish_time: NOW - (number * AUTHORS + id) * 60_000,
            reactions: Vec::new(),
        })
    };
    Ok(SeedAuthor {
        id: UserId::try_new(id)?,
        registration: Registration::try_new(&format!("user{id}"), "User", "", None)?,
        created_at: NOW,
        last_seen: NOW,
        incarnation: id,
        contents: (0..count).map(content).collect::<Result<_>>()?,
    })
}
