//! Failed sign-ins and the waits that they cause. Waits grow up to a cap.
//!
//! Three counts decide: one account from one network, one account from all networks, and one network on all accounts.
//! Strangers can fill the second one, so it never delays a user whose network has signed in to the account before.

use crate::limits::{FREE_ATTEMPTS, FREE_ATTEMPTS_OF_ACCOUNT, FREE_ATTEMPTS_OF_NETWORK};

/// The first wait.
const BASE_MS: i64 = 1_000;
/// The longest wait of one account from one network: four guesses an hour.
const PAIR_CAP_MS: i64 = 15 * 60 * 1_000;
/// The longest wait that others can cause.
const WIDE_CAP_MS: i64 = 60 * 1_000;
/// A day without a failure clears the count.
pub const FORGET_MS: i64 = 24 * 60 * 60 * 1_000;
/// A network that has signed in to the account within this time is known to it.
pub const KNOWN_MS: i64 = 60 * FORGET_MS;

/// The history of one account from one network, of one account, or of one network. Times are ms UTC, 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    /// Failures since the last success or the last quiet day.
    pub failures: u32,
    /// When the last attempt was.
    pub last_at: i64,
    /// When the last success was.
    pub good_at: i64,
}

/// Whether a sign-in may be attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInDecision {
    /// It may. It counts as failed until it succeeds.
    Admitted,
    /// Not before this time, ms UTC. Nothing was counted.
    NotBefore(i64),
}

impl Attempts {
    /// The failures that still count at `now_ms`.
    pub const fn counted(&self, now_ms: i64) -> u32 {
        if now_ms - self.last_at >= FORGET_MS { 0 } else { self.failures }
    }

    /// The time of the next attempt: at once after the first `free` failures, then 1 s after the last one, doubled
    /// each time up to `cap_ms`.
    fn next_at(&self, now_ms: i64, free: u32, cap_ms: i64) -> i64 {
        let Some(beyond) = self.counted(now_ms).checked_sub(free) else { return 0 };
        let wait = BASE_MS.saturating_mul(1_i64 << beyond.min(30)).min(cap_ms);
        // An attempt in the future means that the clock was set back. It must not lock anybody out for longer than the
        // cap.
        self.last_at.min(now_ms) + wait
    }
}

/// `pair`: this account from this network. `account`: this account from all networks. `network`: this network on all
/// accounts.
pub fn admit(pair: &Attempts, account: &Attempts, network: &Attempts, now_ms: i64) -> SignInDecision {
    let known = pair.good_at > 0 && now_ms - pair.good_at < KNOWN_MS;
    let everywhere = if known { 0 } else { account.next_at(now_ms, FREE_ATTEMPTS_OF_ACCOUNT, WIDE_CAP_MS) };
    let next = pair.next_at(now_ms, FREE_ATTEMPTS, PAIR_CAP_MS).max(everywhere).max(network.next_at(
        now_ms,
        FREE_ATTEMPTS_OF_NETWORK,
        WIDE_CAP_MS,
    ));
    if next > now_ms { SignInDecision::NotBefore(next) } else { SignInDecision::Admitted }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;
    const NONE: Attempts = Attempts { failures: 0, last_at: 0, good_at: 0 };

    fn failed(failures: u32) -> Attempts {
        Attempts { failures, last_at: NOW, good_at: 0 }
    }

    fn wait(pair: &Attempts, account: &Attempts, network: &Attempts) -> i64 {
        match admit(pair, account, network, NOW) {
            SignInDecision::Admitted => 0,
            SignInDecision::NotBefore(at) => at - NOW,
        }
    }

    #[test]
    fn waits_begin_after_five_failures_and_double_up_to_the_cap() {
        assert_eq!(wait(&failed(4), &NONE, &NONE), 0);
        assert_eq!(wait(&failed(5), &NONE, &NONE), 1_000);
        assert_eq!(wait(&failed(8), &NONE, &NONE), 8_000);
        assert_eq!(wait(&failed(u32::MAX), &NONE, &NONE), PAIR_CAP_MS);
    }

    #[test]
    fn failures_of_strangers_delay_other_networks_a_minute_and_known_ones_never() {
        assert_eq!(wait(&NONE, &failed(49), &NONE), 0);
        assert_eq!(wait(&NONE, &failed(1_000_000), &NONE), WIDE_CAP_MS);
        let known = Attempts { good_at: NOW - FORGET_MS, ..NONE };
        assert_eq!(wait(&known, &failed(1_000_000), &NONE), 0);
        let long_ago = Attempts { good_at: NOW - KNOWN_MS, ..NONE };
        assert_eq!(wait(&long_ago, &failed(1_000_000), &NONE), WIDE_CAP_MS);
        assert_eq!(wait(&known, &NONE, &failed(100)), 1_000, "a network that guesses everywhere waits");
    }

    #[test]
    fn failures_are_forgotten_after_a_day_and_clock_changes_are_harmless() {
        let old = Attempts { failures: 99, last_at: NOW - FORGET_MS, good_at: 0 };
        assert_eq!(wait(&old, &NONE, &NONE), 0);
        let future = Attempts { failures: 99, last_at: NOW + 1_000 * FORGET_MS, good_at: 0 };
        assert_eq!(wait(&future, &NONE, &NONE), PAIR_CAP_MS);
    }
}
