//! Connections that read a SQLite file. A statement runs from its first row to its last on one thread for blocking
//! work, which costs two hand-overs whatever the number of rows. A driver that hands over row by row, and pings a
//! connection after each use, costs more than the statement does.
//!
//! One statement at a time uses a connection. It ends when its caller no longer waits, or after the statement
//! time-out. So neither a lost caller nor a slow statement keeps a snapshot, which would prevent a checkpoint of the
//! WAL.
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
use store_error::StoreError;
use tokio::{task::spawn_blocking, time::Instant};

use self::short_reads::ShortReads;
use crate::{
    connection_permits::ConnectionPermits,
    error::{died, sqlite_error},
    options::SqlOptions,
    rows::Row,
    sqlite::rows::rows,
};

/// Statements that a connection keeps prepared. Lists of ids come in powers of two, so there are only a few hundred
/// distinct texts.
const PREPARED: usize = 256;
/// Steps of SQLite's virtual machine between two checks of the clock: some milliseconds.
const STEPS_PER_LOOK: i32 = 100_000;
/// Cache of a connection, in KiB. The file is not mapped into memory, because an I/O error on a mapped page ends the
/// process.
const CACHE_KIB: i64 = 16 * 1024;

/// The connections of one file. The file exists, and another connection keeps it open for writing.
pub(crate) struct SqliteReaders {
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
    pub(crate) async fn open(file: PathBuf, options: &SqlOptions) -> Result<Self, StoreError> {
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

    /// Runs one statement, which is one snapshot. Waits for a free connection up to the acquire time-out, and ends a
    /// statement that takes longer than the statement time-out.
    pub(crate) async fn read(self: &Arc<Self>, sql: Arc<str>, values: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        self.lend(move |connection| rows(connection, &sql, values)).await
    }

    /// The rows of a statement that finds few rows by their keys, read on the calling thread. `None` if the statement
    /// must be handed over: all connections are in use, such statements take long at the moment, or this one failed.
    pub(crate) fn read_here(&self, sql: &str, values: &[Value]) -> Option<Vec<Row>> {
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

    /// The path of the file.
    pub(crate) fn file(&self) -> PathBuf {
        self.file.clone()
    }

    /// Waits until all connections are free, and closes them. Every later read fails.
    pub(crate) async fn close(&self) {
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

    /// Runs `work` on the connection that was in use last, or on a new one.
    pub(crate) fn run<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let connection = self.take()?;
        let done = work(&connection);
        self.put_back(connection);
        done
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

/// Keeps the planner from looking at the values of a statement: it would plan anew at every run, because each has
/// another `LIMIT`.
fn connect(file: PathBuf, lock_wait: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(lock_wait)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    Ok(connection)
}

/// Every statement on the connection from now on ends after `time`, or when `waiting` has gone.
fn limit(connection: &Connection, time: Duration, waiting: Weak<()>) -> rusqlite::Result<()> {
    let deadline = Instant::now() + time;
    let is_over = move || waiting.strong_count() == 0 || Instant::now() > deadline;
    connection.progress_handler(STEPS_PER_LOOK, Some(is_over))
}

#[cfg(test)]
mod tests;
