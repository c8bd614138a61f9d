//! Tests that a delivery is cut into subtasks, and that executors share them.

use anyhow::{Result, ensure};
use tidefeed::domain::delivery::{
    EdgeRule,
    subtask::{END, Range},
};

use super::world::{AUTHOR, ensure_delivered, followed_author, publish, run_open_subtasks, served};
use crate::{
    harness::{CacheBackend, TestApp},
    servers::on_each_backend,
};

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// As docs/delivery.md#subtasks counts: the author follows themselves, so 2999 others make 3000 targets.
    async fn three_thousand_targets_make_three_subtasks(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 2999).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        let open = app.ports.deliveries.open_subtasks(entry.content).await?;
        let ranges: Vec<Range> = open.iter().map(|task| task.progress.range).collect();
        let expected = [(0, 1000), (1000, 2000), (2000, END)].map(|(after, through)| Range { after, through });
        ensure!(ranges == expected, "{ranges:?}");
        run_open_subtasks(&app, entry.content).await?;
        ensure_delivered(&app, entry.content, 2999).await
    }

    async fn a_dispatch_sends_each_subtask_once(backend: Backend) -> Result<()> {
        let settings = tidefeed::app::Settings { subtask_size: 1, ..crate::harness::settings() };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 249).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        let waiting = app.ports.queue.depth(tidefeed::store::queue::Topic::Push).await?;
        ensure!(waiting == 250, "{waiting} messages for 250 subtasks");
        Ok(())
    }

    async fn executors_in_parallel_serve_every_follower_once(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 1500).await?;
        let entry = publish(&app).await?;
        app.dispatcher.dispatch(entry.content).await?;
        // Two executors at each subtask, all at once: leases and progress keep them apart.
        let runs = [0, 1000, 0, 1000].map(|after| app.executor.run(entry.content, after));
        for run in futures_util::future::join_all(runs).await {
            run?;
        }
        ensure_delivered(&app, entry.content, 1500).await
    }

    async fn a_publish_costs_the_same_whoever_follows(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 1).await?;
        let alone = statements_of_a_publish(&app).await?;
        let crowded = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&crowded, 2000).await?;
        let crowd = statements_of_a_publish(&crowded).await?;
        ensure!(alone == crowd && alone <= 12, "{alone} statements for one follower, {crowd} for two thousand");
        Ok(())
    }

    async fn readers_who_are_off_and_edges_that_are_pulled_are_skipped(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 10).await?;
        let (off, pulling) = (super::world::user(AUTHOR + 3), super::world::user(AUTHOR + 5));
        app.turn_off(off).await?;
        app.demote(pulling, super::world::user(AUTHOR)).await?;
        let entry = publish(&app).await?;
        app.settle().await?;
        let expected: Vec<i64> = (AUTHOR..=AUTHOR + 10).filter(|id| ![off.get(), pulling.get()].contains(id)).collect();
        let got = served(&app, entry.content).await?;
        ensure!(got == expected, "{got:?}");
        Ok(())
    }

    /// A2: the author has as many followers as the threshold, and their own edge: all are pushed to, seen or not.
    async fn an_author_at_the_push_threshold_is_pushed_to_all_followers(
        backend: Backend,
    ) -> Result<()> {
        let mut settings = crate::harness::settings();
        settings.policy.rule = EdgeRule::Threshold { push_threshold: 10, active_days: 7 };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 10).await?;
        app.clock.advance(8 * 24 * 60 * 60 * 1000);
        let entry = publish(&app).await?;
        app.settle().await?;
        ensure_delivered(&app, entry.content, 10).await
    }

    /// A2: above the threshold only those seen within M days are targets; the others pull.
    async fn above_the_threshold_only_the_recently_seen_are_pushed_to(backend: Backend) -> Result<()> {
        let mut settings = crate::harness::settings();
        settings.policy.rule = EdgeRule::Threshold { push_threshold: 5, active_days: 7 };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 10).await?;
        let days = |days: i64| days * 24 * 60 * 60 * 1000;
        app.clock.advance(days(8));
        for active in [AUTHOR, AUTHOR + 2, AUTHOR + 4] {
            app.ports.inboxes.mark_seen(&[super::world::user(active)], app.now_ms()).await?;
        }
        let entry = publish(&app).await?;
        app.settle().await?;
        let got = served(&app, entry.content).await?;
        ensure!(got == [AUTHOR, AUTHOR + 2, AUTHOR + 4], "{got:?}");
        let request = tidefeed::domain::PageRequest::newest(tidefeed::domain::PageSize::default());
        for reader in AUTHOR..=AUTHOR + 10 {
            let page = app.reader.page(super::world::user(reader), &request).await?;
            ensure!(page.entries == [entry], "reader {reader} sees {:?}", page.entries);
        }
        Ok(())
    }
}

async fn statements_of_a_publish(app: &TestApp) -> Result<u64> {
    let before = app.store.statements();
    publish(app).await?;
    Ok(app.store.statements() - before)
}
