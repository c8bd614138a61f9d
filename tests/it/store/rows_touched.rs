//! Counts the rows that hot statements touch on the servers, over the tables of [`super::explain`].

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{
        Direction, Floor, PageRequest,
        search::{
            Source,
            people::{FoundUser, KeyPrefix},
        },
        timeline::candidates::{Ask, CandidateLimits, Wanted},
    },
    store::{Contents as _, Inboxes as _, People as _, SearchTerms, Timelines},
};

use super::explain::{AUTHORS, ROWS, STAR, fill, look, request, requests, spans};
use crate::{
    servers::{EmptyDatabase, Kind, Server},
    store::conformance::{World, user},
};

/// A server without other users, so that its counters count only the caller.
async fn own_server(kind: Kind) -> Result<(Server, World)> {
    let server = Server::start(kind).await?;
    let world = World::in_database(EmptyDatabase::on(&server).await?.migrated().await?).await?;
    fill(&world).await?;
    Ok((server, world))
}

/// The number of rows that the server's tables have returned so far.
pub async fn rows_read(world: &World) -> Result<i64> {
    read_by(world, "Handler_read%").await
}

/// The number of rows that were read against the order of their index.
async fn rows_read_backward(world: &World) -> Result<i64> {
    read_by(world, "Handler_read_prev").await
}

pub async fn read_by(world: &World, handlers: &str) -> Result<i64> {
    let counters = world.texts(&format!("SHOW GLOBAL STATUS LIKE '{handlers}'")).await?;
    counters.iter().map(|row| Ok(row.get(1).context("a value")?.parse::<i64>()?)).sum()
}

/// A page, and an author's page.
async fn one_page_touches_few_rows(world: &World, request: &PageRequest, overhead: i64) -> Result<()> {
    let limits = CandidateLimits { ahead: request.need(), behind: 4 };
    let ask = Ask::of_inbox(limits, Wanted::ALL);
    let before = rows_read(world).await?;
    Timelines::candidates(&world.store, user(1), request, &ask).await?;
    let touched = rows_read(world).await? - before - overhead;
    ensure!(touched < 300, "{touched} rows for {request:?}");
    let before = rows_read_backward(world).await?;
    Timelines::candidates(&world.store, user(1), request, &ask).await?;
    let backward = rows_read_backward(world).await? - before;
    match request.direction {
        Direction::Older => {
            ensure!(backward >= 4, "an older page is not read backward: {backward} rows, {request:?}");
        }
        Direction::Newer => ensure!(backward <= 4, "a newer page is read backward: {backward} rows, {request:?}"),
    }
    let before = rows_read(world).await?;
    world.store.outbox(None, &[user(101)], request).await?;
    let touched = rows_read(world).await? - before - overhead;
    ensure!(touched < 100, "{touched} rows for the outbox, {request:?}");
    Ok(())
}

/// Reads change nothing, so that they come first.
async fn few_rows_are_touched(kind: Kind) -> Result<()> {
    let (_server, world) = own_server(kind).await?;
    pages_touch_few_rows(&world).await?;
    extensions_touch_few_rows(&world).await
}

async fn pages_touch_few_rows(world: &World) -> Result<()> {
    let overhead = {
        let before = rows_read(world).await?;
        rows_read(world).await? - before
    };
    for request in requests()? {
        one_page_touches_few_rows(world, &request, overhead).await?;
    }
    for (span, along) in spans().into_iter().flat_map(|span| [(span, None), (span, Some(Source::Author(user(101))))]) {
        let before = rows_read(world).await?;
        SearchTerms::candidates(&world.store, Some(user(1)), &look(along), span, 21).await?;
        let touched = rows_read(world).await? - before - overhead;
        ensure!(touched < 10 * 500, "{touched} rows for a look along {along:?}, {span:?}");
    }
    finding_people_touches_few_rows(world, overhead).await?;
    world.set_floor(user(2), Floor::Off).await?;
    // The second begins at a content that the reader sees, four contents of each author below the newest. Its page
    // needs no other entry behind it.
    let bound = Some(ROWS - 1_750);
    for (bound, most) in [(None, 15), (bound, 20)] {
        let before = rows_read(world).await?;
        world.store.definition(user(2), &request(Direction::Older, bound)?, false).await?;
        let touched = rows_read(world).await? - before - overhead;
        ensure!(
            // Rows that the engine keeps in memory, to rank the authors, count as well.
            touched < most * AUTHORS,
            "{touched} rows to pull {AUTHORS} authors, who have {ROWS} contents: from {bound:?}"
        );
    }
    Ok(())
}

/// A page of names that all have two rows; and suggestions for a reader of 500 authors who follow no one.
async fn finding_people_touches_few_rows(world: &World, overhead: i64) -> Result<()> {
    let prefix = KeyPrefix::try_new("ada")?;
    let middle = FoundUser { key: format!("ada{:05}", ROWS / 2), user: user(ROWS / 2) };
    for after in [None, Some(&middle)] {
        let before = rows_read(world).await?;
        ensure!(world.store.named(Some(user(1)), &prefix, after, 21).await?.len() == 21);
        let touched = rows_read(world).await? - before - overhead;
        ensure!(touched < 400, "{touched} rows for 21 people after {after:?}");
    }
    for viewer in [None, Some(user(1)), Some(user(STAR))] {
        let before = rows_read(world).await?;
        ensure!(world.store.suggested(viewer, 20).await?.len() == 20);
        let touched = rows_read(world).await? - before - overhead;
        ensure!(touched < 3_000, "{touched} rows to suggest 20 people to {viewer:?}");
    }
    Ok(())
}

/// A returning reader's inbox, and one step further down: as many rows as become rows of the inbox, a few for each
/// author, and on the way down those above the floor, which the index skips.
async fn extensions_touch_few_rows(world: &World) -> Result<()> {
    let (reader, step) = (user(2), 300);
    world.set_floor(reader, Floor::OPEN).await?;
    let mut taken = 0;
    for most in [3_500, 4_500] {
        let before = rows_read(world).await?;
        world.store.extend(reader, step).await?;
        let touched = rows_read(world).await? - before;
        taken += i64::from(step);
        ensure!(i64::try_from(world.inbox(reader).await?.len())? == taken);
        ensure!(touched < most, "{touched} rows to extend an inbox to {taken} rows of {AUTHORS} authors");
    }
    Ok(())
}

mod mariadb {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_and_extensions_touch_few_rows() -> anyhow::Result<()> {
        super::few_rows_are_touched(super::Kind::MariaDb).await
    }
}

mod mysql {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pages_and_extensions_touch_few_rows() -> anyhow::Result<()> {
        super::few_rows_are_touched(super::Kind::Mysql).await
    }
}
