//! Randomness, as a parameter: ids of requests and tokens of streams are made of it.

use std::{fmt, sync::Arc};

/// Random bits out of the caller's generator. Who guesses them opens another client's stream: it has to be one for
/// secrets.
#[derive(Clone)]
pub struct Entropy(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Entropy {
    /// `bits`: 64 new ones at each call.
    pub fn new(bits: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(bits))
    }

    pub(super) fn bits(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// The same bits in each test, no two alike.
#[cfg(test)]
pub(super) fn counted() -> Entropy {
    let drawn = std::sync::atomic::AtomicU64::new(1);
    Entropy::new(move || drawn.fetch_add(0x9e37_79b9_7f4a_7c15, std::sync::atomic::Ordering::Relaxed))
}
