//! Converts between integers and fractions. The generator converts nowhere else.

/// Exact up to 2^53, far above any count here.
#[expect(clippy::cast_precision_loss, reason = "counts of a made-up world stay below 2^53")]
pub const fn fraction(whole: u64) -> f64 {
    whole as f64
}

/// Rounded down; 0 for negatives and NaN.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is what is wanted")]
pub const fn whole(fraction: f64) -> u64 {
    fraction as u64
}

/// The lower 32 bits.
pub const fn low_half(whole: u64) -> u32 {
    let [a, b, c, d, ..] = whole.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Saturating.
pub fn signed(whole: u64) -> i64 {
    i64::try_from(whole).unwrap_or(i64::MAX)
}

/// A number that looks random and depends on nothing but its arguments (the finaliser of the `SplitMix64` generator,
/// twice).
pub const fn scramble(seed: u64, index: u64, purpose: u64) -> u64 {
    finalise(finalise(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(index))
}

const fn finalise(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn scrambled_numbers_differ_by_each_argument() {
        let all: HashSet<_> =
            (0..10).flat_map(|s| (0..10).flat_map(move |i| (0..10).map(move |p| scramble(s, i, p)))).collect();
        assert_eq!(all.len(), 1000);
        assert_eq!(scramble(1, 2, 3), scramble(1, 2, 3));
    }

    #[test]
    fn fractions_saturate_at_both_ends() {
        assert_eq!((whole(-1.5), whole(2.9), whole(f64::NAN)), (0, 2, 0));
        assert_eq!(signed(u64::MAX), i64::MAX);
    }
}
