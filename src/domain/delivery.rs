//! The delivery policy: who is pushed to. Any answer is exact (docs/coverage.md); this one decides what reads cost.
//!
//! The rule is the book's (chapter 11): up to a threshold of followers an author is pushed to all of them; above it only
//! to those seen within the last M days. Users not seen for long are skipped for every author.

use super::edge::EdgeMode;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The numbers of the policy; all of them may change at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryPolicy {
    /// Followers up to which an author is pushed to everybody.
    pub push_threshold: u64,
    /// M: above the threshold, days since a follower was last seen after which the author is pulled by them.
    pub active_days: u32,
    /// Days since a user was last seen after which deliveries skip them altogether.
    pub dormant_days: u32,
}

impl DeliveryPolicy {
    /// The mode that an edge should have: `Push` or `Pull`.
    ///
    /// `followers` of the author; `last_seen` of the follower in ms, `None` if never.
    pub fn edge_mode(&self, followers: u64, last_seen: Option<i64>, now_ms: i64) -> EdgeMode {
        let small = followers <= self.push_threshold;
        let active = last_seen.is_some_and(|seen| seen >= self.active_since(now_ms));
        if small || active { EdgeMode::Push } else { EdgeMode::Pull }
    }

    /// Whether edges of an author with that many followers depend on when the follower was last seen.
    pub const fn is_selective(&self, followers: u64) -> bool {
        followers > self.push_threshold
    }

    /// Followers last seen before this time (ms) are not pushed to by authors above the threshold.
    pub const fn active_since(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(self.active_days as i64 * DAY_MS)
    }

    /// Users last seen before this time (ms) are skipped by all deliveries.
    pub const fn dormant_before(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(self.dormant_days as i64 * DAY_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: DeliveryPolicy = DeliveryPolicy { push_threshold: 100, active_days: 7, dormant_days: 30 };
    const NOW: i64 = 1_700_000_000_000;

    #[test]
    fn up_to_the_threshold_everybody_is_pushed_to() {
        assert_eq!(POLICY.edge_mode(100, None, NOW), EdgeMode::Push);
    }

    #[test]
    fn above_the_threshold_only_the_recently_seen_are_pushed_to() {
        assert_eq!(POLICY.edge_mode(101, Some(NOW - 7 * DAY_MS), NOW), EdgeMode::Push);
        assert_eq!(POLICY.edge_mode(101, Some(NOW - 7 * DAY_MS - 1), NOW), EdgeMode::Pull);
        assert_eq!(POLICY.edge_mode(101, None, NOW), EdgeMode::Pull);
    }
}
