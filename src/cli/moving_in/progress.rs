//! How far a file is loaded, for people: with the rate and the time left, and seldom where nobody looks.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use tokio::time::Instant;

use crate::cli::print;

/// Time between two lines on a terminal; the first comes after it.
const EVERY: Duration = Duration::from_secs(2);
/// Time between two lines in a log.
const SELDOM: Duration = Duration::from_secs(30);

/// What is loaded of a file by this process.
pub struct Progress {
    begun: Instant,
    next: Duration,
    every: Duration,
    first: u64,
    lines: u64,
}

impl Progress {
    /// Begins now, behind line `first` of `lines`.
    pub fn begin(first: u64, lines: u64) -> Self {
        let every = if io::stderr().is_terminal() { EVERY } else { SELDOM };
        Self { begun: Instant::now(), next: EVERY, every, first, lines }
    }

    /// Says that `line` is loaded, if it is time.
    pub fn show(&mut self, name: &str, line: u64) {
        let elapsed = self.begun.elapsed();
        if elapsed >= self.next {
            self.next = elapsed + self.every;
            print::complaint(format!("{name}: {}", text(self.first, line, self.lines, elapsed)));
        }
    }
}

/// `line 1200 of 5000, 24 %, 600 lines a second, 6 s left.`
fn text(first: u64, line: u64, lines: u64, elapsed: Duration) -> String {
    let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let done = line.saturating_sub(first).max(1);
    let percent = line.saturating_mul(100) / lines.max(1);
    let left = u128::from(ms) * u128::from(lines.saturating_sub(line)) / u128::from(done) / 1_000;
    let rate = done.saturating_mul(1_000) / ms;
    format!("line {line} of {lines}, {percent} %, {rate} lines a second, {left} s left.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_this_process() {
        let second = Duration::from_secs(2);
        assert_eq!(text(0, 1_200, 5_000, second), "line 1200 of 5000, 24 %, 600 lines a second, 6 s left.");
        assert_eq!(text(4_000, 4_500, 5_000, second), "line 4500 of 5000, 90 %, 250 lines a second, 2 s left.");
        assert_eq!(text(0, 0, 0, Duration::ZERO), "line 0 of 0, 0 %, 1000 lines a second, 0 s left.");
    }
}
