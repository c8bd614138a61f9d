//! Tests the order in which a delivery serves its followers.

use anyhow::{Result, ensure};
use tidefeed::{app::Settings, domain::UserId, publish::FirstServed};

use super::world::{AUTHOR, ensure_delivered, followed_author, publish, run_open_subtasks, served, user};
use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::{self, on_each_backend},
};

const MINUTE: i64 = 60 * 1_000;

/// Ranges of six, transactions of three, and four followers who are served first.
fn cut() -> Settings {
    let first = FirstServed { most: 4, beyond_transactions: 4, within_ms: 20 * MINUTE };
    Settings { subtask_size: 6, batch_size: 3, first, ..settings() }
}

async fn see(app: &TestApp, readers: &[i64]) -> Result<()> {
    let readers: Vec<UserId> = readers.iter().copied().map(user).collect();
    app.ports.inboxes.mark_seen(&readers, app.now_ms()).await?;
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// Before any executor begins, readers who are online on any node and those who were seen last have the entry. The
    /// subtasks then serve the others in ascending ids, and serve no one twice.
    async fn online_and_recent_readers_are_served_first(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, cut()).await?;
        followed_author(&app, 20).await?;
        app.clock.advance(40 * MINUTE);
        see(&app, &[2, 9]).await?;
        app.clock.advance(15 * MINUTE);
        see(&app, &[18]).await?;
        let other = app.beside().await?;
        other.set_time(56 * MINUTE);
        let _online = other.live.subscribe(user(13), None).await?;
        other.settle().await?;
        app.set_time(57 * MINUTE);
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        ensure!(served(&app, entry.content).await? == [2, 9, 13, 18], "not those who are here, or others too");
        let open = app.ports.deliveries.open_subtasks(entry.content).await?;
        ensure!(open.len() == 4, "21 targets are four ranges of six, including those served first: {open:?}");
        ensure!(!app.ports.deliveries.finish(entry.content).await?, "the others are not served yet");

        app.executor.run(entry.content, 0).await?;
        ensure!(served(&app, entry.content).await? == [1, 2, 3, 4, 5, 6, 9, 13, 18], "the first range comes next");
        run_open_subtasks(&app, entry.content).await?;
        ensure_delivered(&app, entry.content, 20).await
    }

    /// At most the configured number, those seen last. Readers who pull, are off or were away longer are left out.
    async fn the_most_recently_seen_readers_are_served_first(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, cut()).await?;
        followed_author(&app, 20).await?;
        app.clock.advance(60 * MINUTE);
        for reader in (2..=21).rev() {
            app.clock.advance(MINUTE);
            see(&app, &[reader]).await?;
        }
        app.demote(user(3), user(AUTHOR)).await?;
        let rows = servers::connect_sql(app.database_url()).await?;
        servers::execute(&rows, "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL WHERE user_id = 5").await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        ensure!(served(&app, entry.content).await? == [2, 4, 6, 7], "{:?}", served(&app, entry.content).await?);
        app.dispatcher.dispatch(entry.content).await?;
        ensure!(served(&app, entry.content).await?.len() == 4, "once a range is cut, nobody is served out of turn");
        app.clock.advance(30 * MINUTE);
        let later = publish(&app).await?;
        app.dispatcher.dispatch(later.content).await?;
        ensure!(served(&app, later.content).await?.is_empty(), "nobody is here");
        app.settle().await?;
        ensure!(served(&app, later.content).await?.len() == 19, "all but the one who pulls and the one who is off");
        Ok(())
    }

    /// Nor does a delivery that few transactions serve.
    async fn a_delivery_of_few_batches_has_nobody_first(backend: Backend) -> Result<()> {
        let first = FirstServed { beyond_transactions: 7, ..cut().first };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, Settings { first, ..cut() }).await?;
        followed_author(&app, 20).await?;
        see(&app, &[2, 9]).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        ensure!(served(&app, entry.content).await?.is_empty(), "seven batches of three are enough for 21 targets");
        run_open_subtasks(&app, entry.content).await?;
        ensure_delivered(&app, entry.content, 20).await
    }

    /// Targets that one transaction serves have no order, and cost nothing extra.
    async fn a_delivery_that_one_transaction_serves_has_nobody_first(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, cut()).await?;
        followed_author(&app, 20).await?;
        for pulling in 5..=21 {
            app.demote(user(pulling), user(AUTHOR)).await?;
        }
        app.demote(user(AUTHOR), user(AUTHOR)).await?;
        see(&app, &[2, 3, 4]).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        ensure!(served(&app, entry.content).await?.is_empty(), "three targets are one transaction");
        app.settle().await?;
        ensure!(served(&app, entry.content).await? == [2, 3, 4]);
        Ok(())
    }

    /// The same inbox rows exist in the end, whatever the order; zero switches it off.
    async fn nobody_is_first_if_the_configuration_says_so(backend: Backend) -> Result<()> {
        let first = FirstServed { most: 0, beyond_transactions: 4, within_ms: 20 * MINUTE };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, Settings { first, ..cut() }).await?;
        followed_author(&app, 20).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        ensure!(served(&app, entry.content).await?.is_empty());
        run_open_subtasks(&app, entry.content).await?;
        ensure_delivered(&app, entry.content, 20).await
    }
}
