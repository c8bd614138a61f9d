//! Runs a node's background workers: each worker's `run_once` in a loop that ends when draining begins.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::{AccountRemover, Pruner},
    api::graphql::UseCases,
    config::{Config, Millis},
    follow::RelationReconciler,
    lifecycle::Lifecycle,
    publish::{Dispatcher, Indexer, SubtaskExecutor},
    rng::SharedRng,
    store::{InboxTier, Schema, StoreError},
    telemetry::metrics::WORKER_FAILURES,
    upkeep::{Auditor, CountGatherer, Reactivator, Sweeper, Trimmer},
};

/// How long a worker waits for a message before it checks whether the process is draining.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two checks for ended sessions, after one that found none.
const PRUNE_EVERY: Duration = Duration::from_mins(1);
/// Time between two looks for changes of spread counts. A page adds up what has come meanwhile.
const GATHER_EVERY: Duration = Duration::from_secs(1);
/// Time between two checks for deleted accounts, after one that found none.
const REMOVE_EVERY: Duration = Duration::from_secs(5);
/// Time between two looks at the nodes of outside inboxes: a restarted Redis serves no inbox until then.
const KEEP_EVERY: Duration = Duration::from_secs(2);
/// Pause of the indexer and the remover between two steps, for others who write.
const INDEX_PAUSE: Duration = Duration::from_millis(20);
/// Time between two looks for contents to index, after one that found none. Searches read meanwhile what waits.
const INDEX_EVERY: Duration = Duration::from_millis(500);
/// How often the store updates its table statistics.
const STATISTICS_EVERY: Duration = Duration::from_mins(30);
/// How long a worker pauses after a store has failed.
const REST: Duration = Duration::from_millis(500);

/// A worker that takes messages from a queue.
#[async_trait]
trait Consumer: Send + Sync {
    /// One `run_once` under the consumer name `me`.
    async fn step(&self, me: &str) -> Result<usize, StoreError>;
}

#[async_trait]
impl Consumer for Dispatcher {
    async fn step(&self, me: &str) -> Result<usize, StoreError> {
        self.run_once(me, PATIENCE).await
    }
}

#[async_trait]
impl Consumer for SubtaskExecutor {
    async fn step(&self, me: &str) -> Result<usize, StoreError> {
        self.run_once(me, PATIENCE).await
    }
}

#[async_trait]
impl Consumer for RelationReconciler {
    async fn step(&self, me: &str) -> Result<usize, StoreError> {
        self.run_once(me, PATIENCE).await
    }
}

#[async_trait]
impl Consumer for Reactivator {
    async fn step(&self, me: &str) -> Result<usize, StoreError> {
        self.run_once(me, PATIENCE).await
    }
}

