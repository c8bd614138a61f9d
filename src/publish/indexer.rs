//! Adds contents to the search index that are older than the index, or were indexed in an older form.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::store::{SearchTerms, StoreError};

/// Steps between two log lines.
const LOG_INTERVAL: u64 = 100;

/// Walks through all contents once.
pub struct Indexer {
    terms: Arc<dyn SearchTerms>,
    steps: AtomicU64,
}

impl Indexer {
    /// An indexer of the contents that `terms` has yet to index.
    pub fn new(terms: Arc<dyn SearchTerms>) -> Self {
        Self { terms, steps: AtomicU64::new(0) }
    }

    /// Indexes one batch and returns whether all is done. Continues where any node's last step ended.
    pub async fn run_once(&self) -> Result<bool, StoreError> {
        let step = self.terms.index_next().await?;
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
        Ok(step.is_done)
    }
}
