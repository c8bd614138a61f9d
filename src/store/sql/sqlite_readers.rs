//! Connections that read a SQLite file. A statement runs from its first row to its last on one thread for blocking
//! work: two hand-overs, however many rows it gives. A driver that hands over row by row, and asks a connection after
//! each use whether it lives, costs more than the statement does.
//!
//! A connection is lent to one statement at a time. A statement ends when nobody waits for its answer any more, or
//! after the statement time-out, so that neither a lost caller nor a slow statement keeps a snapshot from which on the
//! WAL could not be taken into the file.
//!
//! A short statement runs on the caller's thread, without a hand-over: see `short_reads`.

mod short_reads;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use sea_orm::Value;
use tokio::{
    task::{JoinError, spawn_blocking},
    time::Instant,
};

use self::short_reads::ShortReads;
use super::{
    connection_permits::ConnectionPermits, error::sqlite_error, options::SqlOptions, rows::Row, sqlite_rows::rows,
};
use crate::store::StoreError;

/// Statements that a connection keeps prepared. Lists of ids come in powers of two, so that a few hundred texts are
/// all there are.
const PREPARED: usize = 256;
/// Steps of SQLite's machine between two looks at the clock: some milliseconds.
const STEPS_PER_LOOK: i32 = 100_000;
/// What a connection caches of the file, in KiB. Not a mapping of the file: an I/O error on a mapped page ends the
/// process.
const CACHE_KIB: i64 = 16 * 1024;

/// The connections of one file. The file is there, and somebody keeps it open for writing.
pub(super) struct SqliteReaders {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    permits: ConnectionPermits,
    lock_wait: Duration,
    statement_timeout: Duration,
    short: ShortReads,
}

impl std::fmt::Debug for SqliteReaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteReaders").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl SqliteReaders {
    /// Opens one connection at once, the others when they are needed.
    pub(super) async fn open(file: PathBuf, options: &SqlOptions) -> Result<Self, StoreError> {
        let readers = Self {
            file,
            idle: Mutex::default(),
            permits: ConnectionPermits::new(options.connections(), options.acquire_timeout),
            lock_wait: options.lock_wait(),
            statement_timeout: options.statement_timeout,
            short: ShortReads::default(),
        };
        let (file, lock_wait) = (readers.file.clone(), readers.lock_wait);
        let first = spawn_blocking(move || connect(file, lock_wait)).await.map_err(died)?;
        readers.put_back(first.map_err(sqlite_error)?);
        Ok(readers)
    }

    /// One statement: one snapshot. Waits for a free connection for the acquire time-out; what takes longer than the
    /// statement time-out is ended.
    pub(super) async fn read(self: &Arc<Self>, sql: String, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        self.lend(move |connection| rows(connection, &sql, values)).await
    }

    /// The rows of a statement that finds few rows by their keys, read on the calling thread. `None` if it must be
    /// handed over: all connections are in use, such statements take long now, or this one failed.
    pub(super) fn read_here(&self, sql: &str, values: &[Value]) -> Option<Vec<Row>> {
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
        let deadline = Instant::now() + short_reads::MOST;
        connection.progress_handler(short_reads::STEPS_PER_LOOK, Some(move || Instant::now() > deadline))?;
        connection.busy_timeout(Duration::ZERO)?;
        let read = rows(connection, sql, values.iter().cloned());
        connection.busy_timeout(self.lock_wait)?;
        read
    }

    /// Where the file is.
    pub(super) fn file(&self) -> PathBuf {
        self.file.clone()
    }

    /// Waits until all connections are free, and closes them; nothing can be read from then on.
    pub(super) async fn close(&self) {
        self.permits.close().await;
        self.idle().clear();
    }

    /// Runs `work` with a connection, on a thread where it may block. If it panics, the connection is closed and
    /// another takes its place.
    async fn lend<T, F>(self: &Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let permit = self.permits.take().await?;
        // Lives as long as somebody waits for the answer.
        let caller = Arc::new(());
        let (readers, waiting) = (Arc::clone(self), Arc::downgrade(&caller));
        let run = move || {
            let connection = readers.take()?;
            limit(&connection, readers.statement_timeout, waiting)?;
            let done = work(&connection);
            readers.put_back(connection);
            drop(permit);
            done
        };
        let done = spawn_blocking(run).await.map_err(died)?;
        drop(caller);
        done.map_err(sqlite_error)
    }

    fn take(&self) -> rusqlite::Result<Connection> {
        let idle = self.idle().pop();
        idle.map_or_else(|| connect(self.file.clone(), self.lock_wait), Ok)
    }

    fn put_back(&self, connection: Connection) {
        self.idle().push(connection);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The planner must not look at the values of a statement: it would plan anew at every run, as each gives another
/// `LIMIT`.
fn connect(file: PathBuf, lock_wait: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(lock_wait)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    Ok(connection)
}

/// What runs on the connection from now on ends after `time`, or when `waiting` has gone.
fn limit(connection: &Connection, time: Duration, waiting: Weak<()>) -> rusqlite::Result<()> {
    let deadline = Instant::now() + time;
    let is_over = move || waiting.strong_count() == 0 || Instant::now() > deadline;
    connection.progress_handler(STEPS_PER_LOOK, Some(is_over))
}

fn died(died: JoinError) -> StoreError {
    StoreError::Unavailable(Box::new(died))
}

#[cfg(test)]
mod tests;
