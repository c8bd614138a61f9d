//! Smooths the interval between events into one whole number of ms, which fits a column.

use crate::limits::{MAX_INTERVAL_MS, MIN_INTERVAL_MS};

/// The newest gap counts for one part in four (an exponentially weighted moving average).
const WEIGHT: i64 = 4;

/// The interval after an event at `now`, when the last one was at `last_at` and the interval was `before`, all in ms.
/// `None` before the second event. From [`MIN_INTERVAL_MS`] to [`MAX_INTERVAL_MS`].
///
/// A repetition within `one_event_ms` is the same event. A clock that was set back changes nothing.
pub fn smoothed(before: Option<i64>, last_at: Option<i64>, now: i64, one_event_ms: i64) -> Option<i64> {
    let Some(gap) = last_at.map(|last| now.saturating_sub(last)).filter(|gap| *gap >= one_event_ms.max(0)) else {
        return before;
    };
    let gap = bounded(gap);
    Some(before.map_or(gap, |before| {
        let before = bounded(before);
        before + (gap - before) / WEIGHT
    }))
}

fn bounded(interval_ms: i64) -> i64 {
    interval_ms.clamp(MIN_INTERVAL_MS, MAX_INTERVAL_MS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_event_has_no_interval() {
        assert_eq!(smoothed(None, None, 5_000, 0), None);
        assert_eq!(smoothed(None, Some(5_000), 65_000, 0), Some(60_000));
    }

    #[test]
    fn a_new_gap_counts_for_a_quarter() {
        assert_eq!(smoothed(Some(60_000), Some(0), 100_000, 0), Some(70_000));
        assert_eq!(smoothed(Some(60_000), Some(0), 20_000, 0), Some(50_000));
    }

    #[test]
    fn a_quick_repetition_is_the_same_event() {
        assert_eq!(smoothed(Some(60_000), Some(0), 9_999, 10_000), Some(60_000));
        assert_eq!(smoothed(None, Some(0), 9_999, 10_000), None);
        assert_eq!(smoothed(None, Some(0), 10_000, 10_000), Some(10_000));
    }

    #[test]
    fn a_clock_that_went_back_says_nothing() {
        assert_eq!(smoothed(Some(60_000), Some(1_000_000), 0, 0), Some(60_000));
        assert_eq!(smoothed(None, Some(1_000_000), 0, 0), None);
    }

    proptest! {
        #[test]
        fn an_interval_stays_within_its_bounds_and_between_its_parts(
            before in proptest::option::of(any::<i64>()),
            last_at in proptest::option::of(any::<i64>()),
            now in any::<i64>(),
            one_event in 0..1_000_000_i64,
        ) {
            let after = smoothed(before, last_at, now, one_event);
            let gap = last_at.map(|last| now.saturating_sub(last)).filter(|gap| *gap >= one_event);
            match (before, gap, after) {
                (_, None, after) => prop_assert_eq!(after, before),
                (None, Some(gap), after) => prop_assert_eq!(after, Some(bounded(gap))),
                (Some(before), Some(gap), Some(after)) => {
                    let (least, most) = (bounded(before).min(bounded(gap)), bounded(before).max(bounded(gap)));
                    prop_assert!((least..=most).contains(&after));
                }
                (Some(_), Some(_), None) => prop_assert!(false, "what was known is forgotten"),
            }
        }

        #[test]
        fn a_steady_interval_is_found_whatever_was_before(every in 2_000..10_000_000_i64, start in 1_000..10_000_000_i64) {
            let mut interval = Some(start);
            for beat in 1..100 {
                interval = smoothed(interval, Some((beat - 1) * every), beat * every, 0);
            }
            prop_assert!(interval.is_some_and(|found| (found - every).abs() < WEIGHT));
        }
    }
}
