//! Quantities that carry their unit.

use std::{fmt, time::Duration};

/// Milliseconds, 0 to 49 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Millis(u32);

impl Millis {
    /// That many milliseconds.
    pub const fn new(ms: u32) -> Self {
        Self(ms)
    }

    /// As a duration.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0 as u64)
    }

    /// As a number to add to a time.
    pub const fn as_i64(self) -> i64 {
        self.0 as i64
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}
