//! Deletes sessions that have ended and failed sign-ins that no longer count.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{
        account::attempts::{FORGET_MS, KNOWN_MS},
        limits::MAX_FORGOTTEN,
    },
    store::{Attempts, Sessions, StoreError},
};

/// Deletes what is over.
pub struct Pruner {
    sessions: Arc<dyn Sessions>,
    attempts: Arc<dyn Attempts>,
    clock: SharedClock,
}

impl Pruner {
    /// Over the ports that keep them.
    pub fn new(sessions: Arc<dyn Sessions>, attempts: Arc<dyn Attempts>, clock: SharedClock) -> Self {
        Self { sessions, attempts, clock }
    }

    /// One step; returns how many rows have gone. Nothing that can still matter goes: neither a session that can be
    /// refreshed nor a network that is known to an account.
    pub async fn run_once(&self) -> Result<u64, StoreError> {
        let now = self.clock.now_ms();
        let sessions = self.sessions.forget(now, MAX_FORGOTTEN).await?;
        let attempts = self.attempts.forget(now - FORGET_MS, now - KNOWN_MS, MAX_FORGOTTEN).await?;
        Ok(sessions + attempts)
    }
}
