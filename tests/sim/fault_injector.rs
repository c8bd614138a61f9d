//! Injects faults at every await: a seeded rng that all models share, the fault rates and the clock of the seed, and
//! the points where the scheduler switches tasks.

use std::{
    fmt::Write as _,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use tidefeed::{clock::Clock, store::StoreError};

use crate::rng::SimRng;

/// When every story begins, in ms.
pub const BEGINNING: i64 = 1_700_000_000_000;
/// Lines of a trace that are kept.
const TRACE_LINES: usize = 20_000;

/// How often what goes wrong, in a million tries. Drawn for each seed: some are calm, some wild.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// Another task goes on at a switch point.
    pub switch: u32,
    /// The task of the highest rank goes on, of each step; otherwise any.
    pub by_rank: u32,
    /// A task gets another rank after a switch point.
    pub new_rank: u32,
    /// A task stands still for long after a switch point.
    pub stall: u32,
    /// A transaction stands still for long before its commit, of each commit.
    pub held: u32,
    /// A node dies, of each step.
    pub crash: u32,
    /// A task is dropped, of each step: a caller went away.
    pub cancel: u32,
    /// A statement fails: the connection broke, the transaction is undone.
    pub statement_lost: u32,
    /// The store undoes a transaction by itself, of each of its statements and its commit.
    pub rolled_back: u32,
    /// A commit succeeds, but its caller gets `Unavailable`.
    pub answer_lost: u32,
    /// The store fails over and loses its last commits, of each step.
    pub commits_lost: u32,
    /// A statement fails with contention.
    pub contended: u32,
    /// Messages: lost, sent twice, late.
    pub message: [u32; 3],
    /// The queue is emptied, or comes back as it once was, of each step.
    pub queue_wiped: u32,
    /// The queue cannot be reached.
    pub queue_away: u32,
    /// Cache writes: lost, made twice, late.
    pub cache_write: [u32; 3],
    /// The cache cannot be reached.
    pub cache_away: u32,
    /// The cache is emptied, or comes back as it once was, of each step.
    pub cache_wiped: u32,
    /// Announcements: lost (listeners get a gap), duplicated, late.
    pub announcement: [u32; 3],
    /// Interests in announcements: late, of each group; and a node's subscription breaks, of each step.
    pub interest: [u32; 2],
    /// Groups of users whose announcements a node hears together. 0: nodes hear everything.
    pub groups: u32,
    /// Something happens to the store of inboxes, of each step.
    pub inboxes_happen: u32,
    /// The store of inboxes does not answer, of each script and each answer.
    pub inboxes_away: u32,
    /// A replica stands still for long before it receives or applies the next commit.
    pub replication_held: u32,
    /// A replica is built anew from the primary, of each step.
    pub replica_built: u32,
    /// A node's clock jumps, of each step.
    pub clock_jumps: u32,
    /// Time leaps ahead, of each step.
    pub leap: u32,
}

/// Shared by everything in one simulation.
#[derive(Clone)]
pub struct FaultInjector(Arc<Inner>);

struct Inner {
    rng: Mutex<SimRng>,
    rates: Rates,
    now: AtomicI64,
    calm: AtomicBool,
    faults: AtomicU64,
    task: AtomicU64,
    held: AtomicBool,
    trace: Option<Mutex<Vec<String>>>,
}

/// A node's clock: the world's time and the node's error.
pub struct SkewedClock {
    injector: FaultInjector,
    skew: AtomicI64,
}

impl SkewedClock {
    pub fn new(injector: &FaultInjector, skew: i64) -> Self {
        Self { injector: injector.clone(), skew: AtomicI64::new(skew) }
    }

    pub fn set_skew(&self, skew: i64) {
        self.skew.store(skew, Relaxed);
    }
}

impl Clock for SkewedClock {
    fn now_ms(&self) -> i64 {
        self.injector.now() + self.skew.load(Relaxed)
    }
}

impl FaultInjector {
    pub fn new(seed: u64, rates: Rates, traced: bool) -> Self {
        Self(Arc::new(Inner {
            rng: Mutex::new(SimRng::of(seed)),
            rates,
            now: AtomicI64::new(BEGINNING),
            calm: AtomicBool::new(false),
            faults: AtomicU64::new(0),
            task: AtomicU64::new(0),
            held: AtomicBool::new(false),
            trace: traced.then(Mutex::default),
        }))
    }

