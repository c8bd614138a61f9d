//! Renames counters to the API's words: replies and bookmarks.

use sea_orm_migration::prelude::{
    ConnectionTrait, DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait,
};

/// Two columns of `counters`.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

/// Former column names, each with the statement that renames it.
const RENAMED: [(&str, &str); 2] = [
    ("comments", "ALTER TABLE counters RENAME COLUMN comments TO replies"),
    ("favourites", "ALTER TABLE counters RENAME COLUMN favourites TO bookmarks"),
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    /// May be repeated: each step checks whether it has run. No engine copies the table.
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (former, rename) in RENAMED {
            if manager.has_column("counters", former).await? {
                manager.get_connection().execute_unprepared(rename).await?;
            }
        }
        Ok(())
    }
}
