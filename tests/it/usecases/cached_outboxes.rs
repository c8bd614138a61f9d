//! Counts the cost of a pulling reader's page, with the outbox cache and beyond it.

use anyhow::{Result, bail, ensure};
use tidefeed::{
    domain::{ContentKind, Kinds, PageRequest, PageSize},
    follow::ExclusionOutcome,
};

use crate::{
    harness::{CacheBackend, TestApp},
    servers::on_each_backend,
    usecases::delivery::{followed_author, publish, user},
};

/// Statements of one page, which must equal the oracle's.
async fn cost(app: &TestApp, reader: i64, request: &PageRequest) -> Result<u64> {
    let before = app.store.statements();
    let page = app.reader.page(user(reader), request).await?;
    let cost = app.store.statements() - before;
    let mut due = app.ports.timelines.oracle(user(reader), request).await?;
    due.truncate(request.size.get());
    ensure!(page.entries == due, "{page:?} is shown, due is {due:?}");
    Ok(cost)
}

/// Statements of twenty reads of the same page.
async fn costs(app: &TestApp, reader: i64, request: &PageRequest) -> Result<Vec<u64>> {
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(cost(app, reader, request).await?);
    }
    Ok(all)
}

/// An author of thirty contents, pulled by these readers.
async fn pulled_by(app: &TestApp, readers: &[i64]) -> Result<()> {
    followed_author(app, 4).await?;
    for _ in 0..30 {
        app.clock.advance(1);
        publish(app).await?;
    }
    app.settle().await?;
    for reader in readers {
        app.demote(user(*reader), user(1)).await?;
        app.reactivator.visit(user(*reader), None).await?;
        app.demote(user(*reader), user(1)).await?;
    }
    Ok(())
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn readers_with_exclusions_pull_in_one_statement(backend: Backend) -> Result<()> {
            let app = TestApp::start(backend, CacheBackend::Redis).await?;
            pulled_by(&app, &[2, 3]).await?;
            let newest = PageRequest::newest(PageSize::default());
            let posts = newest.of(Kinds::try_new([ContentKind::Post])?);
            costs(&app, 2, &newest).await?;
            ensure!(costs(&app, 2, &newest).await? == [1; 20], "from the cache");

            let ExclusionOutcome::Done = app.excluding.mute(user(3), user(4)).await? else { bail!("not muted") };
            for request in [newest, posts] {
                let costs = costs(&app, 3, &request).await?;
                ensure!(costs[0] <= 2 && costs[1..].iter().all(|cost| *cost == 1), "past it: {costs:?}");
            }
            let lifted = app.excluding.unmute(user(3), user(4)).await?;
            ensure!(lifted == ExclusionOutcome::Done);
            costs(&app, 3, &newest).await?;
            ensure!(costs(&app, 3, &newest).await?.iter().all(|cost| *cost == 1), "from the cache again");
            Ok(())
        }

        /// A10: with the cache and without.
        async fn a_mute_costs_a_pulling_reader_no_statement(backend: Backend) -> Result<()> {
            let mut seen = Vec::new();
            for cache in [CacheBackend::Redis, CacheBackend::NoCache] {
                let app = TestApp::start(backend, cache).await?;
                pulled_by(&app, &[2, 3]).await?;
                let ExclusionOutcome::Done = app.excluding.mute(user(3), user(4)).await? else { bail!("not muted") };
                let newest = PageRequest::newest(PageSize::default());
                for reader in [2, 3] {
                    costs(&app, reader, &newest).await?;
                    seen.push(costs(&app, reader, &newest).await?.iter().sum::<u64>());
                }
            }
            ensure!(seen == [20; 4], "{seen:?}");
            Ok(())
        }
    }
}
