//! The schema of the tables, as the migrations create them.

mod migrate;
mod write_probe;

use async_trait::async_trait;

use super::SqlStore;
use crate::store::{Schema, StoreError};

/// All tables, as the migrations leave them.
pub(super) const TABLES: &[&str] = &[
    "account_deletions",
    "content_objects",
    "contents",
    "counter_deltas",
    "counters",
    "credentials",
    "deactivations",
    "deliveries",
    "exclusions",
    "external_identities",
    "follower_deltas",
    "follows",
    "imports",
    "inbox_buckets",
    "inbox_states",
    "inboxes",
    "name_progress",
    "outbox_heads",
    "reactions",
    "read_markers",
    "relations",
    "seaql_migrations",
    "search_progress",
    "search_tasks",
    "search_terms",
    "service_keys",
    "service_log",
    "sessions",
    "sign_in_attempts",
    "subtasks",
    "user_counts",
    "user_names",
    "users",
];

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
