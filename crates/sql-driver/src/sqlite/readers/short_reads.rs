//! Runs short statements on the caller's thread. A hand-over to another thread and back costs as much as the statement.
//!
//! The caller's thread must not block. So a statement is given up there after [`MOST`] and does not wait for a lock.
//! Once one has taken longer, because the file is not in memory or the machine is busy, the next [`PAUSE`] statements
//! are handed over.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// Longest time that a statement may keep a caller's thread.
pub(crate) const MOST: Duration = Duration::from_millis(5);
/// Statements that are handed over after one took longer.
const PAUSE: u32 = 100;
/// Steps of SQLite's virtual machine between two checks of the clock: some tens of microseconds.
pub(crate) const STEPS_PER_LOOK: i32 = 2_000;

/// How many of the next statements to hand over.
#[derive(Debug, Default)]
pub(crate) struct ShortReads {
    handed_over: AtomicU32,
}

impl ShortReads {
    /// Whether the next statement may run on the caller's thread.
    pub(crate) fn takes_next(&self) -> bool {
        let taken = self.handed_over.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.is_err()
    }

    /// Records how long a statement took there.
    pub(crate) fn note(&self, took: Duration) {
        if took > MOST {
            self.handed_over.store(PAUSE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_long_statement_the_next_hundred_are_handed_over() {
        let short = ShortReads::default();
        short.note(MOST);
        assert!(short.takes_next());
        short.note(MOST + Duration::from_nanos(1));
        assert_eq!((0..PAUSE).filter(|_| short.takes_next()).count(), 0);
        assert!(short.takes_next());
    }
}
