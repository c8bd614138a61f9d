//! Token buckets: how many points a client may spend, and how fast they come back. Memory is bounded, whatever the
//! number of clients.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::{NoOpMiddleware, StateInformationMiddleware},
    state::{InMemoryState, NotKeyed, keyed::DashMapStateStore},
};
use tokio::time::Instant;

use crate::payer::{Payer, SHARED};

/// Sizes of the buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// The bucket of each viewer.
    pub viewer: TokenBucket,
    /// The bucket of each service.
    pub service: TokenBucket,
    /// The bucket of each address, for anonymous clients.
    pub address: TokenBucket,
    /// Buckets of a kind that are kept separately; further clients share [`SHARED`] buckets. 100,000.
    pub known: usize,
}

/// One bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Capacity in points; it begins full.
    pub points: NonZeroU32,
    /// Points that come back each second.
    pub per_second: NonZeroU32,
}

/// Every this many charges, full buckets are dropped.
const CHARGES_BETWEEN_CLEANINGS: usize = 4096;

/// What a charge has left, or why it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) requested: u64,
    pub(super) limit: u32,
    pub(super) remaining: u32,
    pub(super) restore_rate: u32,
    /// Time until the same charge succeeds; `None` if it has succeeded.
    pub(super) retry_after: Option<Duration>,
}

/// All buckets.
pub(super) struct Budget {
    viewers: Buckets,
    services: Buckets,
    addresses: Buckets,
}

impl Budget {
    pub(super) fn new(limits: RateLimits) -> Self {
        Self {
            viewers: Buckets::new(limits.viewer, limits.known),
            services: Buckets::new(limits.service, limits.known),
            addresses: Buckets::new(limits.address, limits.known),
        }
    }

    /// Takes `points` from the payer's bucket if it has them.
    pub(super) fn charge(&self, payer: Payer, points: u64) -> Charge {
        match payer {
            Payer::Viewer(_) => self.viewers.charge(payer, points),
            Payer::Service(_) => self.services.charge(payer, points),
            _ => self.addresses.charge(payer, points),
        }
    }
}

/// The buckets, for what clients do beside operations. Clones share them.
#[derive(Clone)]
pub struct Charges(Option<Arc<Budget>>);

impl Charges {
    /// `None`: nothing costs points.
    pub(super) fn new(budget: Option<Arc<Budget>>) -> Self {
        Self(budget)
    }

    /// Takes points of the payer's. `Err`: there are too few; after this time there are enough.
    pub fn charge(&self, payer: Payer, points: u64) -> Result<(), Duration> {
        let wait = self.0.as_ref().and_then(|budget| budget.charge(payer, points).retry_after);
        wait.map_or(Ok(()), Err)
    }
}

/// The clock of timers, which a paused test moves.
#[derive(Debug, Clone, Copy)]
struct TimerClock;

impl Clock for TimerClock {
    type Instant = std::time::Instant;

    fn now(&self) -> Self::Instant {
        Instant::now().into_std()
    }
}

impl TokenBucket {
    fn quota(self) -> Quota {
        Quota::per_second(self.per_second).allow_burst(self.points)
    }
}

/// A bucket of its own, for one client whose number of buckets something else bounds.
pub(super) struct SingleBucket(RateLimiter<NotKeyed, InMemoryState, TimerClock, NoOpMiddleware<std::time::Instant>>);

impl SingleBucket {
    pub(super) fn new(bucket: TokenBucket) -> Self {
        Self(RateLimiter::direct_with_clock(bucket.quota(), TimerClock))
    }

    /// Takes a point if there is one.
    #[must_use]
    pub(super) fn take(&self) -> bool {
        self.0.check().is_ok()
    }
}

struct Buckets {
    each: TokenBucket,
    known: usize,
    charges: AtomicUsize,
    levels: RateLimiter<Payer, DashMapStateStore<Payer>, TimerClock, StateInformationMiddleware>,
}

impl Buckets {
    fn new(each: TokenBucket, known: usize) -> Self {
        let levels = RateLimiter::dashmap_with_clock(each.quota(), TimerClock).with_middleware();
        Self { each, known, charges: AtomicUsize::new(0), levels }
    }

