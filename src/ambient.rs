//! What a node takes from outside of itself: the time and random numbers.

use std::sync::Arc;

use crate::{
    clock::{SharedClock, SystemClock},
    rng::SharedRng,
};

/// The clock and the random numbers of a node. Tests hand in their own.
#[derive(Clone)]
pub struct Ambient {
    /// The time.
    pub clock: SharedClock,
    /// Random numbers: ids, salts, tokens, jitter.
    pub rng: SharedRng,
}

impl Ambient {
    /// The machine's clock, and random numbers seeded by the operating system.
    pub fn of_system() -> Self {
        Self { clock: Arc::new(SystemClock), rng: SharedRng::from_system() }
    }

    /// Milliseconds since 1970, as [`crate::clock::Clock::now_ms`].
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}
