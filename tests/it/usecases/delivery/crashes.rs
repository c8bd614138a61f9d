//! Tests executors that die, and deliveries that keep failing.

use std::sync::Arc;

use anyhow::{Result, ensure};
use tidefeed::{
    app::{Ports, Settings},
    domain::{PageRequest, PageSize},
    publish::{ExecutorOptions, FirstServed, SubtaskExecutor},
    store::{Deliveries, inbox_tier::InSql},
};

use super::{
    faulty::{Fault, FaultyDeliveries},
    world::{AUTHOR, ensure_delivered, followed_author, publish, served, user},
};
use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::on_each_backend,
};

const BATCH: u32 = 100;

/// Settings with which no delivery is small enough for one transaction.
fn cut() -> Settings {
    Settings { batch_size: 1, ..settings() }
}

/// Settings with which no follower is served before the others.
fn in_order() -> Settings {
    Settings { first: FirstServed { most: 0, ..settings().first }, ..settings() }
}

/// An executor over faulty deliveries.
fn executor(app: &TestApp, deliveries: Arc<dyn Deliveries>) -> SubtaskExecutor {
    let options = ExecutorOptions { batch_size: BATCH, lease_ms: settings().lease_ms, policy: settings().policy };
    let tier = Arc::new(InSql { deliveries: deliveries.clone(), inboxes: app.ports.inboxes.clone() });
    SubtaskExecutor::new(&Ports { deliveries, tier, ..app.ports.clone() }, options, &app.ambient())
}

on_each_backend! {
    async fn an_executor_killed_mid_subtask_resumes_after_the_last_user_served(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, in_order()).await?;
        followed_author(&app, 999).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        let dying = FaultyDeliveries::new(app.ports.deliveries.clone(), Fault::HangAfter(3));
        let doomed = executor(&app, dying.clone());
        let life = tokio::spawn(async move { doomed.run(entry.content, 0).await });
        dying.hanging.notified().await;
        life.abort();
        ensure!(life.await.is_err_and(|end| end.is_cancelled()), "the executor was not killed");
        let first_three: Vec<i64> = (AUTHOR..=AUTHOR + 299).collect();
        ensure!(served(&app, entry.content).await? == first_three);

        let heir = FaultyDeliveries::new(app.ports.deliveries.clone(), Fault::None);
        let successor = executor(&app, heir.clone());
        successor.run(entry.content, 0).await?;
        ensure!(heir.began.lock().unwrap().is_empty(), "the lease was not respected");
        app.clock.advance(settings().lease_ms + 1);
        successor.run(entry.content, 0).await?;
        let began = heir.began.lock().unwrap().clone();
        // The range is open-ended: a last batch finds no follower after the thousandth.
        ensure!(began == [300, 400, 500, 600, 700, 800, 900, 1000], "{began:?}");
        ensure_delivered(&app, entry.content, 999).await
    }

    async fn a_dead_executors_message_comes_again_through_the_sweeper(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, cut()).await?;
        followed_author(&app, 400).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        let dying = FaultyDeliveries::new(app.ports.deliveries.clone(), Fault::HangAfter(1));
        let doomed = executor(&app, dying.clone());
        let life = tokio::spawn(async move { doomed.run(entry.content, 0).await });
        dying.hanging.notified().await;
        life.abort();
        let _ = life.await;
        app.lose_messages().await?;
        app.sweep().await?;
        ensure_delivered(&app, entry.content, 400).await
    }

    async fn a_delivery_that_keeps_failing_is_seen_and_never_lost(backend: Backend) -> Result<()> {
        let app = TestApp::start_with(backend, CacheBackend::NoCache, cut()).await?;
        followed_author(&app, 20).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        app.lose_messages().await?;
        let failing = executor(&app, FaultyDeliveries::new(app.ports.deliveries.clone(), Fault::Fail));
        for _ in 0..6 {
            app.clock.advance(60 * 60 * 1000);
            app.sweeper.run_once().await?;
            app.dispatcher.run_once("test", std::time::Duration::ZERO).await?;
            while failing.run_once("test", std::time::Duration::ZERO).await? > 0 {}
            app.lose_messages().await?;
        }
        let after = settings().failing_after;
        let backlog = app.ports.deliveries.backlog(i64::MIN, after).await?;
        ensure!(backlog.unfinished == 1 && backlog.failing == 1, "{backlog:?}");
        let shown = app.ports.deliveries.failing(after, 10).await?;
        ensure!(shown[0].attempts >= after && shown[0].last_error == "the store cannot be reached: the store is on fire", "{shown:?}");
        let request = PageRequest::newest(PageSize::default());
        let page = app.reader.page(user(AUTHOR + 20), &request).await?;
        ensure!(page.entries == [entry], "what is not delivered is read from its delivery record: {page:?}");
        app.sweep().await?;
        ensure_delivered(&app, entry.content, 20).await
    }
}
