//! Runs many worlds, two at a time, each on its own thread, and sums up their results.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crate::{
    runner::{self, Outcome, Sums},
    world::Way,
};

/// Worlds at a time.
const THREADS: usize = 2;
/// Worlds between two lines of progress.
const PROGRESS_EVERY: u64 = 2_000;

/// How many worlds, and which.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// The first seed; the others follow it.
    pub seed: u64,
    /// Client operations of each world's story.
    pub story: usize,
    /// Client operations of all worlds together, at least.
    pub operations: u64,
    /// Which of them are run.
    pub is_run: fn(u64) -> bool,
    /// Whether progress is printed.
    pub reports_progress: bool,
}

struct Tally {
    sums: Sums,
    failed: Vec<Outcome>,
}

impl Campaign {
    /// Runs worlds until there were enough operations; all that failed, at most a few.
    pub fn run(self) -> (Sums, Vec<Outcome>) {
        let tally = Mutex::new(Tally { sums: Sums::default(), failed: Vec::new() });
        let (next, enough) = (AtomicU64::new(self.seed), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while !enough.load(Relaxed) {
                        let seed = next.fetch_add(1, Relaxed);
                        if !(self.is_run)(seed) {
                            continue;
                        }
                        let outcome = runner::run(seed, self.story, Way::default());
                        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                        let done = self.add(&mut tally, outcome);
                        enough.store(done, Relaxed);
                    }
                });
            }
        });
        let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tally.sums, tally.failed)
    }

    fn add(&self, tally: &mut Tally, outcome: Outcome) -> bool {
        tally.sums.add(&outcome.sums);
        if self.reports_progress && tally.sums.seeds.is_multiple_of(PROGRESS_EVERY) {
            println!("{}", tally.sums);
        }
        if outcome.failure.is_some() {
            println!("{}", runner::report(&outcome, self.story));
            tally.failed.push(outcome);
        }
        tally.sums.operations() >= self.operations || tally.failed.len() > 5
    }
}

/// Does this work for each, [`THREADS`] at a time. The results are in the order of `all`.
pub fn two_at_a_time<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work_through = || {
        let indices = std::iter::repeat_with(|| next.fetch_add(1, Relaxed)).take_while(|index| *index < all.len());
        indices.map(|index| (index, work(&all[index]))).collect::<Vec<_>>()
    };
    let mut results = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work_through)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
