//! Chooses how far the outboxes of many authors are read where an engine cannot stop at the first contents of each:
//! from a position on, an hour at first, then ever further until there is enough.
//!
//! Each read is whole up to its end, so that its end affects only what a page costs, never what it says.

use super::{page::Direction, position::Position};

/// How far the first read goes (ms).
const FIRST_MS: i64 = 3_600_000;
/// How many times as far the next one goes: at least, and at most.
const LEAST: usize = 4;
const MOST: usize = 64;

/// A read from a publish time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widening {
    direction: Direction,
    start_ms: i64,
    reach_ms: i64,
}

impl Widening {
    /// The first read from a publish time (ms) on, in this direction.
    pub const fn from(direction: Direction, start_ms: i64) -> Self {
        Self { direction, start_ms, reach_ms: FIRST_MS }
    }

    /// The publish time (ms) at which it ends, inclusive.
    pub fn end_ms(self) -> i64 {
        match self.direction {
            Direction::Older => self.start_ms.saturating_sub(self.reach_ms).max(Position::OLDEST.publish_time()),
            Direction::Newer => self.start_ms.saturating_add(self.reach_ms),
        }
    }

    /// The next read, after this one has found less than was wanted; `None` if it has found enough or everything.
    #[must_use]
    pub fn after(self, found: usize, wanted: usize) -> Option<Self> {
        if found >= wanted || self.end_ms() == self.direction.end().publish_time() {
            return None;
        }
        let factor = wanted.saturating_mul(2).checked_div(found).unwrap_or(MOST).clamp(LEAST, MOST);
        let reach_ms = self.reach_ms.saturating_mul(i64::try_from(factor).unwrap_or(i64::MAX));
        Some(Self { reach_ms, ..self })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;

    use super::*;

    fn reads(first: Widening, found: impl Fn(i64) -> usize, wanted: usize) -> Vec<i64> {
        std::iter::successors(Some(first), |read| read.after(found(read.end_ms()), wanted))
            .map(Widening::end_ms)
            .collect()
    }

    proptest! {
        #[test]
        fn the_last_read_holds_enough_or_everything(
            times in proptest::collection::vec(0_i64..2_000_000_000_000, 0..40),
            start in 0_i64..2_000_000_000_000,
            wanted in 1_usize..50,
        ) {
            let older = |end: i64| times.iter().filter(|time| (end..start).contains(*time)).count();
            let ends = reads(Widening::from(Direction::Older, start), older, wanted);
            prop_assert!(older(*ends.last().unwrap()) >= wanted.min(older(0)));
            prop_assert!(ends.len() <= 11, "{ends:?}");
            prop_assert!(ends.is_sorted_by(|a, b| a > b));
            let newer = |end: i64| times.iter().filter(|time| (start..=end).contains(*time)).count();
            let ends = reads(Widening::from(Direction::Newer, start), newer, wanted);
            prop_assert!(newer(*ends.last().unwrap()) >= wanted.min(newer(i64::MAX)));
            prop_assert!(ends.len() <= 23, "{ends:?}");
        }
    }

    #[test]
    fn a_read_that_found_much_is_widened_little() {
        let hour = FIRST_MS;
        let first = Widening::from(Direction::Older, 1_000 * hour);
        assert_eq!(first.end_ms(), 999 * hour);
        assert_eq!(first.after(21, 21), None);
        assert_eq!(first.after(20, 21).map(Widening::end_ms), Some(996 * hour));
        assert_eq!(first.after(2, 20).map(Widening::end_ms), Some(980 * hour));
        assert_eq!(first.after(0, 20).map(Widening::end_ms), Some(936 * hour));
    }

    #[test]
    fn no_read_goes_beyond_the_first_content_or_the_last() {
        let first = Widening::from(Direction::Older, 5);
        assert_eq!((first.end_ms(), first.after(0, 1)), (0, None));
        let last = Widening::from(Direction::Newer, i64::MAX - 5);
        assert_eq!((last.end_ms(), last.after(0, 1)), (i64::MAX, None));
    }
}
