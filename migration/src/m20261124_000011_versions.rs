//! Adds versions for what a node remembers between two pages: the authors of a reader's timeline, and profiles. Every
//! change sets a number that the version never had before.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, big};

/// Versions of timelines' authors and of profiles.
#[derive(Debug)]
pub struct Migration;

/// 0: no change since the column was added.
const ADDED: [(&str, Column); 2] =
    [("user_counts", big("authors_version").or("0")), ("users", big("profile_version").or("0"))];

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261124_000011_versions"
    }

    /// May be repeated: each step checks whether it has run.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for (table, column) in ADDED {
            column.add_to(table, schema).await?;
        }
        Ok(())
    }
}
