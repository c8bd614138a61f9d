//! What deliveries and readers may assume of one follow edge.

use serde::{Deserialize, Serialize};

/// The mode of a follow edge (docs/coverage.md). A change to `Pull` is safe at any time. Growth goes `Pull -> Fill ->
/// Push`, and only covering the edge makes the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeMode {
    /// Deliveries may skip it; the reader pulls the author's outbox.
    Pull,
    /// Deliveries include it; the reader still pulls.
    Fill,
    /// Deliveries include it; the reader trusts the inbox from its floor on.
    Push,
}

impl EdgeMode {
    /// The number in the table `follows`.
    pub const fn code(self) -> i32 {
        match self {
            Self::Pull => 0,
            Self::Fill => 1,
            Self::Push => 2,
        }
    }

    /// The mode of a stored number. An unknown number reads as `Pull`, which claims nothing.
    pub const fn from_code(code: i32) -> Self {
        match code {
            2 => Self::Push,
            1 => Self::Fill,
            _ => Self::Pull,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_mode_claims_no_coverage() {
        for mode in [EdgeMode::Pull, EdgeMode::Fill, EdgeMode::Push] {
            assert_eq!(EdgeMode::from_code(mode.code()), mode);
        }
        assert_eq!(EdgeMode::from_code(7), EdgeMode::Pull);
    }
}