    /// To be let go at once: a world has one thread, and nobody to wait for.
    pub fn rng(&self) -> MutexGuard<'_, SimRng> {
        self.0.rng.try_lock().expect("the rng are on the table")
    }

    /// See [`SimRng::next`].
    pub fn next(&self) -> u64 {
        self.rng().next()
    }

    /// See [`SimRng::below`].
    pub fn below(&self, end: u64) -> u64 {
        self.rng().below(end)
    }

    /// See [`SimRng::within`].
    pub fn within(&self, from: i64, to: i64) -> i64 {
        self.rng().within(from, to)
    }

    /// See [`SimRng::chance`].
    pub fn chance(&self, in_a_million: u32) -> bool {
        self.rng().chance(in_a_million)
    }

    /// See [`SimRng::index`].
    pub fn index(&self, length: usize) -> usize {
        self.rng().index(length)
    }

    /// See [`SimRng::pick`].
    pub fn pick<T: Copy>(&self, of: &[T]) -> T {
        self.rng().pick(of)
    }

    pub fn rates(&self) -> &Rates {
        &self.0.rates
    }

    /// The world's time in ms.
    pub fn now(&self) -> i64 {
        self.0.now.load(Relaxed)
    }

    pub fn pass(&self, ms: i64) {
        self.0.now.fetch_add(ms, Relaxed);
    }

    /// Ends all faults if `calm`; otherwise allows them again.
    pub fn calm(&self, calm: bool) {
        self.0.calm.store(calm, Relaxed);
    }

    /// Whether a fault of this rate happens now. Counts it if so.
    pub fn injects(&self, in_a_million: u32) -> bool {
        let injected = in_a_million > 0 && !self.0.calm.load(Relaxed) && self.chance(in_a_million);
        if injected {
            self.0.faults.fetch_add(1, Relaxed);
        }
        injected
    }

    /// Faults so far.
    pub fn faults(&self) -> u64 {
        self.0.faults.load(Relaxed)
    }

    /// Whose turn it is; for the trace, and for wrappers that remember from one call to the next.
    pub fn task(&self) -> u64 {
        self.0.task.load(Relaxed)
    }

    pub fn set_task(&self, task: u64) {
        self.0.task.store(task, Relaxed);
    }

    /// Called before a commit: may make the transaction wait while it holds its locks.
    pub async fn before_commit(&self) {
        if self.injects(self.0.rates.held) {
            self.0.held.store(true, Relaxed);
            self.pause().await;
        }
    }

    /// Another task goes on here, and this one may stand still for long.
    pub async fn hold(&self, in_a_million: u32) {
        if self.injects(in_a_million) {
            self.0.held.store(true, Relaxed);
        }
        self.pause().await;
    }

    /// Whether the task that has just paused is to stand still.
    pub fn take_held(&self) -> bool {
        self.0.held.swap(false, Relaxed)
    }

    /// Another task may go on here; this one may also never go on.
    pub fn switch(&self) -> Switch {
        Switch { injector: Some(self.clone()), always: false }
    }

    /// Another task goes on here, if there is one.
    pub fn pause(&self) -> Switch {
        Switch { injector: Some(self.clone()), always: true }
    }

    /// A statement is on its way: a switch point, and what may happen to it.
    pub async fn statement(&self) -> Result<(), StoreError> {
        self.switch().await;
        if self.injects(self.0.rates.statement_lost) {
            self.note(|| "    the connection breaks".to_owned());
            return Err(StoreError::Unavailable("the simulated connection broke".into()));
        }
        if self.injects(self.0.rates.contended) {
            return Err(StoreError::Contended("simulated contention".into()));
        }
        Ok(())
    }

    /// Adds a line to the trace, if there is one.
    pub fn note(&self, line: impl FnOnce() -> String) {
        let Some(trace) = &self.0.trace else { return };
        let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
        if trace.len() < TRACE_LINES {
            trace.push(format!("{:>6} #{:<4} {}", self.now() - BEGINNING, self.task(), line()));
        }
    }

    /// What happened, if it was written down.
    pub fn trace(&self) -> String {
        let Some(trace) = &self.0.trace else { return String::new() };
        let lines = trace.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }
}

/// See [`FaultInjector::switch`].
pub struct Switch {
    injector: Option<FaultInjector>,
    /// Whether chance is not asked.
    always: bool,
}

impl Future for Switch {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.injector.take() {
            Some(injector) if self.always || injector.chance(injector.0.rates.switch) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }
}
