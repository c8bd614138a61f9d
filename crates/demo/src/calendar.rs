//! When seeded users act: by day and night in their own time zones.

use rand::{Rng, RngExt};

use crate::lexicon::Language;

pub const MINUTE_MS: i64 = 60 * 1000;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;
/// The age of the newest action, so that the clocks of several machines may differ a little.
const YOUNGEST_MS: i64 = MINUTE_MS;
/// The relative activity in each hour of the local day: asleep, breakfast, lunch, evening.
const RHYTHM: [u32; 24] = [6, 3, 1, 1, 1, 2, 6, 14, 18, 15, 12, 13, 20, 17, 12, 11, 12, 15, 19, 24, 28, 26, 19, 11];

/// A time within the last `days` before `now_ms`, in the daily rhythm of the language's speakers. `days` is at least
/// 1.
pub fn moment(language: Language, days: u32, now_ms: i64, rng: &mut impl Rng) -> i64 {
    let zone = language.hours_before_utc() * HOUR_MS;
    let midnight = (now_ms + zone).div_euclid(DAY_MS) * DAY_MS - zone;
    let day = i64::from(rng.random_range(0..days.max(1)));
    let at = midnight - day * DAY_MS + hour(rng) * HOUR_MS + rng.random_range(0..HOUR_MS);
    if at > now_ms - YOUNGEST_MS { at - DAY_MS } else { at }
}

fn hour(rng: &mut impl Rng) -> i64 {
    let mut left = rng.random_range(0..RHYTHM.iter().sum());
    for (hour, weight) in (0..).zip(RHYTHM) {
        if left < weight {
            return hour;
        }
        left -= weight;
    }
    0
}

/// When a user was last seen: mostly within two days, sometimes within two weeks, rarely longer ago; not before
/// `since_ms`.
pub fn last_seen(since_ms: i64, now_ms: i64, rng: &mut impl Rng) -> i64 {
    let days = match rng.random_range(0..100) {
        0..60 => 2,
        60..85 => 14,
        _ => 90,
    };
    (now_ms - rng.random_range(YOUNGEST_MS..days * DAY_MS)).max(since_ms)
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    const NOW: i64 = 1_790_000_000_000;

    #[test]
    fn moments_lie_within_the_days_and_never_ahead() {
        let mut rng = StdRng::seed_from_u64(1);
        for language in Language::ALL {
            for _ in 0..2000 {
                let at = moment(language, 3, NOW, &mut rng);
                assert!(at < NOW && at > NOW - 5 * DAY_MS);
            }
        }
    }

    #[test]
    fn nights_are_quieter_than_evenings() {
        let mut rng = StdRng::seed_from_u64(1);
        let hours: Vec<i64> = (0..5000)
            .map(|_| (moment(Language::Chinese, 20, NOW, &mut rng) + 8 * HOUR_MS).rem_euclid(DAY_MS) / HOUR_MS)
            .collect();
        let count = |from, to| hours.iter().filter(|hour| (from..to).contains(*hour)).count();
        assert!(count(19, 22) > 10 * count(2, 5));
    }
}
