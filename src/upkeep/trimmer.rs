//! The trimmer: walks over all inboxes again and again, and trims those that have grown too long.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::{
    clock::SharedClock,
    domain::timeline::tier::InboxTiers,
    store::{Inboxes, StoreError},
    telemetry::metrics::ROWS_TRIMMED,
};

/// Inboxes looked at in one step of the walk.
const LOOK_AT: u64 = 200;

/// Trims inboxes.
pub struct Trimmer {
    inboxes: Arc<dyn Inboxes>,
    tiers: InboxTiers,
    clock: SharedClock,
    after: Mutex<i64>,
}

impl Trimmer {
    /// Tolerates a tenth more than is kept, so that not every delivery causes a trim. Deep inboxes stay until they
    /// expire.
    pub fn new(inboxes: Arc<dyn Inboxes>, tiers: InboxTiers, clock: SharedClock) -> Self {
        Self { inboxes, tiers, clock, after: Mutex::new(0) }
    }

    /// Runs one step of the walk. Returns how many inboxes were trimmed, and whether the walk has completed a round.
    /// If an inbox cannot be trimmed, the walk goes past it, comes by again, and fails with the first such error.
    pub async fn run_once(&self) -> Result<(usize, bool), StoreError> {
        let mut after = self.after.lock().await;
        let keep = self.tiers.keep;
        let (tolerated, deep) = (keep.saturating_add(keep / 10), self.tiers.life_ends(self.clock.now_ms()));
        let (overfull, last) = self.inboxes.overfull(*after, tolerated, LOOK_AT, deep).await?;
        let mut failure = None;
        for reader in &overfull {
            match self.inboxes.trim(*reader, keep).await {
                Ok(trimmed) => metrics::counter!(ROWS_TRIMMED).increment(trimmed.rows),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        *after = last.unwrap_or(0);
        failure.map_or(Ok((overfull.len(), last.is_none())), Err)
    }
}
