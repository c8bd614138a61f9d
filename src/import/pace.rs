//! How fast a file is loaded beside readers.
//!
//! A small read of the store is timed again and again, beside batches and between them. While it takes more than twice
//! as long beside batches, there is a rest after each batch, and a longer one after the next.

use std::{collections::VecDeque, time::Duration};

use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::store::StoreError;

/// Time between two probes.
const PROBE_EVERY: Duration = Duration::from_millis(5);
/// Probes that are remembered of each sort, and the fewest that say something.
const PROBES: usize = 100;
const FEWEST: usize = 20;
/// Batches after which there are [`FEWEST`] probes without one, if there was no rest.
const BATCHES: u64 = 200;
/// What nine of ten probes may take beside a batch, as a multiple of what they take without one.
const TOLERATED: f64 = 2.0;
/// A probe that waits no longer than this, in microseconds, delays no page that anybody would notice.
const UNNOTICED_US: f64 = 1_000.0;
/// The shortest rest and the longest, as multiples of the time of a batch: a fifth of the speed is kept.
const RESTS: (f64, f64) = (0.1, 4.0);
/// The factor by which a rest is longer or shorter than the one before.
const STEP: f64 = 1.25;

/// Decides how long a loader rests after each batch.
#[derive(Debug, Default)]
pub(super) struct Pace {
    beside: Probes,
    between: Probes,
    batches: u64,
    rest: f64,
}

/// The latest times of a probe.
#[derive(Debug, Default)]
struct Probes(VecDeque<Duration>);

impl Probes {
    fn note(&mut self, took: Duration) {
        self.0.push_back(took);
        if self.0.len() > PROBES {
            self.0.pop_front();
        }
    }

    /// What nine of ten take at most, in microseconds; `None`: they are too few.
    fn most_us(&self) -> Option<f64> {
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 9 / 10).filter(|_| sorted.len() >= FEWEST).map(|it| it.as_secs_f64() * 1e6)
    }
}

impl Pace {
    /// Commits a batch, and rests after it. `probe` is the small read.
    pub(super) async fn keep<T, L: Future<Output = Result<(), StoreError>> + Send + 'static>(
        &mut self,
        batch: impl Future<Output = T>,
        probe: impl Fn() -> L + Clone + Send + Sync + 'static,
    ) -> T {
        if self.batches.is_multiple_of(BATCHES) && self.rest == 0.0 {
            for _ in 0..FEWEST {
                self.between.note(timed(&probe).await);
            }
        }
        self.batches += 1;
        let begun = Instant::now();
        let (sender, mut times) = mpsc::channel(PROBES);
        let probe_beside = probe.clone();
        // In a task of its own: while the batch computes, a probe in this one would wait for it, not for the store. It
        // ends with the set.
        let mut probing = JoinSet::new();
        probing.spawn(async move { while sender.send(timed(&probe_beside).await).await.is_ok() {} });
        let done = batch.await;
        drop(probing);
        while let Ok(took) = times.try_recv() {
            self.beside.note(took);
        }
        let rested = Instant::now() + begun.elapsed().mul_f64(self.next_rest());
        while Instant::now() < rested {
            self.between.note(timed(&probe).await);
        }
        done
    }

    /// The next rest, as a multiple of the batch's time.
    fn next_rest(&mut self) -> f64 {
        let (Some(beside), Some(between)) = (self.beside.most_us(), self.between.most_us()) else { return 0.0 };
        let is_slow = beside > TOLERATED * between && beside > between + UNNOTICED_US;
        let (shortest, longest) = RESTS;
        self.rest = if is_slow { (self.rest * STEP).clamp(shortest, longest) } else { self.rest / STEP };
        if self.rest < shortest {
            self.rest = 0.0;
        }
        self.rest
    }
}

/// Waits, and probes. A probe that fails has taken its time, too.
async fn timed<L: Future<Output = Result<(), StoreError>>>(probe: &impl Fn() -> L) -> Duration {
    sleep(PROBE_EVERY).await;
    let begun = Instant::now();
    let _ = probe().await;
    begun.elapsed()
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::*;

    const BATCH: Duration = Duration::from_millis(200);

    /// The time that each batch takes with its rest. A probe takes `busy_ms` beside batches and 2 ms between them.
    async fn times(pace: &mut Pace, batches: usize, busy_ms: u64) -> Vec<Duration> {
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&is_busy);
        let probe = move || {
            let ms = if busy.load(Ordering::Relaxed) { busy_ms } else { 2 };
            async move {
                sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
        };
        let mut times = Vec::new();
        for _ in 0..batches {
            let begun = Instant::now();
            let batch = async {
                is_busy.store(true, Ordering::Relaxed);
                sleep(BATCH).await;
                is_busy.store(false, Ordering::Relaxed);
            };
            pace.keep(batch, probe.clone()).await;
            times.push(begun.elapsed());
        }
        times
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_rests_whose_batches_slow_no_read() {
        let mut pace = Pace::default();
        let first = times(&mut pace, 1, 2).await;
        assert!(first[0] > BATCH, "the probes before the first batch");
        for (number, time) in times(&mut pace, 199, 4).await.into_iter().enumerate() {
            assert!(time < BATCH + Duration::from_millis(1), "batch {number}: {time:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rests_grow_while_reads_are_slow_and_shrink_afterwards() {
        let mut pace = Pace::default();
        let slow = times(&mut pace, 60, 20).await;
        let last = slow[59];
        assert!(slow[10] < slow[20] && last > 4 * BATCH && last < 6 * BATCH, "{slow:?}");
        let fast = times(&mut pace, 60, 2).await;
        assert!(fast[59] < BATCH + Duration::from_millis(1), "{fast:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_answers_nothing_is_no_reason_to_rest_for_ever() {
        let mut pace = Pace::default();
        let never = || async { Err(StoreError::Unreadable(String::new())) };
        let begun = Instant::now();
        for _ in 0..50 {
            pace.keep(sleep(BATCH), never).await;
        }
        assert!(begun.elapsed() < 51 * BATCH, "{:?}", begun.elapsed());
    }
}
