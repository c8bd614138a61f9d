//! The schema of the tables, as the migrations create them.

mod migrate;
mod write_probe;

use async_trait::async_trait;

use super::SqlStore;
use crate::store::{Schema, StoreError};

#[async_trait]
impl Schema for SqlStore {
    async fn pending(&self) -> Result<Vec<String>, StoreError> {
        self.pending_migrations().await
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        Self::migrate(self).await
    }

    async fn refresh_statistics(&self) -> Result<(), StoreError> {
        self.run_each(self.dialect.refresh_statistics()).await
    }
}

impl SqlStore {
    /// Runs statements one after another on one connection.
    pub(super) async fn run_each(&self, statements: &'static [&'static str]) -> Result<(), StoreError> {
        if statements.is_empty() {
            return Ok(());
        }
        self.transaction(move |tx| async move {
            for statement in statements {
                tx.query(statement, []).await?;
            }
            tx.commit(()).await
        })
        .await
    }
}
