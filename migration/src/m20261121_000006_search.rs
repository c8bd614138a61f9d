//! Adds the search's inverted index, and how far it has been filled with older contents.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, small};

/// The search's index.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261121_000006_search"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in [SEARCH_TERMS, SEARCH_PROGRESS] {
            table.create(schema).await?;
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
