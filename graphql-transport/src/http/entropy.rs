//! Randomness as a parameter, for the ids of requests and the tokens of streams.

use std::{fmt, sync::Arc};

/// Random bits from the caller's generator. It must be cryptographically secure: guessing the bits opens another
/// client's stream.
#[derive(Clone)]
pub struct Entropy(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Entropy {
    /// `bits` returns 64 new bits at each call.
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

/// Distinct bits, in the same sequence in every test.
#[cfg(test)]
pub(super) fn counted() -> Entropy {
    let drawn = std::sync::atomic::AtomicU64::new(1);
    Entropy::new(move || drawn.fetch_add(0x9e37_79b9_7f4a_7c15, std::sync::atomic::Ordering::Relaxed))
}
