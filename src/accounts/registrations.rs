//! Limits registrations by network, with one token bucket each that refills within an hour.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, MonotonicClock},
    state::keyed::DashMapStateStore,
};

const HOUR: Duration = Duration::from_hours(1);
/// Networks with a bucket of their own; all others share one.
const KNOWN: usize = 100_000;
/// Registrations between two cleanups that drop full buckets.
const BETWEEN_CLEANINGS: usize = 1_024;

/// The buckets of this node.
pub struct Registrations {
    asked: AtomicUsize,
    levels: RateLimiter<String, DashMapStateStore<String>, MonotonicClock>,
}

impl Registrations {
    /// Allows each network this many registrations an hour, in bursts up to the same number.
    pub fn new(per_hour: NonZeroU32) -> Self {
        let quota = Quota::with_period(HOUR / per_hour.get()).unwrap_or(Quota::per_hour(per_hour));
        Self {
            asked: AtomicUsize::new(0),
            levels: RateLimiter::dashmap_with_clock(quota.allow_burst(per_hour), MonotonicClock),
        }
    }

    /// Counts a registration from `network`. `Err` has the time until the next one is allowed.
    pub fn count(&self, network: String) -> Result<(), Duration> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % BETWEEN_CLEANINGS == BETWEEN_CLEANINGS - 1 {
            self.levels.retain_recent();
            self.levels.shrink_to_fit();
        }
        let network = if self.levels.len() < KNOWN { network } else { String::new() };
        self.levels.check_key(&network).map_err(|refused| refused.wait_time_from(MonotonicClock.now()))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    #[test]
    fn each_network_has_so_many_in_an_hour() {
        let registrations = Registrations::new(NonZeroU32::new(2).unwrap());
        let count = |text: &str| registrations.count(text.to_owned());
        assert_eq!((count("192.0.2.1"), count("192.0.2.1")), (Ok(()), Ok(())));
        let wait = count("192.0.2.1").unwrap_err();
        assert!(wait <= HOUR / 2 && wait > HOUR / 4, "{wait:?}");
        assert_eq!(count("192.0.2.2"), Ok(()));
    }
}
