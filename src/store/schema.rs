//! The tables: whether they are as this version expects, and migrating them.

use async_trait::async_trait;

use super::StoreError;

/// The tables of a store.
#[async_trait]
pub trait Schema: Send + Sync {
    /// Names of the migrations that have yet to be applied, oldest first. Reads only.
    async fn pending(&self) -> Result<Vec<String>, StoreError>;

    /// Applies them. Several nodes may do so at once: one works, the others wait.
    async fn migrate(&self) -> Result<(), StoreError>;

    /// Lets the store learn how its tables have grown, where it does not by itself; bounded, and nothing if little has
    /// changed since the last time.
    async fn refresh_statistics(&self) -> Result<(), StoreError>;
}
