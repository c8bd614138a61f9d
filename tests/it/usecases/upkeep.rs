//! Tests upkeep over a real store: the work that makes pages cheap again.

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{Floor, PageRequest, PageSize, Position, content::Draft, timeline::tier::InboxTiers},
    store::timelines::Depth,
};

use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::{self, on_each_backend},
    usecases::delivery::{followed_author, user},
};

/// Number of inboxes, every fourth of which is too full.
const INBOXES: i64 = 1_000;
const KEEP: i64 = 20;

async fn fill_inboxes(app: &TestApp) -> Result<()> {
    let database = servers::connect_sql(app.database_url()).await?;
    let rows = |inbox: i64| if inbox % 4 == 0 { KEEP + KEEP / 10 + 1 } else { KEEP + KEEP / 10 };
    for some in (1..=INBOXES).collect::<Vec<_>>().chunks(100) {
        let states: Vec<String> = some.iter().map(|inbox| format!("({inbox}, 0, 0, 5)")).collect();
        let columns = "inbox_states (user_id, floor_time, floor_content, last_seen)";
        servers::execute(&database, &format!("INSERT INTO {columns} VALUES {}", states.join(", "))).await?;
        let all =
            some.iter().flat_map(|inbox| (1..=rows(*inbox)).map(move |row| format!("({inbox}, {row}, {row}, 9)")));
        let columns = "inboxes (user_id, publish_time, content_id, author_id)";
        let all: Vec<String> = all.collect();
        servers::execute(&database, &format!("INSERT INTO {columns} VALUES {}", all.join(", "))).await?;
    }
    Ok(())
}

on_each_backend! {
    /// B4: a walk over a thousand inboxes is six statements. Each overfull inbox takes one transaction of four more,
    /// which deletes a tenth of what is kept, and one row more, in one statement. So transactions are rare in
    /// comparison with the rows that deliveries insert, and the cost of a walk does not depend on how many rows there
    /// are.
    async fn the_trimmer_works_in_batches_of_200_inboxes(backend: Backend) -> Result<()> {
        let keep = u32::try_from(KEEP)?;
        let settings = tidefeed::app::Settings { tiers: InboxTiers { keep, ..settings().tiers }, ..settings() };
        let app = TestApp::start_with(backend, CacheBackend::Memory, settings).await?;
        fill_inboxes(&app).await?;
        let database = servers::connect_sql(app.database_url()).await?;
        let rows = async || anyhow::Ok(servers::numbers(&database, "SELECT COUNT(*) FROM inboxes").await?[0]);
        let (before, begun) = (rows().await?, (app.store.statements(), app.store.transactions()));
        let mut trimmed = 0;
        loop {
            let (inboxes, round) = app.trimmer.run_once().await?;
            trimmed += inboxes;
            if round {
                break;
            }
        }
        let cost = (app.store.statements() - begun.0, app.store.transactions() - begun.1);
        ensure!(trimmed == 250, "{trimmed} inboxes were too full");
        ensure!(cost == (6 + 4 * 250, 250), "statements and transactions: {cost:?}");
        ensure!(before - rows().await? == 250 * (KEEP / 10 + 1), "{} of {before} rows are left", rows().await?);
        let begun = app.store.statements();
        while !app.trimmer.run_once().await?.1 {}
        ensure!(app.store.statements() - begun == 6, "nothing is too full: a thousand inboxes are looked at, no more");
        Ok(())
    }

    /// Following an author with more contents than an inbox keeps raises the floor; unfollowing them lowers it again.
    async fn a_floor_that_a_gone_author_raised_comes_down_again(backend: Backend) -> Result<()> {
        let settings = tidefeed::app::Settings { tiers: InboxTiers { keep: 5, ..settings().tiers }, ..settings() };
        let app = TestApp::start_with(backend, CacheBackend::Memory, settings).await?;
        followed_author(&app, 2).await?;
        let (author, reader, steady) = (user(1), user(2), user(3));
        for time in 1..=12 {
            app.set_time(time);
            let by = if time < 3 { steady } else { author };
            app.publisher.publish(by, Draft::try_new("words", Vec::new(), None)?).await?;
        }
        app.settle().await?;
        app.reactivator.wake(reader).await?;
        app.following.unfollow(reader, author).await?;
        app.following.follow(reader, steady).await?;
        app.settle().await?;
        app.following.follow(reader, author).await?;
        app.settle().await?;
        let raised = app.ports.inboxes.floor(reader).await?;
        ensure!(raised.trusted_from() > Position::OLDEST, "covering was not cut: {raised:?}");
        app.following.unfollow(reader, author).await?;
        app.settle().await?;
        ensure!(app.ports.inboxes.held(reader, 5).await? < 5);

        let request = PageRequest::newest(PageSize::default());
        let page = app.reader.page(reader, &request).await?;
        ensure!(page.entries.len() == 2 && !page.has_older, "{page:?}");
        app.settle().await?;
        ensure!(app.ports.inboxes.floor(reader).await? == Floor::At(Position::OLDEST), "the visit changed nothing");
        let snapshot = app.ports.timelines.read(reader, &request, Depth::Inbox).await?;
        ensure!(snapshot.uncovered.is_empty());
        Ok(())
    }
}
