//! The world comes to rest: nothing goes wrong any more, workers do what is left, and then everything must be exact, to the last row.

use std::sync::Arc;

use tidefeed::{
    app::House,
    domain::{Direction, EdgeMode, PageRequest, PageSize},
};

use crate::{
    client::Client,
    oracle,
    truth::tables::Tables,
    workload::Worker,
    world::{Shared, World},
};

/// Rounds of all workers until nothing may be left.
const ROUNDS: u32 = 40;
/// Time that passes after the first round, in ms; after each later one half as much again.
const FIRST_PAUSE: i64 = 1_000;
/// Steps of one worker in one round.
const STEPS: usize = 10_000;

impl World {
    /// Waits for what is under way, does what is left, and looks at everything.
    pub fn come_to_rest(&mut self) {
        let shared = Arc::clone(&self.shared);
        self.in_peace(async {});
        let mut pause = FIRST_PAUSE;
        for _ in 0..ROUNDS {
            self.work_off();
            if is_idle(&shared) {
                break;
            }
            shared.fate.pass(pause);
            pause += pause / 2;
        }
        look_at_what_is_left(&shared);
        // Readers' visits bring inboxes back; each look is at another state of them.
        for round in 0..2 {
            self.read_everything(round);
            self.work_off();
            look_at_all_rows(&shared);
        }
    }

    /// Every worker of every node works until there is nothing to do.
    fn work_off(&mut self) {
        let houses: Vec<Arc<House>> = self.nodes.iter().map(|node| Arc::clone(&node.house)).collect();
        let shared = Arc::clone(&self.shared);
        self.in_peace(async move {
            for house in &houses {
                for worker in [Worker::Sweeper, Worker::Dispatcher, Worker::Executor, Worker::Reconciler, Worker::Waker] {
                    until_idle(&shared, house, worker).await;
                }
                let _ = Worker::Trimmer.step(house).await;
            }
        });
    }

    fn read_everything(&mut self, round: usize) {
        let house = Arc::clone(&self.nodes[round % self.nodes.len()].house);
        let shared = Arc::clone(&self.shared);
        self.in_peace(async move {
            for reader in shared.people.clone() {
                for direction in [Direction::Older, Direction::Newer] {
                    let size = PageSize::try_new(shared.plan.page.max(2)).expect("pages are small");
                    let client = Client { shared: shared.clone(), house: house.clone() };
                    client.walk(reader, PageRequest { direction, ..PageRequest::newest(size) }).await;
                    let client = Client { shared: shared.clone(), house: house.clone() };
                    let size = PageSize::try_new(100).expect("100 is a size");
                    let all = PageRequest { direction, ..PageRequest::newest(size) };
                    let page = client.page(reader, all).await;
                    let timeline = shared.truth.base().checks.oracle.timeline(reader);
                    if page != Some(oracle::due(&timeline, &all)) {
                        shared.truth.base().checks.fail("a quiet timeline is not the oracle's", || format!("{reader}: {page:?}"));
                    }
                }
            }
        });
    }
}

async fn until_idle(shared: &Shared, house: &House, worker: Worker) {
    for _ in 0..STEPS {
        match worker.step(house).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return shared.excuse("a worker failed", &error),
        }
    }
    shared.truth.base().checks.fail("a worker never ends", || format!("{worker:?}"));
}

fn is_idle(shared: &Shared) -> bool {
    let idle = |tables: &Tables| {
        let filling = tables.follows.values().any(|edge| edge.mode == EdgeMode::Fill);
        tables.deliveries.is_empty() && tables.subtasks.is_empty() && tables.relations.is_empty() && !filling
    };
    let idle = idle(&shared.truth.base().tables);
    idle && shared.queue.is_empty()
}

fn look_at_what_is_left(shared: &Shared) {
    let mut base = shared.truth.base();
    let left = (base.tables.deliveries.len(), base.tables.subtasks.len(), base.tables.relations.len());
    let filling = base.tables.follows.values().filter(|edge| edge.mode == EdgeMode::Fill).count();
    base.checks.fail_if(left.0 > 0, "a delivery never finishes", || format!("{left:?} records left"));
    base.checks.fail_if(left.1 > 0, "a subtask is left behind", || format!("{left:?} records left"));
    base.checks.fail_if(left.2 > 0, "a pair is never dealt with", || format!("{left:?} records left"));
    base.checks.fail_if(filling > 0, "an edge is filled for ever", || format!("{filling} edges"));
}

/// The invariant, row by row.
fn look_at_all_rows(shared: &Shared) {
    let mut base = shared.truth.base();
    if base.checks.rows {
        let base = &mut *base;
        for reader in &shared.people {
            base.checks.look_at_inbox(&base.tables, *reader);
        }
    }
}
