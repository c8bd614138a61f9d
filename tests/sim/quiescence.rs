//! Brings a world to quiescence: faults stop, workers finish all remaining work, and then every row must be exact.

use std::sync::Arc;

use tidefeed::{
    app::UseCases,
    domain::{Direction, EdgeMode, PageRequest, PageSize, UserId},
};

use tokio::runtime::Runtime;

use crate::{
    client::Client,
    due::due,
    notifications::LATEST,
    plan::CHECK_EVERY,
    primary_store::tables::Tables,
    workload::Worker,
    world::{Shared, World},
};

/// Rounds of all workers until nothing may be left.
const ROUNDS: u32 = 40;
/// Time that passes after the first round, in ms; after each later one half as much again.
const FIRST_PAUSE: i64 = 1_000;
/// Changes that are made one by one in the end: none mends for devices what another has spoiled.
const CHANGES: usize = 12;
/// Steps of one worker in one round.
const STEPS: usize = 10_000;

impl World {
    /// Waits for what is under way, does what is left, and looks at everything.
    pub fn come_to_rest(&mut self, time: &Runtime) {
        let shared = Arc::clone(&self.shared);
        self.in_peace(async {});
        let mut pause = FIRST_PAUSE;
        for _ in 0..ROUNDS {
            self.work_off();
            if is_idle(&shared) || self.has_failed() {
                break;
            }
            shared.injector.pass(pause);
            pause += pause / 2;
        }
        look_at_what_is_left(&shared);
        // Readers' visits bring inboxes back; each look is at another state of them.
        self.read_everything(0, Direction::Older);
        self.work_off();
        self.read_everything(1, Direction::Newer);
        look_at_all_rows(&shared);
        self.let_announcements_come();
        if shared.plan.watchers.check {
            self.let_checks_come(time);
        }
        self.look_at_devices();
        let changes = if self.devices.is_empty() { 0 } else { CHANGES };
        for _ in 0..changes {
            self.change_something();
            self.let_announcements_come();
            self.look_at_devices();
        }
    }

    /// The last of them, and what devices do about them.
    fn let_announcements_come(&mut self) {
        self.shared.injector.pass(LATEST);
        self.shared.announcements.come();
        self.in_peace(async {});
    }

    /// Every subscription looks at its timeline, as it does now and then.
    pub fn let_checks_come(&mut self, time: &Runtime) {
        time.block_on(tokio::time::advance(2 * CHECK_EVERY));
        self.in_peace(async {});
    }

    /// Every worker of every node works until there is nothing to do.
    fn work_off(&mut self) {
        let tiers: Vec<_> = self.nodes.iter().map(|node| Arc::clone(&node.tier)).collect();
        let apps: Vec<Arc<UseCases>> = self.nodes.iter().map(|node| Arc::clone(&node.app)).collect();
        let shared = Arc::clone(&self.shared);
        self.in_peace(async move {
            for tier in tiers {
                if let Err(error) = tier.run_once().await {
                    shared.excuse("the keeper failed", &error);
                }
            }
            for app in &apps {
                let remover = (!shared.leavers.is_empty()).then_some(Worker::Remover);
                let workers =
                    [Worker::Sweeper, Worker::Dispatcher, Worker::Executor, Worker::Reconciler, Worker::Reactivator];
                for worker in remover.into_iter().chain(workers) {
                    until_idle(&shared, app, worker).await;
                }
                let _ = Worker::Trimmer.step(app).await;
            }
        });
    }

    fn read_everything(&mut self, node: usize, direction: Direction) {
        let app = Arc::clone(&self.nodes[node % self.nodes.len()].app);
        let shared = Arc::clone(&self.shared);
        self.in_peace(async move {
            let client = || Client { shared: shared.clone(), app: app.clone() };
            let size = |size| PageSize::try_new(size).expect("pages are small");
            for reader in shared.people.clone() {
                let small = PageRequest { direction, ..PageRequest::newest(size(shared.plan.page + 2)) };
                client().walk(reader, small).await;
                let whole = PageRequest { direction, ..PageRequest::newest(size(100)) };
                let page = client().page(reader, whole).await;
                let mut base = shared.primary_store.base();
                let due = due(&base.checks.oracle.timeline(reader), &whole);
                let wrong = page.as_ref() != Some(&due);
                base.checks.fail_if(wrong, "a quiet timeline is not the oracle's", || format!("{reader}: {page:?}"));
            }
        });
    }
}

async fn until_idle(shared: &Shared, app: &UseCases, worker: Worker) {
    for _ in 0..STEPS {
        match worker.step(app).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return shared.excuse("a worker failed", &error),
        }
    }
    shared.primary_store.base().checks.fail("a worker never ends", || format!("{worker:?}"));
}

fn is_idle(shared: &Shared) -> bool {
    let idle = |tables: &Tables| {
        let filling = tables.follows.values().any(|edge| edge.mode == EdgeMode::Fill);
        let settled = tables.deletions.values().all(|deletion| deletion.look_at.is_none());
        tables.deliveries.is_empty() && tables.subtasks.is_empty() && tables.relations.is_empty() && !filling && settled
    };
    let idle = idle(&shared.primary_store.base().tables);
    idle && shared.queue.is_empty()
}

fn look_at_what_is_left(shared: &Shared) {
    let mut base = shared.primary_store.base();
    let left = (base.tables.deliveries.len(), base.tables.subtasks.len(), base.tables.relations.len());
    let filling = base.tables.follows.values().filter(|edge| edge.mode == EdgeMode::Fill).count();
    base.checks.fail_if(left.0 > 0, "a delivery never finishes", || format!("{left:?} records left"));
    base.checks.fail_if(left.1 > 0, "a subtask is left behind", || format!("{left:?} records left"));
    base.checks.fail_if(left.2 > 0, "a pair is never dealt with", || format!("{left:?} records left"));
    let is_orphan = |(_, author): &&(UserId, UserId)| base.tables.deletions.contains_key(author);
    let orphan = base.tables.follows.keys().find(is_orphan).copied();
    base.checks.fail_if(orphan.is_some(), "a deleted account is followed", || format!("{orphan:?}"));
    base.checks.fail_if(filling > 0, "an edge is filled for ever", || format!("{filling} edges"));
}

/// The invariant, row by row.
fn look_at_all_rows(shared: &Shared) {
    let mut base = shared.primary_store.base();
    if base.checks.rows {
        let base = &mut *base;
        for reader in &shared.people {
            base.checks.look_at_inbox(&base.tables, *reader);
        }
    }
}
