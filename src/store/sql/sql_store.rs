//! The adapter of all SQL engines: a database, and what a node remembers of it.

use std::future::Future;

use sql_driver::{Database, Dialect, Ended, ReplicaOptions, Row, SqlOptions, StoreError, Tx, Value, Writes};
use tokio::sync::watch;

use super::search::task_terms::RememberedTask;

/// Every port of the primary store, over one database. Cheap to clone: clones share the connections.
#[derive(Clone, Debug)]
pub struct SqlStore {
    pub(super) database: Database,
    pub(super) dialect: Dialect,
    pub(super) last_task: RememberedTask,
    /// The connections of those who wait for an answer, beside which these are for other work.
    ahead: Option<Database>,
}

impl SqlStore {
    /// As [`Database::connect`].
    pub async fn connect(options: &SqlOptions) -> Result<Self, StoreError> {
        let database = Database::connect(options).await?;
        Ok(Self { dialect: database.dialect(), database, last_task: RememberedTask::default(), ahead: None })
    }

    /// As [`Database::with_replicas`].
    pub fn with_replicas(&self, options: &SqlOptions, replicas: &ReplicaOptions) -> Result<Self, StoreError> {
        Ok(Self { database: self.database.with_replicas(options, replicas)?, ..self.clone() })
    }

    /// As [`Database::with_own_connections`]; what is remembered is shared.
    pub async fn with_own_connections(&self, options: &SqlOptions) -> Result<Self, StoreError> {
        let database = self.database.with_own_connections(options).await?;
        Ok(Self { database, ahead: Some(self.database.clone()), ..self.clone() })
    }

    /// Transactions that may run at once behind all who wait for an answer: one on each free connection, and only one
    /// while all connections of those who wait are in use.
    pub(super) fn room_behind(&self) -> usize {
        let is_free = self.ahead.as_ref().is_none_or(|ahead| ahead.room() > 0);
        if is_free { self.database.room().max(1) } else { 1 }
    }

    /// As [`Database::statements`].
    pub fn statements(&self) -> u64 {
        self.database.statements()
    }

    /// As [`Database::transactions`].
    pub fn transactions(&self) -> u64 {
        self.database.transactions()
    }

    /// As [`Database::commits`].
    pub fn commits(&self) -> u64 {
        self.database.commits()
    }

    /// As [`Database::writes`].
    pub fn writes(&self) -> watch::Receiver<Writes> {
        self.database.writes()
    }

    /// As [`Database::serving_replicas`].
    pub fn serving_replicas(&self) -> Option<(usize, usize)> {
        self.database.serving_replicas()
    }

    /// As [`Database::ping`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.database.ping("seaql_migrations").await
    }

    /// As [`Database::close`].
    pub async fn close(&self) -> Result<(), StoreError> {
        self.database.close().await
    }

    /// As [`Database::read`].
    pub(super) fn read(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> {
        self.database.read(sql, values)
    }

    /// As [`Database::read_few`].
    pub(super) fn read_few(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> {
        self.database.read_few(sql, values)
    }

    /// As [`Database::read_anywhere`], docs/protocol.md#replicas. For what clients are shown: never for what decides
    /// who may do something, and not for a statement that must come before others.
    pub(super) fn read_anywhere(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> {
        self.database.read_anywhere(sql, values)
    }

    /// As [`Database::read_few_anywhere`], for what [`Self::read_anywhere`] is for.
    pub(super) fn read_few_anywhere(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> {
        self.database.read_few_anywhere(sql, values)
    }

    /// As [`Database::write`].
    pub(super) fn write(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> impl Future<Output = Result<u64, StoreError>> {
        self.database.write(sql, values)
    }

    /// As [`Database::transaction`].
    pub(super) fn transaction<T, F>(&self, work: impl Fn(Tx) -> F) -> impl Future<Output = Result<T, StoreError>>
    where
        F: Future<Output = Result<Ended<T>, StoreError>>,
    {
        self.database.transaction(work)
    }

    /// As [`Database::brief_transaction`].
    pub(super) fn brief_transaction<T, F>(&self, work: impl Fn(Tx) -> F) -> impl Future<Output = Result<T, StoreError>>
    where
        F: Future<Output = Result<Ended<T>, StoreError>>,
    {
        self.database.brief_transaction(work)
    }
}
