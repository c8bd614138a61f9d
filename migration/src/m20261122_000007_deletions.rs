//! Adds deleted accounts, with the progress of removing their contents and edges.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, index};

/// Deleted accounts.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261122_000007_deletions"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        ACCOUNT_DELETIONS.create(schema).await
    }
}

/// A user with a row has no account. Rows stay for good, so that nobody else gets the id or the handle.
const ACCOUNT_DELETIONS: Table = Table {
    name: "account_deletions",
    columns: &[
        big("user_id"),
        big("deleted_at"),
        big("through_time").or("-1"),
        big("through_content").or("0"),
        big("look_at").or_null(),
    ],
    key: "user_id",
    indexes: &[index("account_deletions_look", "look_at")],
};
