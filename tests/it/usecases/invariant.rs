//! Checks the invariant of docs/coverage.md on a real store with one statement, repeatedly, while authors, readers,
//! workers and upkeep run at once and the clock moves forwards and backwards.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};
use std::time::Duration;

use anyhow::{Result, ensure};
use tidefeed::{
    app::Settings,
    domain::{
        PageRequest, PageSize,
        content::Draft,
        delivery::{DeliveryPolicy, EdgeRule},
        timeline::tier::InboxTiers,
    },
    rng::SharedRng,
    upkeep::Auditor,
};
use tokio::task::JoinSet;

use crate::{
    coverage::BROKEN,
    harness::{self, CacheBackend, TestApp, settings},
    servers::{self, Backend, on_each_backend},
    usecases::{
        audit,
        delivery::{followed_author, user},
    },
};

const PEOPLE: i64 = 8;
/// Actions of each actor, and in `make test-fast`.
const ACTS: (u32, u32) = (60, 20);

/// The actors. Small inboxes, subtasks and thresholds make everything happen often.
#[derive(Clone, Copy, Debug)]
enum Actor {
    Author,
    Follower,
    Reactivator,
    Trimmer,
    Lapser,
    Demoter,
    Remover,
    Sweeper,
}

const ACTORS: [Actor; 11] = [
    Actor::Author,
    Actor::Author,
    Actor::Author,
    Actor::Follower,
    Actor::Follower,
    Actor::Reactivator,
    Actor::Trimmer,
    Actor::Lapser,
    Actor::Demoter,
    Actor::Remover,
    Actor::Sweeper,
];

fn small_settings(rule: EdgeRule) -> Settings {
    let policy = DeliveryPolicy { rule, dormant_days: 30 };
    let tiers = InboxTiers { keep: 6, step: 4, deep_keep: 14, longest_ms: 2_000 };
    Settings { policy, subtask_size: 2, batch_size: 1, tiers, ..settings() }
}

async fn act(app: &TestApp, actor: Actor, rng: &SharedRng) -> Result<()> {
    let anybody = || user(1 + i64::from(rng.u32()) % PEOPLE);
    let (reader, author, now) = (anybody(), anybody(), app.now_ms());
    match actor {
        Actor::Author => drop(app.publisher.publish(author, Draft::try_new("words", Vec::new(), None)?).await?),
        Actor::Follower if rng.u32().is_multiple_of(3) => drop(app.following.unfollow(reader, author).await?),
        Actor::Follower => drop(app.following.follow(reader, author).await?),
        Actor::Reactivator => {
            let deep = rng.u32().is_multiple_of(2).then_some(0);
            app.reactivator.visit(reader, deep).await?;
        }
        Actor::Trimmer if rng.u32().is_multiple_of(2) => drop(app.trimmer.run_once().await?),
        Actor::Trimmer => drop(app.ports.inboxes.trim(reader, 6).await?),
        Actor::Lapser => {
            app.ports.inboxes.turn_off_unseen(now + 1, u64::from(rng.u32() % 3)).await?;
            app.ports.inboxes.mark_seen(&[reader], now).await?;
            app.ports.inboxes.extend(reader, 4).await?;
        }
        Actor::Demoter => {
            let readers: Vec<_> = (1..=reader.get()).map(user).collect();
            app.ports.follows.demote(author, &readers, i64::from(rng.u32()) << 20).await?;
        }
        Actor::Remover => {
            let page = app.reader.page(reader, &PageRequest::newest(PageSize::try_new(9)?)).await?;
            if let Some(entry) = page.entries.last().filter(|_| rng.u32().is_multiple_of(4)) {
                app.publisher.remove(entry.author, entry.content).await?;
            }
        }
        Actor::Sweeper => {
            app.clock.advance(i64::from(rng.u32() % 3_000) - 1_000);
            app.sweeper.run_once().await?;
        }
    }
    Ok(())
}

/// Runs workers until `stop`. Each takes any waiting work.
async fn work(app: &TestApp, worker: usize, stop: &AtomicBool) -> Result<()> {
    let (me, wait) = (worker.to_string(), Duration::from_millis(10));
    while !stop.load(SeqCst) {
        match worker % 4 {
            0 => app.dispatcher.run_once(&me, wait).await?,
            1 => app.reconciler.run_once(&me, wait).await?,
            2 => app.reactivator.run_once(&me, wait).await?,
            _ => app.executor.run_once(&me, wait).await?,
        };
        app.executor.run_once(&me, wait).await?;
    }
    Ok(())
}

/// Audits reader after reader. Nothing may be wrong, whatever runs at the same time.
async fn audit_until(auditor: &Auditor, stop: &AtomicBool) -> Result<()> {
    for rng in 0.. {
        if let Some(audit) = auditor.sample(rng).await? {
            ensure!(audit.finding.is_none(), "an audit finds {:?}", audit.finding);
        }
        if stop.load(SeqCst) {
            break;
        }
    }
    Ok(())
}

async fn holds_while_everything_happens_at_once(backend: Backend, rule: EdgeRule) -> Result<()> {
    let app = TestApp::start_with(backend, CacheBackend::NoCache, small_settings(rule)).await?;
    followed_author(&app, PEOPLE - 1).await?;
    let acts = if harness::is_fast() { ACTS.1 } else { ACTS.0 };
    let stop = Arc::new(AtomicBool::new(false));
    let (mut actors, mut workers) = (JoinSet::new(), JoinSet::new());
    for (number, actor) in ACTORS.into_iter().enumerate() {
        let (app, rng) = (Arc::clone(&app), SharedRng::from_seed(number as u64));
        actors.spawn(async move {
            for _ in 0..acts {
                act(&app, actor, &rng).await?;
            }
            anyhow::Ok(())
        });
    }
    for worker in 0..4 {
        let (app, stop) = (Arc::clone(&app), Arc::clone(&stop));
        workers.spawn(async move { work(&app, worker, &stop).await });
    }
    let database = servers::connect_sql(app.database_url()).await?;
    let (auditor, stopped) = (audit::over(&app, false)?, Arc::clone(&stop));
    workers.spawn(async move { audit_until(&auditor, &stopped).await });
    let mut asked = 0;
    while !actors.is_empty() {
        let missing = servers::numbers(&database, BROKEN).await?;
        ensure!(missing == [0], "{missing:?} contents are missing, seen at question {asked}");
        asked += 1;
        while let Some(ended) = actors.try_join_next() {
            ended??;
        }
    }
    stop.store(true, SeqCst);
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    ensure!(asked > acts / 3, "the store was asked only {asked} times");
    for reader in 1..=PEOPLE {
        for size in [1, 9, 100] {
            let request = PageRequest::newest(PageSize::try_new(size)?);
            let mut oracle = app.ports.timelines.oracle(user(reader), &request).await?;
            oracle.truncate(request.size.get());
            let page = app.reader.page(user(reader), &request).await?;
            ensure!(page.entries == oracle, "reader {reader} sees {:?} and not {oracle:?}", page.entries);
        }
    }
    app.sweep().await?;
    ensure!(servers::numbers(&database, "SELECT COUNT(*) FROM deliveries").await? == [0], "deliveries are left");
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn the_invariant_holds_while_everything_happens_at_once(backend: Backend) -> Result<()> {
        holds_while_everything_happens_at_once(backend, EdgeRule::Threshold { push_threshold: 4, active_days: 1 }).await
    }

    async fn the_invariant_holds_whatever_the_delivery_policy_says(backend: Backend) -> Result<()> {
        holds_while_everything_happens_at_once(backend, EdgeRule::Random { seed: harness::seed()? }).await
    }
}
