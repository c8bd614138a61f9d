//! Executors that die, and deliveries that keep failing.

use std::sync::Arc;

use anyhow::{Result, ensure};
use tidefeed::{
    clock::SharedClock,
    domain::{PageRequest, PageSize},
    publish::{ExecutorOptions, SubtaskExecutor},
    store::Deliveries,
};

use super::{
    faulty::{Fault, FaultyDeliveries},
    world::{AUTHOR, ensure_delivered, followed_author, publish, served, user},
};
use crate::{
    harness::{Around, TestHouse, settings},
    servers::on_each_backend,
};

const BATCH: u32 = 100;

/// An executor of its own over deliveries that break.
fn executor(house: &TestHouse, deliveries: Arc<dyn Deliveries>) -> SubtaskExecutor {
    let options = ExecutorOptions { batch_size: BATCH, lease_ms: settings().lease_ms, policy: settings().policy };
    let clock: SharedClock = house.clock.clone();
    let (follows, queue) = (house.ports.follows.clone(), house.ports.queue.clone());
    SubtaskExecutor::new(deliveries, follows, queue, options, (clock, house.draw.clone()))
}

on_each_backend! {
    async fn an_executor_killed_mid_subtask_resumes_after_the_last_user_served(backend: Backend) -> Result<()> {
        let house = TestHouse::start(backend, Around::Memory).await?;
        followed_author(&house, 999).await?;
        let entry = publish(&house).await?;
        house.dispatcher.dispatch(entry.content).await?;
        let dying = FaultyDeliveries::new(house.ports.deliveries.clone(), Fault::HangAfter(3));
        let doomed = executor(&house, dying.clone());
        let life = tokio::spawn(async move { doomed.run(entry.content, 0).await });
        dying.hanging.notified().await;
        life.abort();
        ensure!(life.await.is_err_and(|end| end.is_cancelled()), "the executor was not killed");
        let first_three: Vec<i64> = (AUTHOR..=AUTHOR + 299).collect();
        ensure!(served(&house, entry.content).await? == first_three);

        let heir = FaultyDeliveries::new(house.ports.deliveries.clone(), Fault::None);
        let successor = executor(&house, heir.clone());
        successor.run(entry.content, 0).await?;
        ensure!(heir.began.lock().unwrap().is_empty(), "the lease was not respected");
        house.clock.advance(settings().lease_ms + 1);
        successor.run(entry.content, 0).await?;
        let began = heir.began.lock().unwrap().clone();
        // The range is open-ended: a last batch finds nobody after the thousandth.
        ensure!(began == [300, 400, 500, 600, 700, 800, 900, 1000], "{began:?}");
        ensure_delivered(&house, entry.content, 999).await
    }

    async fn a_dead_executors_message_comes_again_through_the_sweeper(backend: Backend) -> Result<()> {
        let house = TestHouse::start(backend, Around::Memory).await?;
        followed_author(&house, 400).await?;
        let entry = publish(&house).await?;
        house.dispatcher.dispatch(entry.content).await?;
        let dying = FaultyDeliveries::new(house.ports.deliveries.clone(), Fault::HangAfter(1));
        let doomed = executor(&house, dying.clone());
        let life = tokio::spawn(async move { doomed.run(entry.content, 0).await });
        dying.hanging.notified().await;
        life.abort();
        let _ = life.await;
        house.lose_messages().await?;
        house.sweep().await?;
        ensure_delivered(&house, entry.content, 400).await
    }

    async fn a_delivery_that_keeps_failing_is_seen_and_never_lost(backend: Backend) -> Result<()> {
        let house = TestHouse::start(backend, Around::Memory).await?;
        followed_author(&house, 20).await?;
        let entry = publish(&house).await?;
        house.dispatcher.dispatch(entry.content).await?;
        house.lose_messages().await?;
        let failing = executor(&house, FaultyDeliveries::new(house.ports.deliveries.clone(), Fault::Fail));
        for _ in 0..6 {
            house.clock.advance(60 * 60 * 1000);
            house.sweeper.run_once().await?;
            house.dispatcher.run_once("test", std::time::Duration::ZERO).await?;
            while failing.run_once("test", std::time::Duration::ZERO).await? > 0 {}
            house.lose_messages().await?;
        }
        let after = settings().failing_after;
        let backlog = house.ports.deliveries.backlog(after).await?;
        ensure!(backlog.unfinished == 1 && backlog.failing == 1, "{backlog:?}");
        let shown = house.ports.deliveries.failing(after, 10).await?;
        ensure!(shown[0].attempts >= after && shown[0].last_error == "the store cannot be reached: the store is on fire", "{shown:?}");
        let request = PageRequest::newest(PageSize::default());
        let page = house.reader.page(user(AUTHOR + 20), &request).await?;
        ensure!(page.entries == [entry], "what is not delivered is read from its delivery record: {page:?}");
        house.sweep().await?;
        ensure_delivered(&house, entry.content, 20).await
    }
}
