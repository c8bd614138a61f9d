//! When to try again: exponential, capped, with jitter.

/// First wait.
const BASE_MS: i64 = 500;
/// Longest wait.
const CAP_MS: i64 = 5 * 60 * 1000;

/// Milliseconds to wait after the `attempts`-th failure (1 is the first): 0.5 s, doubled each time up to 5 minutes.
/// `random` takes off up to a half, so that things that failed together are not retried together.
pub fn wait_ms(attempts: u32, random: u32) -> i64 {
    let full = BASE_MS.saturating_mul(1_i64 << attempts.saturating_sub(1).min(20)).min(CAP_MS);
    full - (full / 2) * i64::from(random) / (i64::from(u32::MAX) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        assert_eq!(wait_ms(1, 0), 500);
        assert_eq!(wait_ms(2, 0), 1000);
        assert_eq!(wait_ms(40, 0), CAP_MS);
        assert_eq!(wait_ms(0, 0), 500);
    }

    #[test]
    fn jitter_takes_off_at_most_a_half() {
        assert_eq!(wait_ms(1, u32::MAX), 251);
        assert!(wait_ms(40, u32::MAX) > CAP_MS / 2);
    }
}
