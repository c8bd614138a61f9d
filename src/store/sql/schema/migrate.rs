//! Migrations: bringing the tables up to this version, one node at a time.

use std::path::Path;

use migration::Migrate;
use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbBackend, SqliteTransactionMode, Statement,
    TransactionOptions, TransactionTrait as _,
};

use super::super::{
    SqlStore,
    connect::file_for_migrations,
    error::{connect_error, migration_commit_error, migration_error},
    people::names::FillUserNames,
    server_connections::ServerConnections,
    sql_store::Writer,
};
use crate::store::StoreError;

/// Run before [`LOCK`] on a server: building an index may take long. MySQL limits reads only, MariaDB (`/*M!`)
/// everything. The session is ended afterwards.
const BEFORE: &str = "SET @tidefeed_migrates = 1 /*M! , SESSION max_statement_time = 0 */";
/// Takes a server's lock to migrate this database, within a minute, and returns 1 if it was taken. It belongs to the
/// session, because tables commit at once here, and ends with it. May take longer than other statements may.
const LOCK: &str = "SELECT /*+ MAX_EXECUTION_TIME(70000) */ GET_LOCK(LEFT(CONCAT('tidefeed:', DATABASE()), 64), 60)";

/// The migrations of the tables, and those that fill one by rules of the domain; oldest first.
fn migrations() -> Vec<Box<dyn Migrate>> {
    let mut all = migration::all();
    all.push(Box::new(FillUserNames));
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all
}

impl SqlStore {
    /// Migrates the tables if necessary. Several nodes may call it at once: one works, the others wait up to a minute
    /// and then report contention. The migration itself has no time limit.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match &self.writer {
            Writer::Server(connections) => self.migrate_server(connections).await,
            Writer::File(writer, _) => self.migrate_file(writer.file()).await,
        }
    }

    /// Names of the migrations that have yet to be applied, oldest first. Reads only.
    pub async fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        let (database, _permit) = match &self.writer {
            Writer::Server(connections) => {
                let permit = self.permits.take().await?;
                (connections.for_migrations().await.map_err(connect_error)?, Some(permit))
            }
            Writer::File(writer, _) => (file_for_migrations(writer.file(), self.limits.lock_wait).await?, None),
        };
        let pending = migration::pending(&database, &migrations()).await;
        database.close().await.map_err(migration_error)?;
        Ok(pending.map_err(migration_error)?.into_iter().map(str::to_owned).collect())
    }

    /// The transaction holds the file's lock for writing from its start, so that one process migrates at a time.
    async fn migrate_file(&self, file: &Path) -> Result<(), StoreError> {
        let _alone = self.permits.take().await?;
        let file = file_for_migrations(file, self.limits.lock_wait).await?;
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let tx = file.begin_with_options(options).await.map_err(migration_error)?;
        migration::apply(&tx, &migrations(), usize::MAX).await.map_err(migration_error)?;
        tx.commit().await.map_err(migration_commit_error)?;
        file.close().await.map_err(migration_error)
    }

    async fn migrate_server(&self, connections: &ServerConnections) -> Result<(), StoreError> {
        let _permit = self.permits.take().await?;
        let server = connections.for_migrations().await.map_err(connect_error)?;
        let done = migrate_in_turn(&server).await;
        let closed = server.close().await.map_err(migration_error);
        done?;
        closed
    }
}

async fn migrate_in_turn(server: &DatabaseConnection) -> Result<(), StoreError> {
    let tx = server.begin().await.map_err(migration_error)?;
    tx.execute_unprepared(BEFORE).await.map_err(migration_error)?;
    migrate_alone(&tx).await?;
    tx.commit().await.map_err(migration_commit_error)
}

async fn migrate_alone(tx: &DatabaseTransaction) -> Result<(), StoreError> {
    let held = tx.query_one_raw(Statement::from_string(DbBackend::MySql, LOCK)).await.map_err(migration_error)?;
    let held = held.map_or(Ok(None), |row| row.try_get_by_index::<Option<i64>>(0)).map_err(migration_error)?;
    if held != Some(1) {
        return Err(StoreError::Contended("another node has been migrating for a minute".into()));
    }
    migration::apply(tx, &migrations(), usize::MAX).await.map_err(migration_error)
}
