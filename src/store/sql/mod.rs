//! The SQL adapter: every port of the truth over SQLite, MySQL or MariaDB. [`SqlStore`] implements each port in the file of the port's
//! name; the words in which the engines differ are in [`dialect`], everything else is one text for all.
//!
//! Refuses to know who asks and why; sea-orm and sqlx are named here and nowhere else.

mod account_deletions;
mod accounts;
mod attempts;
mod audits;
mod cards;
mod connect;
mod contents;
mod contents_outbox;
mod contents_references;
mod deliveries;
mod dialect;
mod error;
mod exclusions;
mod finish;
mod follow_lists;
mod follows;
mod hot;
mod identities;
mod inboxes;
mod inspection;
mod keyset;
mod listing;
mod migrate;
mod part;
mod people;
mod profiles;
mod reactions;
mod read_markers;
mod relations;
mod remembered;
mod rows;
mod schema;
mod search;
mod search_terms;
mod seeding;
mod sessions;
mod sqlite_readers;
mod timelines;
mod transaction;
mod turns;
mod user_names;
mod writability;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sea_orm::{ConnectionTrait, DatabaseConnection, Value};

pub use self::{connect::SqlOptions, hot::HotStatement, writability::Writes};
use self::{
    dialect::Dialect,
    error::{read_error, store_error},
    finish::Finisher,
    remembered::RememberedSubjects,
    rows::Row,
    sqlite_readers::SqliteReaders,
    turns::Turns,
    writability::Writability,
};
use super::StoreError;

/// The SQL stores' one adapter. Cheap to clone: clones share the connections.
#[derive(Clone, Debug)]
pub struct SqlStore {
    /// Single statements that read.
    readers: Readers,
    /// Transactions, and single statements that write. On MySQL the same pool as `readers`.
    writer: DatabaseConnection,
    /// With the connections of `writer`.
    turns: Turns,
    finisher: Finisher,
    dialect: Dialect,
    limits: TimeLimits,
    subjects: RememberedSubjects,
    sent: Arc<AtomicU64>,
    writability: Writability,
}

/// Where single statements that read are sent.
#[derive(Clone, Debug)]
enum Readers {
    /// Connections to a server.
    Pool(DatabaseConnection),
    /// Connections to a file, each used by one thread at a time.
    File(Arc<SqliteReaders>),
}

/// How long things may take before the caller is told that the store is unavailable or contended.
#[derive(Clone, Copy, Debug)]
struct TimeLimits {
    /// For a statement, or a transaction as a whole, with the wait for a connection; the caller's side of it.
    operation: Duration,
    /// For a write, with the wait for a connection and for locks, and with its attempts.
    write: Duration,
    /// For one wait for a lock, after which an attempt is given up: the store's side of it.
    lock_wait: Duration,
}

impl SqlStore {
    /// Connects. A SQLite file and its folder are made if they are missing; a server must answer within the acquire time-out. Touches no table.
    pub async fn connect(options: &SqlOptions) -> Result<Self, StoreError> {
        connect::connect(options).await
    }

    /// Statements sent since the store was connected, by all clones together; a transaction's beginning and end do not count.
    pub fn statements(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether the store answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read("SELECT 1", []).await.map(|_| ())
    }

    /// Closes all connections once they are free; every later call fails as unavailable.
    pub async fn close(&self) -> Result<(), StoreError> {
        match &self.readers {
            Readers::Pool(pool) => pool.close_by_ref().await.map_err(store_error)?,
            Readers::File(readers) => readers.close().await,
        }
        self.writer.close_by_ref().await.map_err(store_error)
    }

    /// One statement that reads: one snapshot.
    async fn read(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<Vec<Row>, StoreError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        match &self.readers {
            Readers::Pool(pool) => {
                let (pool, statement) = (pool.clone(), self.dialect.statement(sql, values));
                let read = self.finished(async move { pool.query_all_raw(statement).await });
                let rows = self.in_time(async { read.await?.0.map_err(read_error) }).await?;
                Ok(rows.into_iter().map(Row::Driver).collect())
            }
            Readers::File(readers) => {
                let values = values.into_iter().collect();
                self.in_time(readers.read(sql.to_owned(), values)).await
            }
        }
    }
}

#[cfg(test)]
mod tests;
