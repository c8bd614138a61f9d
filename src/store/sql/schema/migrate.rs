//! Migrations: bringing the tables up to this version, one node at a time.

use migration::{
    Migrate,
    sea_orm::{
        ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbBackend, SqliteTransactionMode, Statement,
        TransactionOptions, TransactionTrait as _,
    },
};
use sql_driver::{Dialect, StoreError, migration_commit_error, migration_error};

use super::super::{SqlStore, people::names::FillUserNames};

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
        let connection = self.database.for_migrations().await?;
        let done = match self.dialect {
            Dialect::Sqlite => migrate_file(connection.sea_orm()).await,
            Dialect::Mysql | Dialect::Tidb => migrate_server(connection.sea_orm()).await,
        };
        let closed = connection.close().await;
        done?;
        closed
    }

    /// Names of all migrations, oldest first: what an empty database lacks.
    pub fn migration_names() -> Vec<String> {
        migrations().iter().map(|migration| migration.name().to_owned()).collect()
    }

    /// Names of the migrations that have yet to be applied, oldest first. Reads only.
    pub async fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        let connection = self.database.for_migrations().await?;
        let pending = migration::pending(connection.sea_orm(), &migrations()).await;
        connection.close().await?;
        Ok(pending.map_err(migration_error)?.into_iter().map(str::to_owned).collect())
    }
}

/// The transaction holds the file's lock for writing from its start, so that one process migrates at a time.
async fn migrate_file(file: &DatabaseConnection) -> Result<(), StoreError> {
    let options = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    let tx = file.begin_with_options(options).await.map_err(migration_error)?;
    migration::apply(&tx, &migrations(), usize::MAX).await.map_err(migration_error)?;
    tx.commit().await.map_err(migration_commit_error)
}

async fn migrate_server(server: &DatabaseConnection) -> Result<(), StoreError> {
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
