//! Where a sweep begins in the table of a queue.
//!
//! Engines keep deleted rows for a while, and a sweep from the beginning walks over all of them.

/// How late a record may be committed, and how far the clocks of nodes may differ, before a sweep passes over the
/// record, in ms.
const SLACK_MS: i64 = 60 * 1_000;
/// How often a sweep begins at the beginning, in ms. It finds what others have passed over.
const WHOLE_EVERY_MS: i64 = 5 * 60 * 1_000;

/// What a sweeper keeps from one sweep to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepStart {
    from_ms: i64,
    whole_at_ms: i64,
}

impl SweepStart {
    /// The first sweep takes all.
    pub const BEGINNING: Self = Self { from_ms: i64::MIN, whole_at_ms: i64::MIN };

    /// The sweep that begins now takes the records to be looked at from this time (ms) on; [`i64::MIN`]: all.
    pub fn from_ms(self, now_ms: i64) -> i64 {
        let until_whole = self.whole_at_ms.saturating_sub(now_ms);
        // A wait that is longer than any was begun by a clock that has been set back since.
        let is_whole = until_whole <= 0 || until_whole > WHOLE_EVERY_MS;
        if is_whole { i64::MIN } else { self.from_ms.min(now_ms.saturating_sub(SLACK_MS)) }
    }

    /// After a sweep at `now_ms` from `from_ms` on; `is_drained`: it has left nothing that is due.
    #[must_use]
    pub fn after(self, from_ms: i64, now_ms: i64, is_drained: bool) -> Self {
        let was_whole = from_ms == i64::MIN;
        Self {
            from_ms: if is_drained { now_ms.saturating_sub(SLACK_MS) } else { from_ms },
            whole_at_ms: if was_whole { now_ms.saturating_add(WHOLE_EVERY_MS) } else { self.whole_at_ms },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 10_000_000;

    fn swept(start: SweepStart, now_ms: i64, is_drained: bool) -> SweepStart {
        start.after(start.from_ms(now_ms), now_ms, is_drained)
    }

    #[test]
    fn a_sweep_begins_shortly_before_the_last_one() {
        assert_eq!(SweepStart::BEGINNING.from_ms(NOW), i64::MIN);
        let first = swept(SweepStart::BEGINNING, NOW, true);
        assert_eq!(first.from_ms(NOW + 1_000), NOW - SLACK_MS);
        assert_eq!(swept(first, NOW + 1_000, true).from_ms(NOW + 2_000), NOW + 1_000 - SLACK_MS);
    }

    #[test]
    fn a_sweep_that_leaves_work_is_continued_where_it_began() {
        let first = swept(SweepStart::BEGINNING, NOW, false);
        assert_eq!(first.from_ms(NOW + 1_000), i64::MIN);
        let drained = swept(first, NOW + 1_000, true);
        let left = swept(drained, NOW + 2_000, false);
        assert_eq!(left.from_ms(NOW + 90_000), NOW + 1_000 - SLACK_MS);
    }

    #[test]
    fn all_is_swept_again_every_five_minutes() {
        let mut start = SweepStart::BEGINNING;
        let mut whole = Vec::new();
        for second in 0..=900 {
            let now = NOW + second * 1_000;
            if start.from_ms(now) == i64::MIN {
                whole.push(second);
            }
            start = swept(start, now, true);
        }
        assert_eq!(whole, [0, 300, 600, 900]);
    }

    #[test]
    fn a_clock_that_is_set_back_passes_over_nothing() {
        let start = swept(swept(SweepStart::BEGINNING, NOW, true), NOW + 1_000, true);
        assert_eq!(start.from_ms(NOW + 800), NOW + 800 - SLACK_MS, "a little");
        assert_eq!(start.from_ms(NOW - 60_000), i64::MIN, "further than the next whole sweep");
        let ahead = swept(start, NOW + 100_000_000, true);
        assert_eq!(ahead.from_ms(NOW), i64::MIN, "after a leap forward");
    }
}
