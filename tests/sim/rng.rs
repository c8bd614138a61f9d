//! A seeded rng: small, fast, and the same on every machine.

/// The `SplitMix64` generator.
#[derive(Debug, Clone)]
pub struct SimRng(u64);

impl SimRng {
    pub const fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 up to and without `end`; 0 if that is 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// `from` up to and with `to`.
    pub fn within(&mut self, from: i64, to: i64) -> i64 {
        from + i64::try_from(self.below(to.abs_diff(from) + 1)).unwrap_or(0)
    }

    /// True so many times in a million.
    pub const fn chance(&mut self, in_a_million: u32) -> bool {
        in_a_million > 0 && self.below(1_000_000) < in_a_million as u64
    }

    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// One of them; there must be one.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}
