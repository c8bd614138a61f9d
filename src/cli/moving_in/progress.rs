//! How far a file is loaded, for people: with the rate and the time left, and seldom where nobody looks.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use tokio::time::Instant;

use crate::{cli::print, import::Progress};

/// Time between two lines on a terminal; the first comes after it.
const EVERY: Duration = Duration::from_secs(2);
/// Time between two lines in a log.
const SELDOM: Duration = Duration::from_secs(30);

/// What is shown of a file that this process loads.
pub struct ShownProgress {
    begun: Instant,
    next: Duration,
    every: Duration,
    first: u64,
    lines: u64,
}

impl ShownProgress {
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
            let progress = Progress { first: self.first, line, lines: self.lines, elapsed };
            print::complaint(format!("{name}: {}", text(&progress)));
        }
    }
}

/// `line 1200 of 5000, 24 %, 600 lines a second, 6 s left.`
fn text(progress: &Progress) -> String {
    let (percent, rate, left) = (progress.percent(), progress.lines_per_second(), progress.seconds_left());
    let Progress { line, lines, .. } = progress;
    format!("line {line} of {lines}, {percent} %, {rate} lines a second, {left} s left.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_this_process() {
        let after =
            |first, line, lines, seconds| text(&Progress { first, line, lines, elapsed: Duration::from_secs(seconds) });
        assert_eq!(after(0, 1_200, 5_000, 2), "line 1200 of 5000, 24 %, 600 lines a second, 6 s left.");
        assert_eq!(after(4_000, 4_500, 5_000, 2), "line 4500 of 5000, 90 %, 250 lines a second, 2 s left.");
        assert_eq!(after(0, 0, 0, 0), "line 0 of 0, 0 %, 1000 lines a second, 0 s left.");
    }
}
