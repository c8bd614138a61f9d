//! Floors: the position from which a reader's inbox is trusted.

use super::position::Position;

/// A reader's floor. Lowering it takes the three steps open, read, claim (docs/coverage.md). Raising it is safe at any
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// Deliveries skip the reader, who pulls everything. Also the floor of a reader without a row.
    Off,
    /// Deliveries include the reader; the inbox is trusted from this position on.
    /// [`Position::NEWEST`] trusts nothing yet, [`Position::OLDEST`] trusts all.
    At(Position),
}

impl Floor {
    /// Deliveries include the reader; nothing is trusted yet.
    pub const OPEN: Self = Self::At(Position::NEWEST);

    /// The position from which the inbox is trusted; [`Floor::Off`] reads as [`Position::NEWEST`].
    pub const fn trusted_from(self) -> Position {
        match self {
            Self::Off => Position::NEWEST,
            Self::At(position) => position,
        }
    }

    /// Whether nothing of the inbox is trusted, so that the reader must be reactivated.
    pub fn trusts_nothing(self) -> bool {
        self.trusted_from() == Position::NEWEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_off_trusts_nothing() {
        assert!(Floor::Off.trusts_nothing());
        assert!(Floor::OPEN.trusts_nothing());
        assert!(!Floor::At(Position::OLDEST).trusts_nothing());
    }
}
