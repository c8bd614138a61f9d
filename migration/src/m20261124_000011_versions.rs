//! What a node may remember between two pages has a version: whose contents a reader's timeline has, and what a
//! profile says. Every change draws a number that the version never had before.

use sea_orm_migration::prelude::{DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait};

use crate::table::{Column, big};

/// Versions of timelines' authors and of profiles.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

/// 0: nothing has changed since the column is there.
const ADDED: [(&str, Column); 2] =
    [("user_counts", big("authors_version").or("0")), ("users", big("profile_version").or("0"))];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    /// May be repeated: each step looks whether it has been done.
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (table, column) in ADDED {
            column.add_to(table, manager).await?;
        }
        Ok(())
    }
}
