//! Adds the changes of spread counts to their rows, so that reads find few of them.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use crate::{
    clock::SharedClock,
    domain::limits::MAX_GATHERED,
    store::{SpreadCounts, StoreError},
    telemetry::metrics::OLDEST_COUNT_CHANGE_SECONDS,
};

/// Gathers counts.
pub struct CountGatherer {
    counts: Arc<dyn SpreadCounts>,
    clock: SharedClock,
    /// When the last step began that has left nothing behind, in ms.
    all_gathered_at: AtomicI64,
}

impl CountGatherer {
    /// Over the port that keeps them.
    pub fn new(counts: Arc<dyn SpreadCounts>, clock: SharedClock) -> Self {
        let all_gathered_at = AtomicI64::new(clock.now_ms());
        Self { counts, clock, all_gathered_at }
    }

    /// One step. Returns whether more than it may add was waiting.
    pub async fn run_once(&self) -> Result<bool, StoreError> {
        let began = self.clock.now_ms();
        let lag_ms = began.saturating_sub(self.all_gathered_at.load(Ordering::Relaxed)).max(0);
        metrics::gauge!(OLDEST_COUNT_CHANGE_SECONDS).set(std::time::Duration::from_millis(lag_ms.unsigned_abs()));
        let more = self.counts.gather(MAX_GATHERED).await? >= MAX_GATHERED;
        if !more {
            self.all_gathered_at.store(began, Ordering::Relaxed);
        }
        Ok(more)
    }
}
