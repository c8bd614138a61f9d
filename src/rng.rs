//! Randomness as a parameter: one seedable generator for everything that needs random numbers.

use std::sync::{Arc, Mutex, PoisonError};

use rand::{Rng, SeedableRng, rngs::StdRng};

/// Ids to draw before giving up. Even two collisions in a row are practically impossible.
pub const MAX_DRAWS: usize = 5;

/// A shared, seedable generator (`StdRng`): ids, edge identities, tokens, jitter.
#[derive(Clone, Debug)]
pub struct SharedRng(Arc<Mutex<StdRng>>);

impl SharedRng {
    /// Seeded by the operating system.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that seeds a generator from outside")]
    pub fn from_system() -> Self {
        Self(Arc::new(Mutex::new(rand::make_rng())))
    }

    /// Gives the same numbers for the same seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// 32 random bits.
    pub fn u32(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next_u32()
    }

    /// 64 random bits.
    pub fn u64(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    /// Random bits for one id after another, at most [`MAX_DRAWS`]. Stop when one is free.
    pub fn draws(&self) -> impl Iterator<Item = u32> + Send {
        (0..MAX_DRAWS).map(|_| self.u32())
    }

    /// A positive number: the incarnation of a follow edge.
    pub fn incarnation(&self) -> i64 {
        i64::try_from(self.u64() >> 1).unwrap_or(i64::MAX).max(1)
    }

    /// A positive number: the version of an outbox.
    pub fn version(&self) -> i64 {
        self.incarnation()
    }

    /// Any number: what tells claims of outside inboxes apart.
    pub fn number(&self) -> i64 {
        self.u64().cast_signed()
    }

    /// Fills `bytes`: a key, a salt.
    pub fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}
