//! Deletes sessions and keys that have ended, failed sign-ins that no longer count, and old lines of the services' log.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{
        account::attempts::{FORGET_MS, KNOWN_MS},
        limits::MAX_FORGOTTEN,
    },
    store::{Accounts, Attempts, Sessions, StoreError},
};

/// Deletes what has ended.
pub struct Pruner {
    accounts: Arc<dyn Accounts>,
    /// How long the log of services, and their ended keys, are kept, in ms.
    service_log_ms: i64,
    clock: SharedClock,
}

impl Pruner {
    /// Over the port that keeps them.
    pub fn new(accounts: Arc<dyn Accounts>, service_log_ms: i64, clock: SharedClock) -> Self {
        Self { accounts, service_log_ms, clock }
    }

    /// Deletes one batch, and returns the number of rows. It keeps all sessions that can still be refreshed, and all
    /// networks that an account knows.
    pub async fn run_once(&self) -> Result<u64, StoreError> {
        let (now, accounts) = (self.clock.now_ms(), self.accounts.as_ref());
        let sessions = Sessions::forget(accounts, now, MAX_FORGOTTEN).await?;
        let attempts = Attempts::forget(accounts, now - FORGET_MS, now - KNOWN_MS, MAX_FORGOTTEN).await?;
        let logged_from = now.saturating_sub(self.service_log_ms);
        let keys = accounts.forget_keys(logged_from).await?;
        Ok(sessions + attempts + keys + accounts.forget_calls(logged_from, MAX_FORGOTTEN).await?)
    }
}
