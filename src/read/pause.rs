//! Pauses after failures of a store that pages can do without. Each is twice as long as the one before it, and after
//! it a single page tries the store again.

use std::time::Duration;

use tokio::time::Instant;

/// After the first failure.
const SHORTEST: Duration = Duration::from_secs(1);
/// However often it has failed.
const LONGEST: Duration = Duration::from_secs(30);
/// Doublings beyond which no pause grows.
const MOST_DOUBLINGS: u32 = 5;

/// Whether a store may be asked.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// In a row.
    failures: u32,
    until: Option<Instant>,
}

/// Allows one page to ask the store; given after this number of failures in a row. It need not be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Permit(u32);

impl Permit {
    /// Whether it is for the one who tries a store that has failed.
    pub(super) const fn is_trial(self) -> bool {
        self.0 > 0
    }
}

impl Pause {
    /// `None`: not now. After a pause one permit is given, and no other until it is answered or another pause is over.
    pub(super) fn ask(&mut self, now: Instant) -> Option<Permit> {
        match self.until {
            Some(until) if now < until => return None,
            Some(_) => self.until = Some(now + self.length()),
            None => {}
        }
        Some(Permit(self.failures))
    }

    /// The store has answered.
    pub(super) fn answered(&mut self, permit: Permit) {
        if permit.0 == self.failures {
            *self = Self::default();
        }
    }

    /// The store has failed. All who had a permit at the same time count once; whether this is the one.
    pub(super) fn failed(&mut self, permit: Permit, now: Instant) -> bool {
        let counts = permit.0 == self.failures;
        if counts {
            self.failures = self.failures.saturating_add(1);
            self.until = Some(now + self.length());
        }
        counts
    }

    fn length(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(MOST_DOUBLINGS);
        SHORTEST.saturating_mul(1 << doublings).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    /// Seconds of the pause that a failure at `now` begins.
    fn paused(pause: &mut Pause, now: &mut Instant) -> u64 {
        let permit = pause.ask(*now).unwrap();
        assert!(pause.failed(permit, *now));
        let mut seconds = 0;
        while pause.ask(*now).is_none() {
            *now += Duration::from_secs(1);
            seconds += 1;
        }
        // The permit of this loop was not used: the next one comes after another pause.
        *now += LONGEST;
        seconds
    }

    #[test]
    fn pauses_double_up_to_thirty_seconds_and_end_with_an_answer() {
        let (mut pause, mut now) = (Pause::default(), Instant::now());
        let pauses: Vec<u64> = (0..7).map(|_| paused(&mut pause, &mut now)).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        let permit = pause.ask(now).unwrap();
        pause.answered(permit);
        assert_eq!(paused(&mut pause, &mut now), 1);
    }

    #[test]
    fn one_page_at_a_time_tries_a_store_that_has_failed() {
        let (mut pause, now) = (Pause::default(), Instant::now());
        let permit = pause.ask(now).unwrap();
        assert!(!permit.is_trial());
        pause.failed(permit, now);
        assert_eq!(pause.ask(now), None);
        let later = now + SHORTEST;
        assert!(pause.ask(later).unwrap().is_trial());
        assert_eq!(pause.ask(later), None, "somebody is trying");
        assert!(pause.ask(later + SHORTEST).is_some(), "the one who tried never answered");
    }

    #[test]
    fn failures_at_the_same_time_count_once() {
        let (mut pause, now) = (Pause::default(), Instant::now());
        let both = [pause.ask(now).unwrap(), pause.ask(now).unwrap()];
        assert_eq!(both.map(|permit| pause.failed(permit, now)), [true, false]);
        pause.answered(both[1]);
        assert_eq!(pause.ask(now), None, "what began before the failure says nothing");
        assert!(pause.ask(now + SHORTEST).is_some());
    }
}
