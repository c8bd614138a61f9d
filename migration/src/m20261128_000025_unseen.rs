//! Adds an index that leads to the readers who are on and were not seen for long, past all who are off.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, Index, big, index};

/// Unseen readers who are on.
#[derive(Debug)]
pub struct Migration;

/// The engine computes it, so that a node without this migration's statements keeps it right, too.
const SEEN_WHILE_ON: Column =
    big("seen_while_on").computed_as("CASE WHEN floor_time IS NULL THEN NULL ELSE last_seen END");

const UNSEEN: Index = index("unseen", "seen_while_on, user_id");

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261128_000025_unseen"
    }

    /// May be repeated: each step looks whether it has been done.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        SEEN_WHILE_ON.add_to("inbox_states", schema).await?;
        UNSEEN.create(schema, "inbox_states").await
    }
}
