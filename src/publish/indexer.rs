//! Indexes for search what no publish has indexed: long contents, and contents and names that are older than the index
//! or were indexed by other rules. Also deletes the terms of long contents that were removed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    store::{Ports, StoreError},
    telemetry::metrics::UNINDEXED,
};

/// Steps between two log lines.
const LOG_INTERVAL: u64 = 100;

/// Works on what waits, and walks through all contents and names once.
pub struct Indexer {
    ports: Ports,
    steps: AtomicU64,
}

impl Indexer {
    /// An indexer of the contents and names that the stores have yet to index.
    pub fn new(ports: &Ports) -> Self {
        Self { ports: ports.clone(), steps: AtomicU64::new(0) }
    }

    /// Indexes one batch and returns whether all is done. Continues where any node's last step ended.
    pub async fn run_once(&self) -> Result<bool, StoreError> {
        let step = self.ports.contents.index_next().await?;
        metrics::gauge!(UNINDEXED).set(f64::from(u32::try_from(step.waiting).unwrap_or(u32::MAX)));
        if step.contents > 0 {
            let number = self.steps.fetch_add(1, Ordering::Relaxed);
            if step.is_done || number.is_multiple_of(LOG_INTERVAL) {
                tracing::info!(
                    through_content = step.through,
                    is_done = step.is_done,
                    "Older contents are being indexed for search."
                );
            }
        }
        Ok(step.is_done && self.ports.accounts.index_next().await?)
    }
}
