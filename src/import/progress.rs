//! How far a file is loaded.

use std::time::Duration;

/// What one process has loaded of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The line behind which it has begun.
    pub first: u64,
    /// The line to which it has come.
    pub line: u64,
    /// All lines.
    pub lines: u64,
    /// The time since it has begun.
    pub elapsed: Duration,
}

impl Progress {
    fn done(&self) -> u64 {
        self.line.saturating_sub(self.first).max(1)
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// The share of the file.
    pub fn percent(&self) -> u64 {
        self.line.saturating_mul(100) / self.lines.max(1)
    }

    /// The rate of this process.
    pub fn lines_per_second(&self) -> u64 {
        self.done().saturating_mul(1_000) / self.ms()
    }

    /// The time left at this rate.
    pub fn seconds_left(&self) -> u64 {
        let left = u128::from(self.lines.saturating_sub(self.line));
        let seconds = u128::from(self.ms()) * left / u128::from(self.done()) / 1_000;
        u64::try_from(seconds).unwrap_or(u64::MAX)
    }
}
