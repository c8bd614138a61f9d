//! Migrations: bringing the tables up to this version, one node at a time.

use std::path::Path;

use migration::{MigrationTrait, Migrator, MigratorTrait};
use sea_orm::{SqliteTransactionMode, TransactionOptions, TransactionTrait};

use super::{
    SqlStore,
    connect::file_for_migrations,
    error::{commit_error, store_error},
    open_transaction::{Runs, Tx},
    sql_store::Writer,
    user_names::FillUserNames,
};
use crate::store::StoreError;

/// Run before [`LOCK`] on a server: building an index may take long. MySQL limits reads only, MariaDB (`/*M!`)
/// everything.
const BEFORE: [&str; 2] = [
    "SET @tidefeed_limit = 0 /*M! + @@SESSION.max_statement_time */",
    "SET @tidefeed_migrates = 1 /*M! , SESSION max_statement_time = 0 */",
];
/// Takes a server's lock to migrate this database, within a minute, and returns 1 if it was taken. It belongs to the
/// session, because tables commit at once here. May take longer than other statements may.
const LOCK: &str = "SELECT /*+ MAX_EXECUTION_TIME(70000) */ GET_LOCK(LEFT(CONCAT('tidefeed:', DATABASE()), 64), 60)";
/// Undoes both.
const AFTER: [&str; 2] = [
    "DO RELEASE_LOCK(LEFT(CONCAT('tidefeed:', DATABASE()), 64))",
    "SET @tidefeed_migrates = 0 /*M! , SESSION max_statement_time = @tidefeed_limit */",
];

/// The migrations of the tables, and those that fill one by rules of the domain.
struct Migrations;

impl MigratorTrait for Migrations {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all = Migrator::migrations();
        all.push(Box::new(FillUserNames));
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }
}

impl SqlStore {
    /// Migrates the tables if necessary. Several nodes may call it at once: one works, the others wait up to a minute
    /// and then report contention. The migration itself has no time limit.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match &self.writer {
            Writer::Pool(_) => self.migrate_server().await,
            Writer::File(writer, _) => self.migrate_file(writer.file()).await,
        }
    }

    /// Names of the migrations that have yet to be applied, oldest first. Reads only.
    pub async fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        let pending = match &self.writer {
            Writer::Pool(pool) => Migrations::get_pending_migrations_read_only(pool).await,
            Writer::File(writer, _) => {
                let file = file_for_migrations(writer.file(), self.limits.lock_wait).await?;
                let pending = Migrations::get_pending_migrations_read_only(&file).await;
                file.close().await.map_err(store_error)?;
                pending
            }
        };
        Ok(pending.map_err(store_error)?.iter().map(|migration| migration.name().to_owned()).collect())
    }

    /// The transaction holds the file's lock for writing from its start, so that one process migrates at a time.
    async fn migrate_file(&self, file: &Path) -> Result<(), StoreError> {
        let _alone = self.permits.take().await?;
        let file = file_for_migrations(file, self.limits.lock_wait).await?;
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let tx = file.begin_with_options(options).await.map_err(store_error)?;
        Migrations::up(&tx, None).await.map_err(store_error)?;
        tx.commit().await.map_err(commit_error)?;
        file.close().await.map_err(store_error)
    }

    async fn migrate_server(&self) -> Result<(), StoreError> {
        let tx = self.begin(Runs::HandedOver).await?;
        for statement in BEFORE {
            tx.execute(statement, []).await?;
        }
        let done = migrate_alone(&tx).await;
        for statement in AFTER {
            // A lost connection has released its lock. The error is reported below.
            let _ = tx.execute(statement, []).await;
        }
        done?;
        tx.commit(()).await.map(|_| ())
    }
}

async fn migrate_alone(tx: &Tx) -> Result<(), StoreError> {
    let held = tx.query_one(LOCK, []).await?;
    if held.map_or(Ok(None), |row| row.get::<Option<i64>>(0))? != Some(1) {
        return Err(StoreError::Contended("another node has been migrating for a minute".into()));
    }
    Migrations::up(tx.server()?, None).await.map_err(store_error)
}
