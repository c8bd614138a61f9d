//! Adds the search's inverted index, and how far it has been filled with older contents.

use sea_orm_migration::prelude::{DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait};

use crate::table::{Table, big, small};

/// The search's index.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in [SEARCH_TERMS, SEARCH_PROGRESS] {
            table.create(manager).await?;
        }
        Ok(())
    }
}

/// The contents that have a term are one range of the key, in order of time.
const SEARCH_TERMS: Table = Table {
    name: "search_terms",
    columns: &[big("term"), big("publish_time"), big("content_id")],
    key: "term, publish_time, content_id",
    indexes: &[],
};

/// Contents with ids up to `through_id` have their terms in this form. Without a row, none have.
const SEARCH_PROGRESS: Table = Table {
    name: "search_progress",
    columns: &[big("form"), big("through_id"), small("is_done").or("0")],
    key: "form",
    indexes: &[],
};
