//! The one connection that writes a SQLite file, and its transactions. Statements run on whichever thread calls: a
//! driver with a thread of its own costs two hand-overs a statement, more than most of these statements take.
//!
//! SQLite ends a transaction by itself when a statement or a commit finds the disk full or fails to write. What is left
//! of the transaction's statements would then run outside of any transaction, each committed at once. So every
//! statement first makes sure that its own transaction is still open.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode};
use sea_orm::Value;

use crate::{
    error::WriterError,
    rows::Row,
    sqlite::rows::{change, rows},
};

/// The WAL is truncated to this size, in bytes, after a burst has made it longer.
const WAL_BYTES: i64 = 64 << 20;
/// Cache of the connection, in KiB.
const CACHE_KIB: i64 = 16 * 1024;
/// Statements that the connection keeps prepared.
const PREPARED: usize = 256;

/// The writing connection to one file. Its users take turns by a permit.
pub(crate) struct SqliteWriter {
    file: PathBuf,
    lock_wait: Duration,
    state: Mutex<State>,
}

struct State {
    /// `None` after a failure that left it in doubt, and once the writer is closed.
    connection: Option<Connection>,
    /// The number of the latest transaction.
    transaction: u64,
}

impl std::fmt::Debug for SqliteWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteWriter").field("file", &self.file).finish_non_exhaustive()
    }
}

impl SqliteWriter {
    /// Opens the file, or makes it. Blocks.
    pub(crate) fn open(file: PathBuf, lock_wait: Duration) -> rusqlite::Result<Self> {
        let connection = Some(connect(&file, lock_wait)?);
        Ok(Self { file, lock_wait, state: Mutex::new(State { connection, transaction: 0 }) })
    }

    /// Closes the connection. The file is opened again if another transaction begins.
    pub(crate) fn close(&self) {
        self.state().connection = None;
    }

    /// Begins a transaction that holds the file's lock for writing from the start: one that read first would fail if
    /// another process wrote in between. Waits for another process's lock, and connects anew if the connection is in
    /// doubt.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<FileTransaction, WriterError> {
        let mut state = self.state();
        let connection = match state.connection.take() {
            Some(connection) if is_at_rest(&connection) => connection,
            _ => connect(&self.file, self.lock_wait)?,
        };
        let begun = connection.execute_batch("BEGIN IMMEDIATE");
        state.connection = Some(connection);
        begun?;
        Ok(self.begun(&mut state))
    }

    /// As [`Self::begin`], but returns `None` where that would wait or connect.
    pub(crate) fn try_begin(self: &Arc<Self>) -> Result<Option<FileTransaction>, WriterError> {
        let mut state = self.state();
        let Some(connection) = state.connection.as_ref().filter(|it| is_at_rest(it)) else { return Ok(None) };
        connection.busy_timeout(Duration::ZERO)?;
        let begun = connection.execute_batch("BEGIN IMMEDIATE");
        connection.busy_timeout(self.lock_wait)?;
        match begun {
            Ok(()) => Ok(Some(self.begun(&mut state))),
            Err(busy) if busy.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn begun(self: &Arc<Self>, state: &mut State) -> FileTransaction {
        state.transaction += 1;
        FileTransaction { writer: Arc::clone(self), number: state.transaction, extent: Extent::Whole, is_open: true }
    }

    /// The path of the file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Runs `work` on the connection, outside of a transaction.
    pub(crate) fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let mut state = self.state();
        if state.connection.is_none() {
            state.connection = Some(connect(&self.file, self.lock_wait)?);
        }
        state.connection.as_ref().map_or(Err(rusqlite::Error::InvalidQuery), work)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the file once: only a connection that has read it writes the WAL into it when it closes.
fn connect(file: &Path, lock_wait: Duration) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(lock_wait)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.pragma_query(None, "user_version", |_| Ok(()))?;
    Ok(connection)
}

/// Whether no transaction is open, after rolling one back that its owner could not.
fn is_at_rest(connection: &Connection) -> bool {
    connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok()
}

/// How much a transaction commits or rolls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// The whole.
    Whole,
    /// A savepoint in a transaction of several.
    Savepoint,
}

/// An open transaction, or a savepoint in one. Dropping it rolls it back. All its calls block.
#[derive(Debug)]
pub(crate) struct FileTransaction {
    writer: Arc<SqliteWriter>,
    number: u64,
    extent: Extent,
    is_open: bool,
}

impl FileTransaction {
    /// Begins a savepoint in this transaction, to be ended before the next one begins.
    pub(crate) fn savepoint(&self) -> Result<Self, WriterError> {
        self.within(|connection| run(connection, "SAVEPOINT one"))?;
        Ok(Self { writer: Arc::clone(&self.writer), number: self.number, extent: Extent::Savepoint, is_open: true })
    }

    /// Whether it is a savepoint in a transaction of several.
    #[cfg(test)]
    pub(crate) fn is_savepoint(&self) -> bool {
        self.extent == Extent::Savepoint
    }

    /// Runs a statement. Returns the rows changed.
    pub(crate) fn execute(&self, sql: &str, values: Vec<Value>) -> Result<u64, WriterError> {
        self.within(|connection| change(connection, sql, values))
    }

    /// The rows of a statement.
    pub(crate) fn query(&self, sql: &str, values: Vec<Value>) -> Result<Vec<Row>, WriterError> {
        self.within(|connection| rows(connection, sql, values))
    }

    /// Commits, or ends the savepoint. A failed commit is rolled back.
    pub(crate) fn commit(mut self) -> Result<(), WriterError> {
        let sql = match self.extent {
            Extent::Whole => "COMMIT",
            Extent::Savepoint => "RELEASE one",
        };
        self.within(|connection| run(connection, sql))?;
        self.is_open = false;
        Ok(())
    }

    /// Rolls back. If SQLite has done so already, that is a success.
    pub(crate) fn roll_back(mut self) -> Result<(), WriterError> {
        self.undo()
    }

    fn undo(&mut self) -> Result<(), WriterError> {
        self.is_open = false;
        let undone = self.within(|connection| match self.extent {
            Extent::Whole => run(connection, "ROLLBACK"),
            Extent::Savepoint => run(connection, "ROLLBACK TO one").and_then(|()| run(connection, "RELEASE one")),
        });
        match undone {
            Ok(()) | Err(WriterError::Undone) => Ok(()),
            Err(error) => {
                self.writer.close();
                Err(error)
            }
        }
    }

    fn within<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, WriterError> {
        let state = self.writer.state();
        match &state.connection {
            Some(connection) if state.transaction == self.number && !connection.is_autocommit() => {
                work(connection).map_err(WriterError::Sqlite)
            }
            _ => Err(WriterError::Undone),
        }
    }
}

impl Drop for FileTransaction {
    fn drop(&mut self) {
        if self.is_open {
            // If it fails, the connection is closed, which rolls back.
            let _ = self.undo();
        }
    }
}

/// A statement without values and rows, which stays prepared.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
