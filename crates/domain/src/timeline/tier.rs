//! Decides how deep an inbox may grow and for how long. A reader who pages past the kept entries gets a deeper inbox;
//! the deeper it is, the sooner it is trimmed. This changes only costs.

/// The sizes of inboxes, the steps in which they grow, and the lifetime of deep ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxTiers {
    /// Rows that every inbox keeps.
    pub keep: u32,
    /// Rows that one step of growth adds.
    pub step: u32,
    /// Most rows of an inbox after deep paging.
    pub deep_keep: u32,
    /// Lifetime in ms of an inbox barely deeper than `keep`; deeper ones live shorter.
    pub longest_ms: i64,
}

/// The range in which the end of a deep inbox's lifetime may lie, in ms. A later end was written by a wrong clock and
/// counts as over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LifeEnds {
    /// Now: lifetimes that end at or before it are over.
    pub after: i64,
    /// The latest valid end.
    pub through: i64,
}

impl InboxTiers {
    /// Rows by which an inbox with `held` trusted rows should grow; 0 if it is full. `deep`: a page reached below its
    /// floor.
    pub fn growth(&self, held: u64, deep: bool) -> u32 {
        let most = if deep { self.deep_keep.max(self.keep) } else { self.keep };
        let room = u64::from(most).saturating_sub(held);
        u32::try_from(room).unwrap_or(u32::MAX).min(self.step)
    }

    /// Lifetime in ms of an inbox with `held` rows: the longest one times keep / held. `None` if it holds no more than
    /// `keep`.
    pub fn life_ms(&self, held: u64) -> Option<i64> {
        if held <= u64::from(self.keep) {
            return None;
        }
        let life = i128::from(self.longest_ms) * i128::from(self.keep) / i128::from(held);
        Some(i64::try_from(life).unwrap_or(i64::MAX))
    }

    /// The valid range at `now_ms`.
    pub const fn life_ends(&self, now_ms: i64) -> LifeEnds {
        LifeEnds { after: now_ms, through: now_ms.saturating_add(self.longest_ms) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIERS: InboxTiers = InboxTiers { keep: 300, step: 200, deep_keep: 1_000, longest_ms: 60_000 };

    #[test]
    fn an_inbox_grows_beyond_the_usual_size_only_for_deep_readers() {
        assert_eq!((TIERS.growth(0, false), TIERS.growth(250, false), TIERS.growth(300, false)), (200, 50, 0));
        assert_eq!((TIERS.growth(300, true), TIERS.growth(900, true), TIERS.growth(1_000, true)), (200, 100, 0));
        assert_eq!(TIERS.growth(u64::MAX, true), 0);
    }

    #[test]
    fn twice_as_deep_lives_half_as_long() {
        assert_eq!((TIERS.life_ms(300), TIERS.life_ms(600), TIERS.life_ms(1_200)), (None, Some(30_000), Some(15_000)));
    }

    proptest! {
        #[test]
        fn deeper_inboxes_never_live_longer(held in 0..10_000_u64, more in 0..10_000_u64) {
            if let (Some(life), Some(shorter)) = (TIERS.life_ms(held), TIERS.life_ms(held + more)) {
                let ends = TIERS.life_ends(7);
                prop_assert!(shorter <= life && ends.after < 7 + life && 7 + life <= ends.through);
            }
        }
    }
}
