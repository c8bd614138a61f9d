//! The connections to a database, and single reading statements.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sea_orm::Value;
use store_error::StoreError;
use tokio::{sync::watch, task::spawn_blocking};

use crate::{
    connection_permits::ConnectionPermits,
    dialect::Dialect,
    error::{died, read_error},
    finish::Finisher,
    replicas::{ReplicaCondition, Replicas},
    rows::Row,
    server::connections::ServerConnections,
    sqlite::readers::SqliteReaders,
    sqlite::shared_commits::SharedCommits,
    sqlite::writer::SqliteWriter,
    writability::{Writability, Writes},
};

/// Most values of a statement that may run on its caller's thread.
const FEW: usize = 256;

/// A database of any engine. Cheap to clone: clones share the connections.
#[derive(Clone, Debug)]
pub struct Database {
    /// Single statements that read.
    pub(crate) readers: Readers,
    /// Transactions, and single statements that write.
    pub(crate) writer: Writer,
    /// Where single statements that read may run, too.
    pub(crate) replicas: Option<Replicas>,
    /// Permits for the connections of `writer`.
    pub(crate) permits: ConnectionPermits,
    pub(crate) finisher: Finisher,
    pub(crate) dialect: Dialect,
    pub(crate) limits: TimeLimits,
    pub(crate) sent: Arc<AtomicU64>,
    pub(crate) begun: Arc<AtomicU64>,
    pub(crate) writability: Writability,
}

/// Where single reading statements run.
#[derive(Clone, Debug)]
pub(crate) enum Readers {
    /// Connections to a server.
    Server(ServerConnections),
    /// Connections to a file, each used by one thread at a time.
    File(Arc<SqliteReaders>),
}

/// Where transactions and single writing statements run.
#[derive(Clone, Debug)]
pub(crate) enum Writer {
    /// Connections to a server: the same as the readers'.
    Server(ServerConnections),
    /// The connection that writes a file, and its commits.
    File(Arc<SqliteWriter>, SharedCommits),
}

/// How long operations may take before they fail as unavailable or contended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// Limit of a statement or a whole transaction, with the wait for a connection, on the caller's side.
    pub(crate) operation: Duration,
    /// Limit of a write, with its attempts and its waits for a connection and for locks.
    pub(crate) write: Duration,
    /// Limit of one wait for a lock, on the store's side. The attempt is then given up.
    pub(crate) lock_wait: Duration,
}

impl Database {
    /// Statements sent since the database was connected, by all clones together. Those sent at once count as one,
    /// begins and ends of transactions not at all.
    pub fn statements(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Transactions begun since the database was connected, by all clones together. Each takes two more statements, its
    /// begin and its end.
    pub fn transactions(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Commits on SQLite since the database was connected, by all clones together; transactions that end while others
    /// wait share one.
    pub fn commits(&self) -> u64 {
        if let Writer::File(_, shared_commits) = &self.writer { shared_commits.commits() } else { 0 }
    }

    /// Transactions that could begin now on connections for which nobody waits.
    pub fn room(&self) -> usize {
        self.permits.room()
    }

    /// The engine's dialect.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// What is known about writing, with its changes.
    pub fn writes(&self) -> watch::Receiver<Writes> {
        self.writability.watch()
    }

    /// Records the outcome of a probe: writes of such a size and to such tables as its caller needs.
    pub fn note_probe(&self, ended: &Result<(), StoreError>) {
        self.writability.note_probe(ended);
    }

    /// Whether the database answers. `table` is one that exists: TiDB answers for its store only if it has to ask it.
    pub async fn ping(&self, table: &str) -> Result<(), StoreError> {
        let sql = match self.dialect {
            Dialect::Sqlite | Dialect::Mysql => "SELECT 1",
            Dialect::Tidb => &format!("SELECT 1 FROM {table} LIMIT 1"),
        };
        self.read(sql, []).await.map(|_| ())
    }

    /// Closes all connections once they are free; every later call fails as unavailable.
    pub async fn close(&self) -> Result<(), StoreError> {
        if let Readers::File(readers) = &self.readers {
            readers.close().await;
        }
        if let Some(replicas) = &self.replicas {
            replicas.close();
        }
        self.permits.close().await;
        match &self.writer {
            Writer::Server(connections) => connections.close().await,
            Writer::File(writer, shared_commits) => {
                shared_commits.finish().await;
                let writer = Arc::clone(writer);
                let closed = spawn_blocking(move || writer.close()).await;
                closed.map_err(died)?;
            }
        }
        Ok(())
    }

    /// One statement that reads: one snapshot.
    pub async fn read(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<Vec<Row>, StoreError> {
        let (sql, values) = (sql.into(), values.into_iter().collect());
        self.sent.fetch_add(1, Ordering::Relaxed);
        match &self.readers {
            // Where a lost snapshot or a part of the store that is away ends a statement, as no lock does elsewhere.
            Readers::Server(connections) if self.dialect == Dialect::Tidb => {
                let (sql, values): (&Arc<str>, &Vec<Value>) = (&sql, &values);
                self.while_contended(|| self.read_once(connections, Arc::clone(sql), values.clone())).await
            }
            Readers::Server(connections) => self.in_time(self.read_once(connections, sql, values)).await,
            Readers::File(readers) => self.in_time(readers.read(sql, values)).await,
        }
    }

    async fn read_once(
        &self,
        connections: &ServerConnections,
        sql: Arc<str>,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let connections = connections.clone();
        let read = self.finished(async move { connections.query(sql, values).await });
        read.await?.0.map_err(read_error)
    }

    /// As [`Self::read`], on a replica if there is one that has everything which was committed before this call: also
    /// what nobody has acknowledged yet and somebody has seen. Otherwise on the primary.
    pub async fn read_anywhere(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, StoreError> {
        let Some(replicas) = &self.replicas else { return self.read(sql, values).await };
        let (sql, values): (Arc<str>, Vec<Value>) = (sql.into(), values.into_iter().collect());
        match replicas.read(&sql, &values).await {
            Some(rows) => {
                self.sent.fetch_add(1, Ordering::Relaxed);
                Ok(rows)
            }
            None => self.read(&sql, values).await,
        }
    }

    /// As [`Self::read_few`], where [`Self::read_anywhere`] reads.
    pub async fn read_few_anywhere(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, StoreError> {
        if self.replicas.is_some() { self.read_anywhere(sql, values).await } else { self.read_few(sql, values).await }
    }

    /// Tries each replica over a new connection, for some seconds.
    pub async fn replica_conditions(&self) -> Vec<ReplicaCondition> {
        match &self.replicas {
            Some(replicas) => replicas.conditions().await,
            None => Vec::new(),
        }
    }

    /// How many replicas there are, and how many have served the last read that was tried there. `None` without
    /// replicas.
    pub fn serving_replicas(&self) -> Option<(usize, usize)> {
        self.replicas.as_ref().map(Replicas::serving)
    }

    /// As [`Self::read`], for a statement that finds some dozen rows by their keys. On SQLite it runs on the caller's
    /// thread, unless it has many values.
    pub async fn read_few(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<Vec<Row>, StoreError> {
        let values: Vec<Value> = values.into_iter().collect();
        let Readers::File(readers) = &self.readers else { return self.read(sql, values).await };
        if values.len() > FEW {
            return self.read(sql, values).await;
        }
        match readers.read_here(sql, &values) {
            Some(rows) => {
                self.sent.fetch_add(1, Ordering::Relaxed);
                Ok(rows)
            }
            None => self.read(sql, values).await,
        }
    }
}
