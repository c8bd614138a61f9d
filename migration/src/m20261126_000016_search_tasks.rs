//! Adds the contents whose search terms are yet to be written or deleted, and how far names have been indexed anew.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, int, small, text};

/// What the indexer has to do.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261126_000016_search_tasks"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in [SEARCH_TASKS, NAME_PROGRESS] {
            table.create(schema).await?;
        }
        Ok(())
    }
}

/// Searches read the range of contents that wait to be indexed, in order of time. A removed content brings its text
/// along, because the text of a deleted account is erased.
const SEARCH_TASKS: Table = Table {
    name: "search_tasks",
    columns: &[
        small("is_removal"),
        big("publish_time"),
        big("content_id"),
        big("author_id"),
        int("terms_done"),
        text("text").or_null(),
    ],
    key: "is_removal, publish_time, content_id",
    indexes: &[],
};

/// Users with ids up to `through_id` have their names indexed in this form. Without a row, none have.
const NAME_PROGRESS: Table = Table {
    name: "name_progress",
    columns: &[big("form"), big("through_id"), small("is_done").or("0")],
    key: "form",
    indexes: &[],
};
