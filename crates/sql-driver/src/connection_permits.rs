//! Permits to use a store's connections: as many permits as connections, one for each use.

use std::{sync::Arc, time::Duration};

use fair_queue::counted;
use sea_orm::sqlx;
use store_error::StoreError;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};
use tracing::warn;

/// A longer wait for a permit is logged.
const LONG_WAIT: Duration = Duration::from_secs(2);

/// The gauge of statements and transactions that wait for a connection.
pub const CONNECTION_WAITS: &str = "tidefeed_store_connection_waits";
/// The counter of those that waited for the longest time, and failed.
pub const CONNECTION_WAITS_FAILED: &str = "tidefeed_store_connection_waits_failed_total";

/// Clones share the permits.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPermits {
    free: Arc<Semaphore>,
    connections: u32,
    longest_wait: Duration,
}

impl ConnectionPermits {
    /// `longest_wait` is the time after which a wait for a permit fails.
    pub(crate) fn new(connections: u32, longest_wait: Duration) -> Self {
        let permits = usize::try_from(connections).unwrap_or(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(permits)), connections, longest_wait }
    }

    /// As [`Self::take`], for a transaction that must end: waits without a limit and logs nothing.
    pub(crate) async fn take_again(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        permit.map_err(|_| StoreError::Unavailable(Box::new(sqlx::Error::PoolClosed)))
    }

    /// Waits for a permit. Dropping it returns it.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        if let Some(permit) = self.take_now() {
            return Ok(permit);
        }
        let (began, unavailable) = (Instant::now(), |error| StoreError::Unavailable(Box::new(error)));
        let permit =
            counted(CONNECTION_WAITS, timeout(self.longest_wait, Arc::clone(&self.free).acquire_owned())).await;
        let permit = permit.map_err(|_| {
            metrics::counter!(CONNECTION_WAITS_FAILED).increment(1);
            unavailable(sqlx::Error::PoolTimedOut)
        })?;
        let permit = permit.map_err(|_| unavailable(sqlx::Error::PoolClosed))?;
        let waited_ms = began.elapsed().as_millis();
        if waited_ms > LONG_WAIT.as_millis() {
            warn!(waited_ms, "Waited long for a connection to the store: all are in use.");
        }
        Ok(permit)
    }

    /// A permit, if one is free now.
    pub(crate) fn take_now(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// How many are free: none while somebody waits for one.
    pub(crate) fn room(&self) -> usize {
        self.free.available_permits()
    }

    /// Waits until all permits are returned, and gives none from then on.
    pub(crate) async fn close(&self) {
        let all = self.free.acquire_many(self.connections).await;
        self.free.close();
        drop(all);
    }
}
