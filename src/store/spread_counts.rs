//! Counts of celebrities and of contents that very many react to.

use async_trait::async_trait;

use super::StoreError;

/// Counts whose changes lie beside them until they are added.
#[async_trait]
pub trait SpreadCounts: Send + Sync {
    /// Adds the waiting changes of at most `limit` contents and as many users to their counts, a transaction each, and
    /// returns how many these were. No count that anybody reads changes by it.
    async fn gather(&self, limit: u64) -> Result<u64, StoreError>;
}
