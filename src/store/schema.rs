//! The tables: checks that they are as this version expects, and migrates them.

use async_trait::async_trait;

use super::StoreError;

/// The tables of a store.
#[async_trait]
pub trait Schema: Send + Sync {
    /// Names of the pending migrations, oldest first. Reads only.
    async fn pending(&self) -> Result<Vec<String>, StoreError>;

    /// Applies them. Several nodes may call it at once: one works, the others wait.
    async fn migrate(&self) -> Result<(), StoreError>;

    /// Updates the planner's statistics where the server does not do so by itself. Bounded; does nothing if little has
    /// changed.
    async fn refresh_statistics(&self) -> Result<(), StoreError>;
}
