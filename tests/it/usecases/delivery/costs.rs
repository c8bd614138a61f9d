//! Counts the cost of writes: statements up to the acknowledgement, of which those that are sent at once count as one,
//! including the begins and ends of transactions, and
//! those of the work after it, until no worker has any left.

use anyhow::{Result, ensure};
use tidefeed::{
    app::Settings,
    domain::{ContentId, Reaction, UserId, content::Draft},
    publish::PublishOutcome,
};

use super::world::{AUTHOR, followed_author, run_open_subtasks, user};
use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::{Backend, on_each_backend},
};

/// Statements so far, including the begin and the end of each transaction.
fn statements(app: &TestApp) -> u64 {
    app.store.statements() + 2 * app.store.transactions()
}

/// Statements and transactions of `work`.
async fn cost<T>(app: &TestApp, work: impl Future<Output = Result<T>>) -> Result<(T, u64, u64)> {
    let before = (statements(app), app.store.transactions());
    let done = work.await?;
    Ok((done, statements(app) - before.0, app.store.transactions() - before.1))
}

async fn publish(app: &TestApp, author: UserId, draft: Draft) -> Result<ContentId> {
    match app.publisher.publish(author, draft).await? {
        PublishOutcome::Published(content) => Ok(content.id),
        other => anyhow::bail!("not published: {other:?}"),
    }
}

fn post() -> Result<Draft> {
    Ok(Draft::try_new("High water at six.", Vec::new(), None)?)
}

/// Settings with which each subtask is one batch.
fn whole_subtasks() -> Settings {
    Settings { batch_size: 1_000, ..settings() }
}

/// The cost of a single statement that writes. On SQLite it is a transaction.
const fn alone(backend: Backend) -> u64 {
    if matches!(backend, Backend::Sqlite) { 3 } else { 1 }
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn a_publish_costs_five_statements_at_most_and_its_delivery_four(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 1).await?;
        let author = user(AUTHOR);
        let (first, statements, transactions) = cost(&app, publish(&app, author, post()?)).await?;
        ensure!((statements, transactions) == (4, 1), "a post: {statements} in {transactions}");
        let after = cost(&app, app.settle()).await?;
        ensure!((after.1, after.2) == (4, 1), "its delivery to one follower: {after:?}");
        let (_, statements, transactions) = cost(&app, publish(&app, author, post()?.replying_to(first))).await?;
        ensure!((statements, transactions) == (5, 1), "a reply: {statements} in {transactions}");
        let after = cost(&app, app.settle()).await?;
        ensure!((after.1, after.2) == (4, 1), "its delivery: {after:?}");
        let (_, statements, transactions) = cost(&app, publish(&app, author, Draft::repost(first))).await?;
        ensure!((statements, transactions) == (5, 1), "a repost: {statements} in {transactions}");
        let after = cost(&app, app.settle()).await?;
        ensure!((after.1, after.2) == (4, 1), "its delivery: {after:?}");
        let quiet = cost(&app, app.settle()).await?;
        ensure!((quiet.1, quiet.2) == (0, 0), "nobody has anything to do, and yet: {quiet:?}");
        Ok(())
    }

    async fn a_delivery_to_hundreds_costs_what_one_to_one_follower_does(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 499).await?;
        publish(&app, user(AUTHOR), post()?).await?;
        let after = cost(&app, app.settle()).await?;
        ensure!((after.1, after.2) == (4, 1), "{after:?}");
        Ok(())
    }

    async fn a_delivery_to_four_batches_is_one_transaction_and_to_more_a_chain(backend: Backend) -> Result<()> {
        let settings = Settings { batch_size: 3, batches_at_once: 4, ..settings() };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 11).await?;
        publish(&app, user(AUTHOR), post()?).await?;
        let after = cost(&app, app.settle()).await?;
        ensure!((after.1, after.2) == (4, 1), "eleven followers and the author: {after:?}");
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 12).await?;
        publish(&app, user(AUTHOR), post()?).await?;
        let after = cost(&app, app.settle()).await?;
        ensure!(after.2 > 2, "one follower more: {after:?}");
        Ok(())
    }

    async fn each_further_subtask_costs_one_transaction(backend: Backend) -> Result<()> {
        let mut costs = Vec::new();
        for followers in [2_500, 3_500] {
            let app = TestApp::start_with(backend, CacheBackend::NoCache, whole_subtasks()).await?;
            followed_author(&app, followers).await?;
            let content = publish(&app, user(AUTHOR), post()?).await?;
            app.ports.deliveries.extend_chain(content, 1_000, 9).await?;
            costs.push(cost(&app, run_open_subtasks(&app, content)).await?);
            ensure!(app.ports.deliveries.find(content).await?.is_none(), "the delivery is not finished");
        }
        let [three, four] = costs[..] else { anyhow::bail!("{costs:?}") };
        // One statement that finds them; each is begun, and all but the last ask whether the delivery has ended.
        ensure!((three.1, three.2) == (1 + 2 * (9 + 1) + 13, 3), "three subtasks: {three:?}");
        ensure!((four.1 - three.1, four.2 - three.2) == (9 + 1, 1), "a fourth: {three:?} {four:?}");
        Ok(())
    }

    async fn a_like_costs_five_statements(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 1).await?;
        let content = publish(&app, user(AUTHOR), post()?).await?;
        app.settle().await?;
        let (reader, like) = (user(AUTHOR + 1), Reaction::Like);
        let given = cost(&app, async { Ok(app.reacting.react(reader, content, like).await?) }).await?;
        ensure!((given.1, given.2) == (5, 1), "a like: {given:?}");
        let taken = cost(&app, async { Ok(app.reacting.take_back(reader, content, like).await?) }).await?;
        ensure!((taken.1, taken.2) == (5, 1), "taking it back: {taken:?}");
        let after = cost(&app, app.settle()).await?;
        ensure!((after.1, after.2) == (0, 0), "afterwards: {after:?}");
        Ok(())
    }

    async fn a_follow_and_an_unfollow_cost_four_statements_each(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 2).await?;
        let (reader, author) = (user(AUTHOR + 1), user(AUTHOR + 2));
        let follow = cost(&app, async { Ok(app.following.follow(reader, author).await?) }).await?;
        ensure!((follow.1, follow.2) == (4, 1), "a follow: {follow:?}");
        let after = cost(&app, app.settle()).await?;
        ensure!(after.1 == 1 + 7 + alone(backend), "covering the edge: {after:?}");
        let unfollow = cost(&app, async { Ok(app.following.unfollow(reader, author).await?) }).await?;
        ensure!((unfollow.1, unfollow.2) == (4, 1), "an unfollow: {unfollow:?}");
        let after = cost(&app, app.settle()).await?;
        ensure!(after.1 == 1 + 5 + 6 + alone(backend), "clearing up: {after:?}");
        Ok(())
    }
}