/// Starts every worker of this node.
pub fn spawn(use_cases: &UseCases, config: &Config, lifecycle: &Lifecycle, rng: &SharedRng) {
    let consumers: [(&'static str, Arc<dyn Consumer>, usize); 4] = [
        ("dispatcher", use_cases.dispatcher.clone(), config.delivery.dispatchers),
        ("executor", use_cases.executor.clone(), config.delivery.executors),
        ("reconciler", use_cases.reconciler.clone(), config.upkeep.relation_workers),
        ("reactivator", use_cases.reactivator.clone(), 1),
    ];
    let node = format!("{:016x}", rng.u64());
    for (name, worker, count) in consumers {
        for number in 0..count {
            consume(lifecycle, name, Arc::clone(&worker), format!("{name}-{node}-{number}"));
        }
    }
    sweep(lifecycle, Arc::clone(&use_cases.sweeper), config.upkeep.sweep_ms);
    trim(lifecycle, Arc::clone(&use_cases.trimmer), config.upkeep.trim_ms);
    gather_counts(lifecycle, Arc::clone(&use_cases.count_gatherer));
    prune(lifecycle, Arc::clone(&use_cases.pruner));
    remove_accounts(lifecycle, Arc::clone(&use_cases.remover));
    index(lifecycle, Arc::clone(&use_cases.indexer));
}

/// Compares the tokens of outside inboxes with the nodes that answer.
pub fn keep_outside(lifecycle: &Lifecycle, tier: Arc<dyn InboxTier>) {
    let health = Health::new("keeper of inboxes outside SQL", lifecycle.draining());
    lifecycle.spawn("outside keeper", repeat(health, KEEP_EVERY, async move || tier.run_once().await));
}

/// Keeps a process connected to the store of inboxes outside SQL in which no keeper does it.
pub fn connect_outside(lifecycle: &Lifecycle, tier: Arc<dyn InboxTier>) {
    let health = Health::new("connection to inboxes outside SQL", lifecycle.draining());
    lifecycle.spawn("outside connection", repeat(health, KEEP_EVERY, async move || tier.connect().await));
}

fn consume(lifecycle: &Lifecycle, name: &'static str, worker: Arc<dyn Consumer>, me: String) {
    let draining = lifecycle.draining();
    let mut health = Health::new(name, draining.clone());
    lifecycle.spawn(name, async move {
        while !draining.is_cancelled() {
            health.of(worker.step(&me).await).await;
        }
    });
}

/// Sweeps again at once while there is work.
fn sweep(lifecycle: &Lifecycle, sweeper: Arc<Sweeper>, every: Millis) {
    let draining = lifecycle.draining();
    let mut health = Health::new("sweeper", draining.clone());
    lifecycle.spawn("sweeper", async move {
        while !draining.is_cancelled() {
            let swept = health.of(sweeper.run_once().await).await;
            if swept.is_none_or(|swept| swept.is_nothing()) {
                pause(&draining, every.duration()).await;
            }
        }
    });
}

/// Trims again at once while there is work.
fn trim(lifecycle: &Lifecycle, trimmer: Arc<Trimmer>, every: Millis) {
    let draining = lifecycle.draining();
    let mut health = Health::new("trimmer", draining.clone());
    lifecycle.spawn("trimmer", async move {
        while !draining.is_cancelled() {
            let step = health.of(trimmer.run_once().await).await;
            if step.is_none_or(|(inboxes, _)| inboxes == 0) {
                pause(&draining, every.duration()).await;
            }
        }
    });
}

/// Audits one randomly chosen reader at a time.
pub fn audit(lifecycle: &Lifecycle, auditor: Auditor, every: Millis, rng: SharedRng) {
    let draining = lifecycle.draining();
    let mut health = Health::new("auditor", draining.clone());
    lifecycle.spawn("auditor", async move {
        while !draining.is_cancelled() {
            pause(&draining, every.duration()).await;
            if !draining.is_cancelled() {
                health.of(auditor.sample(rng.u64()).await).await;
            }
        }
    });
}

/// Updates the store's table statistics at the start and periodically.
pub fn refresh_statistics(lifecycle: &Lifecycle, schema: Arc<dyn Schema>) {
    let health = Health::new("statistics", lifecycle.draining());
    lifecycle.spawn("statistics", repeat(health, STATISTICS_EVERY, async move || schema.refresh_statistics().await));
}

/// One step, a pause, and so on.
async fn repeat<T>(mut health: Health, every: Duration, step: impl AsyncFn() -> Result<T, StoreError>) {
    let draining = health.draining.clone();
    while !draining.is_cancelled() {
        health.of(step().await).await;
        pause(&draining, every).await;
    }
}

/// Gathers again at once while more is waiting.
fn gather_counts(lifecycle: &Lifecycle, gatherer: Arc<CountGatherer>) {
    let draining = lifecycle.draining();
    let mut health = Health::new("count gatherer", draining.clone());
    lifecycle.spawn("count gatherer", async move {
        while !draining.is_cancelled() {
            if health.of(gatherer.run_once().await).await != Some(true) {
                pause(&draining, GATHER_EVERY).await;
            }
        }
    });
}

fn prune(lifecycle: &Lifecycle, pruner: Arc<Pruner>) {
    let draining = lifecycle.draining();
    let mut health = Health::new("pruner", draining.clone());
    lifecycle.spawn("pruner", async move {
        while !draining.is_cancelled() {
            if health.of(pruner.run_once().await).await.is_none_or(|pruned| pruned == 0) {
                pause(&draining, PRUNE_EVERY).await;
            }
        }
    });
}

fn remove_accounts(lifecycle: &Lifecycle, remover: Arc<AccountRemover>) {
    let draining = lifecycle.draining();
    let mut health = Health::new("remover", draining.clone());
    lifecycle.spawn("remover", async move {
        while !draining.is_cancelled() {
            let cleared = health.of(remover.run_once().await).await == Some(true);
            pause(&draining, if cleared { INDEX_PAUSE } else { REMOVE_EVERY }).await;
        }
    });
}

fn index(lifecycle: &Lifecycle, indexer: Arc<Indexer>) {
    let draining = lifecycle.draining();
    let mut health = Health::new("indexer", draining.clone());
    lifecycle.spawn("indexer", async move {
        while !draining.is_cancelled() {
            let is_done = health.of(indexer.run_once().await).await == Some(true);
            pause(&draining, if is_done { INDEX_EVERY } else { INDEX_PAUSE }).await;
        }
    });
}

/// What all workers do about failures: a pause, one line when failures begin, one when they are over, and a count.
struct Health {
    worker: &'static str,
    draining: CancellationToken,
    failing: bool,
}

impl Health {
    const fn new(worker: &'static str, draining: CancellationToken) -> Self {
        Self { worker, draining, failing: false }
    }

    /// The result of a step. After a failure the worker pauses.
    async fn of<T>(&mut self, step: Result<T, StoreError>) -> Option<T> {
        match step {
            Ok(done) => {
                if std::mem::take(&mut self.failing) {
                    tracing::info!(worker = self.worker, "The stores work again.");
                }
                Some(done)
            }
            Err(error) => {
                metrics::counter!(WORKER_FAILURES, "worker" => self.worker).increment(1);
                if !std::mem::replace(&mut self.failing, true) {
                    let error = error.with_causes();
                    tracing::warn!(
                        worker = self.worker,
                        error,
                        "A store failed. The worker tries again until it works."
                    );
                }
                pause(&self.draining, REST).await;
                None
            }
        }
    }
}

async fn pause(draining: &CancellationToken, time: Duration) {
    draining.run_until_cancelled(sleep(time)).await;
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn steps_that_fail_are_followed_by_pauses() {
        let (began, mut rounds) = (Instant::now(), 0_u32);
        let mut health = Health::new("test", CancellationToken::new());
        let failing = async {
            loop {
                health.of(Err::<(), _>(StoreError::TakesNoWrites("the disk is full".into()))).await;
                rounds += 1;
            }
        };
        assert!(timeout(REST * 10, failing).await.is_err());
        assert!(rounds <= 10, "{rounds} rounds in {:?}", began.elapsed());
        health.of(Ok(())).await;
        assert!(began.elapsed() <= REST * 10, "what works goes on at once");
    }
}
