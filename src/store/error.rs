//! How long to wait after an error of a store.

pub use store_error::{OfCassandra, OfInboxes, OfRedis, StoreError};

use crate::domain::backoff;

/// The failure from which the wait after one that passes grows no longer: 16 s. A store that is back is to be used
/// soon, however long it was away.
const GROWS_UNTIL: u32 = 6;

/// Milliseconds to wait after the `failures`-th failure of the same work, which was `error`, with jitter by `random`:
/// as [`backoff::wait_ms`], and up to 16 s if it is transient.
pub fn wait_ms(error: &StoreError, failures: u32, random: u32) -> i64 {
    let failures = if error.is_transient() { failures.min(GROWS_UNTIL) } else { failures };
    backoff::wait_ms(failures, random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_again_within_seconds() {
        let (away, defect) = (StoreError::Unavailable("away".into()), StoreError::Refused("no such table".into()));
        let waits = |error| [1, 2, 6, 7, 40].map(|failures| wait_ms(error, failures, 0));
        assert_eq!(waits(&away), [500, 1_000, 16_000, 16_000, 16_000]);
        assert_eq!(waits(&defect), [500, 1_000, 16_000, 32_000, 300_000]);
    }
}
