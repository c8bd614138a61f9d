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

/// Deletes expired sessions and failed sign-ins.
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

    /// Deletes one batch, and returns the number of rows. It keeps all sessions that can still be refreshed, and all
    /// networks that an account knows.
    pub async fn run_once(&self) -> Result<u64, StoreError> {
        let now = self.clock.now_ms();
        let sessions = self.sessions.forget(now, MAX_FORGOTTEN).await?;
        let attempts = self.attempts.forget(now - FORGET_MS, now - KNOWN_MS, MAX_FORGOTTEN).await?;
        Ok(sessions + attempts)
    }
}
