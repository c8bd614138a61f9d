//! Runs short statements on the caller's thread. A hand-over to another thread and back costs as much as the statement.
//!
//! The caller is a thread that must not block. So a statement is given up there after [`MOST`], does not wait for a lock,
//! and once one has taken longer, because the file is not in memory or the machine is busy, the next [`PAUSE`]
//! statements are handed over.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use rusqlite::Connection;
use sea_orm::Value;
use tokio::time::Instant;

use super::{SqliteReaders, rows};
use crate::store::sql::rows::Row;

/// Longest time that a statement may keep a caller's thread.
const MOST: Duration = Duration::from_millis(5);
/// Statements that are handed over after one took longer.
const PAUSE: u32 = 100;
/// Steps of SQLite's machine between two looks at the clock: some tens of microseconds.
const STEPS_PER_LOOK: i32 = 2_000;

/// How many of the next statements to hand over.
#[derive(Debug, Default)]
pub(super) struct ShortReads {
    handed_over: AtomicU32,
}

impl ShortReads {
    /// Whether the next statement may run on the caller's thread.
    fn takes_next(&self) -> bool {
        let taken = self.handed_over.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.is_err()
    }

    fn note(&self, took: Duration) {
        if took > MOST {
            self.handed_over.store(PAUSE, Ordering::Relaxed);
        }
    }
}

impl SqliteReaders {
    /// The rows of a statement that finds few rows by their keys, read on the calling thread. `None` if it must be
    /// handed over: all connections are in use, such statements take long now, or this one failed.
    pub(in crate::store::sql) fn read_here(&self, sql: &str, values: &[Value]) -> Option<Vec<Row>> {
        if !self.short.takes_next() {
            return None;
        }
        let _permit = self.permits.take_now()?;
        let connection = self.idle().pop()?;
        let began = Instant::now();
        let read = self.read_soon(&connection, sql, values);
        self.put_back(connection);
        self.short.note(began.elapsed());
        read.ok()
    }

    fn read_soon(&self, connection: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let deadline = Instant::now() + MOST;
        connection.progress_handler(STEPS_PER_LOOK, Some(move || Instant::now() > deadline))?;
        connection.busy_timeout(Duration::ZERO)?;
        let read = rows(connection, sql, values.iter().cloned());
        connection.busy_timeout(self.lock_wait)?;
        read
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
