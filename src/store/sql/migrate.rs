//! Migrations: bringing the tables up to this version, one node at a time.

use migration::{MigrationTrait, Migrator, MigratorTrait};

use super::{SqlStore, error::store_error, transaction::Tx, user_names::FillUserNames};
use crate::store::StoreError;

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
        let tx = self.begin().await?;
        for statement in self.dialect.before_migrations() {
            tx.execute(statement, []).await?;
        }
        let done = self.migrate_alone(&tx).await;
        for statement in self.dialect.after_migrations() {
            // A lost connection has released its lock. The error is reported below.
            let _ = tx.execute(statement, []).await;
        }
        done?;
        tx.commit(()).await.map(|_| ())
    }

    /// Names of the migrations that have yet to be applied, oldest first. Reads only.
    pub async fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        let pending = Migrations::get_pending_migrations_read_only(&self.writer).await.map_err(store_error)?;
        Ok(pending.iter().map(|migration| migration.name().to_owned()).collect())
    }

    async fn migrate_alone(&self, tx: &Tx) -> Result<(), StoreError> {
        if let Some(lock) = self.dialect.lock_migrations() {
            let held = tx.query_one(lock, []).await?.map_or(Ok(None), |row| row.get::<Option<i64>>(0))?;
            if held != Some(1) {
                return Err(StoreError::Contended("another node has been migrating for a minute".into()));
            }
        }
        Migrations::up(tx.inner()?, None).await.map_err(store_error)
    }
}
