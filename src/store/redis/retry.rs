//! Waits between attempts at Redis while it is away.

use std::time::Duration;

use tokio::time::sleep;

use crate::{domain::backoff::wait_ms, rng::SharedRng};

/// Failures after which the wait grows no longer: about four seconds.
const MAX_GROWTH: u32 = 4;

/// Waits that grow with each failure, with jitter.
pub struct Retry<'a> {
    failures: u32,
    rng: &'a SharedRng,
}

impl<'a> Retry<'a> {
    /// Nothing has failed yet; `rng` spreads the waits.
    pub const fn new(rng: &'a SharedRng) -> Self {
        Self { failures: 0, rng }
    }

    /// Waits after one more failure.
    pub async fn wait(&mut self) {
        self.failures = MAX_GROWTH.min(self.failures + 1);
        sleep(Duration::from_millis(wait_ms(self.failures, self.rng.u32()).unsigned_abs())).await;
    }

    /// Failures so far, counted up to where waits stop growing.
    pub const fn failures(&self) -> u32 {
        self.failures
    }
}
