//! Schedules tasks on one thread and draws at random which one runs next. Each task has a random rank that changes now
//! and then. Where ranks count, one task may wait long between two statements while others do all their work. A
//! dropped task stands for a caller that went away or a node that died.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use crate::fault_injector::FaultInjector;

/// Steps that a stalled task stands still at most.
const LONGEST_STALL: u64 = 400;
/// Steps that a transaction stands still before its commit at most: others can do all of a publish and its delivery
/// meanwhile.
const LONGEST_HOLD: u64 = 3_000;
/// Ranks that there are.
const RANKS: u64 = 1_000;

/// Where a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Dies with this node.
    Node(usize),
    /// On no node: the network, the server.
    Outside,
}

/// Whether a task has been woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    number: u64,
    place: Place,
    /// Whether it never ends, but waits for something to do.
    resident: bool,
    work: Work,
    woken: Arc<Woken>,
    waker: Waker,
    still_until: u64,
    rank: u64,
}

/// All tasks.
pub struct Scheduler {
    injector: FaultInjector,
    tasks: Vec<Task>,
    step: u64,
    next: u64,
}

impl Scheduler {
    pub const fn new(injector: FaultInjector) -> Self {
        Self { injector, tasks: Vec::new(), step: 0, next: 1 }
    }

    /// Starts an operation.
    pub fn start(&mut self, place: Place, work: impl Future<Output = ()> + Send + 'static) {
        self.add(place, Box::pin(work), false);
    }

    /// Starts what goes on for as long as its place: no caller of its goes away.
    pub fn settle(&mut self, place: Place, work: impl Future<Output = ()> + Send + 'static) {
        self.add(place, Box::pin(work), true);
    }

    fn add(&mut self, place: Place, work: Work, resident: bool) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        let number = self.next;
        let rank = self.injector.below(RANKS);
        self.next += 1;
        self.tasks.push(Task { number, place, resident, work, woken, waker, still_until: 0, rank });
    }

    /// Operations that have not ended.
    pub fn active(&self) -> usize {
        self.tasks.iter().filter(|task| !task.resident).count()
    }

    /// Whether only resident tasks are left and none of them is woken.
    pub fn is_quiet(&self) -> bool {
        self.tasks.iter().all(|task| task.resident && !task.woken.0.load(Relaxed))
    }

    /// Lets one task go on; `false` if none can.
    pub fn step(&mut self) -> bool {
        self.step += 1;
        let step = self.step;
        let ready = |task: &Task| task.woken.0.load(Relaxed) && task.still_until <= step;
        let Some(index) = self.choose(ready) else { return self.wait_for_the_stalled() };
        self.poll(index);
        true
    }

    fn choose(&self, ready: impl Fn(&Task) -> bool) -> Option<usize> {
        let able = || self.tasks.iter().enumerate().filter(|(_, task)| ready(task));
        if self.injector.chance(self.injector.rates().by_rank) {
            return able().max_by_key(|(_, task)| (task.rank, task.number)).map(|(index, _)| index);
        }
        let count = able().count();
        if count == 0 { None } else { able().nth(self.injector.index(count)).map(|(index, _)| index) }
    }

    /// Only stalled tasks can go on: advances time to the first of them.
    fn wait_for_the_stalled(&mut self) -> bool {
        let stalled = self.tasks.iter().filter(|task| task.woken.0.load(Relaxed)).map(|task| task.still_until).min();
        self.step = stalled.unwrap_or(self.step).max(self.step);
        stalled.is_some()
    }

    fn poll(&mut self, index: usize) {
        let task = &mut self.tasks[index];
        task.woken.0.store(false, Relaxed);
        self.injector.set_task(task.number);
        match task.work.as_mut().poll(&mut Context::from_waker(&task.waker)) {
            Poll::Ready(()) => drop(self.tasks.swap_remove(index)),
            Poll::Pending if self.injector.take_held() => {
                task.still_until = self.step + self.injector.below(LONGEST_HOLD);
            }
            Poll::Pending if self.injector.strikes(self.injector.rates().stall) => {
                task.still_until = self.step + self.injector.below(LONGEST_STALL);
            }
            Poll::Pending if self.injector.chance(self.injector.rates().new_rank) => {
                task.rank = self.injector.below(RANKS);
            }
            Poll::Pending => {}
        }
        self.injector.set_task(0);
    }

    /// Drops one operation at random: its caller went away.
    pub fn cancel_one(&mut self) {
        let drawn = self.injector.index(self.active());
        let mut operations = (0..self.tasks.len()).filter(|index| !self.tasks[*index].resident);
        if let Some(index) = operations.nth(drawn) {
            self.injector.note(|| format!("the caller of #{} goes away", self.tasks[index].number));
            drop(self.tasks.swap_remove(index));
        }
    }

    /// Drops everything that runs on the node.
    pub fn crash(&mut self, node: usize) {
        self.tasks.retain(|task| task.place != Place::Node(node));
    }

    /// Nobody stands still any more.
    pub fn resume_all(&mut self) {
        for task in &mut self.tasks {
            task.still_until = 0;
        }
    }
}
