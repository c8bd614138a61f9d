//! Whether a replica is tried: after a read that it did not serve it rests, each time longer.

use std::time::Duration;

use tokio::time::Instant;

/// The rest after the first read that was not served; each later one is twice as long, up to the longest.
const FIRST_REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_secs(5);

/// What is known of a replica.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The last read that was not served: when that was known, and how many rests there were in a row.
    missed: Option<(Instant, u32)>,
    /// How long a read took lately, and when the last one ended.
    took: Option<(Duration, Instant)>,
}

impl Health {
    /// Whether the last read was served, or there was none.
    pub(super) fn is_serving(&self) -> bool {
        self.missed.is_none()
    }

    /// Whether a read may be tried while `running` others are. After a rest one at a time is.
    pub(super) fn may_try(&self, running: usize, now: Instant) -> bool {
        self.missed.is_none_or(|(since, rests)| running == 0 && now >= since + rest(rests))
    }

    /// What a read would cost now: the time of one, for each that runs. What a read took long ago counts less and less.
    pub(super) fn price(&self, running: usize, now: Instant) -> Duration {
        let took = self.took.map_or(Duration::ZERO, |(took, at)| {
            let halvings = u32::try_from(now.duration_since(at).as_secs()).unwrap_or(u32::MAX).min(31);
            took / (1 << halvings)
        });
        (took + Duration::from_micros(100)).saturating_mul(u32::try_from(running + 1).unwrap_or(u32::MAX))
    }

    /// A read that began then was served.
    pub(super) fn served(&mut self, began: Instant, now: Instant) {
        let took = now.duration_since(began);
        self.took = Some((self.took.map_or(took, |(before, _)| (before * 7 + took) / 8), now));
        // One that began before the last one was missed says nothing.
        self.missed = self.missed.filter(|(since, _)| began < *since);
    }

    /// A read that began then was not served.
    pub(super) fn missed(&mut self, began: Instant, now: Instant) {
        match &mut self.missed {
            // Others that ran at the same time are one reason to rest.
            Some((since, _)) if began < *since => {}
            Some(missed) => *missed = (now, missed.1 + 1),
            None => self.missed = Some((now, 0)),
        }
    }
}

fn rest(rests: u32) -> Duration {
    LONGEST_REST.min(FIRST_REST.saturating_mul(1 << rests.min(16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn a_replica_that_misses_reads_rests_longer_each_time() {
        let (mut health, start) = (Health::default(), Instant::now());
        assert!(health.may_try(50, start));
        health.missed(start, start + 50 * MS);
        health.missed(start + MS, start + 51 * MS);
        assert!(!health.may_try(0, start + 149 * MS));
        assert!(health.may_try(0, start + 150 * MS) && !health.may_try(1, start + 150 * MS), "one at a time");
        health.missed(start + 150 * MS, start + 200 * MS);
        assert!(!health.may_try(0, start + 399 * MS) && health.may_try(0, start + 400 * MS));
        health.served(start + 10 * MS, start + 410 * MS);
        assert!(!health.is_serving(), "it began before the replica was missed");
        health.served(start + 400 * MS, start + 410 * MS);
        assert!(health.is_serving() && health.may_try(50, start + 410 * MS));
    }

    #[tokio::test(start_paused = true)]
    async fn the_fewer_run_and_the_sooner_they_end_the_cheaper_it_is() {
        let (mut slow, mut fast, start) = (Health::default(), Health::default(), Instant::now());
        slow.served(start, start + 80 * MS);
        fast.served(start, start + 10 * MS);
        let now = start + 80 * MS;
        assert!(slow.price(0, now) > fast.price(3, now) && slow.price(0, now) < fast.price(12, now));
        assert!(slow.price(0, now + Duration::from_mins(1)) < fast.price(3, now), "it is long ago");
    }
}