    fn charge(&self, payer: Payer, points: u64) -> Charge {
        if self.charges.fetch_add(1, Ordering::Relaxed) % CHARGES_BETWEEN_CLEANINGS == CHARGES_BETWEEN_CLEANINGS - 1 {
            self.levels.retain_recent();
            self.levels.shrink_to_fit();
        }
        let payer = if self.levels.len() < self.known { payer } else { shared(payer) };
        let capacity = self.each.points;
        // A cost above the capacity takes a full bucket.
        let asked = u32::try_from(points).ok().and_then(NonZeroU32::new).map_or(capacity, |asked| asked.min(capacity));
        let asked = if points == 0 { NonZeroU32::MIN } else { asked };
        let (remaining, retry_after) = match self.levels.check_key_n(&payer, asked) {
            Ok(Ok(level)) => (level.remaining_burst_capacity(), None),
            Ok(Err(not_yet)) => {
                let wait = not_yet.wait_time_from(TimerClock.now());
                (asked.get().saturating_sub(self.restored_in(wait)), Some(wait))
            }
            // `asked` is not above the capacity.
            Err(_) => (0, Some(Duration::from_secs(1))),
        };
        let TokenBucket { points: limit, per_second } = self.each;
        Charge { requested: points, limit: limit.get(), remaining, restore_rate: per_second.get(), retry_after }
    }

    /// Points restored within `wait`, rounded up.
    fn restored_in(&self, wait: Duration) -> u32 {
        let points = wait.as_nanos().saturating_mul(u128::from(self.each.per_second.get())).div_ceil(1_000_000_000);
        u32::try_from(points).unwrap_or(u32::MAX)
    }
}

fn shared(payer: Payer) -> Payer {
    let mut hasher = DefaultHasher::new();
    payer.hash(&mut hasher);
    Payer::Shared(hasher.finish() % SHARED)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn budget(points: u32, per_second: u32, known: usize) -> Budget {
        let each =
            TokenBucket { points: NonZeroU32::new(points).unwrap(), per_second: NonZeroU32::new(per_second).unwrap() };
        Budget::new(RateLimits { viewer: each, service: each, address: each, known })
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_is_emptied_and_fills_again_with_time() {
        let budget = budget(100, 10, 1000);
        let ann = Payer::Viewer(1);
        let first = budget.charge(ann, 70);
        assert_eq!((first.requested, first.limit, first.remaining, first.restore_rate), (70, 100, 30, 10));
        let refused = budget.charge(ann, 50);
        assert_eq!((refused.remaining, refused.retry_after), (30, Some(Duration::from_secs(2))));
        assert_eq!(budget.charge(Payer::Viewer(2), 100).retry_after, None, "another one's bucket is another");
        assert_eq!(budget.charge(Payer::Service(1), 100).retry_after, None, "and so is a service's");
        tokio::time::advance(Duration::from_millis(1_999)).await;
        assert!(budget.charge(ann, 50).retry_after.is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(budget.charge(ann, 50).retry_after, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cost_above_the_capacity_takes_a_full_bucket() {
        let budget = budget(100, 10, 1000);
        assert_eq!(budget.charge(Payer::Unknown, u64::MAX).retry_after, None);
        assert_eq!(budget.charge(Payer::Unknown, u64::MAX).retry_after, Some(Duration::from_secs(10)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_remembered_clients_is_bounded_and_idle_ones_expire() {
        let budget = budget(10, 1, 500);
        for viewer in 0..3 * CHARGES_BETWEEN_CLEANINGS as u64 {
            budget.charge(Payer::Viewer(viewer), 5);
        }
        let known = budget.viewers.levels.len();
        assert!((500..=500 + 1024).contains(&known), "{known} are known");
        tokio::time::advance(Duration::from_mins(1)).await;
        for _ in 0..CHARGES_BETWEEN_CLEANINGS {
            budget.charge(Payer::Viewer(1), 1);
        }
        assert!(budget.viewers.levels.len() <= 2, "{} are known", budget.viewers.levels.len());
    }
}
