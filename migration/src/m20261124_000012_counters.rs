//! Renames counters to the API's words: replies and bookmarks.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};

/// Two columns of `counters`.
#[derive(Debug)]
pub struct Migration;

/// Former column names, each with the statement that renames it.
const RENAMED: [(&str, &str); 2] = [
    ("comments", "ALTER TABLE counters RENAME COLUMN comments TO replies"),
    ("favourites", "ALTER TABLE counters RENAME COLUMN favourites TO bookmarks"),
];

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261124_000012_counters"
    }

    /// May be repeated: each step checks whether it has run. No engine copies the table.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for (former, rename) in RENAMED {
            if schema.has_column("counters", former).await? {
                schema.run(rename).await?;
            }
        }
        Ok(())
    }
}
