//! Adds the state of the delivery policy and of deep paging: how often an author publishes and a reader reads, until
//! when an inbox may be deep, how often a delivery was checked. The outbox's counter becomes a version: each change
//! sets a number that it never had before.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, big, int};

/// Outbox versions, intervals, expiry times of deep inboxes, and counts of delivery checks.
#[derive(Debug)]
pub struct Migration;

/// Times and intervals are in ms; null means unknown.
const ADDED: [(&str, Column); 5] = [
    ("outbox_heads", big("published_at").or_null()),
    ("outbox_heads", big("publish_every_ms").or_null()),
    ("inbox_states", big("read_every_ms").or_null()),
    ("inbox_states", big("deep_until").or_null()),
    ("deliveries", int("looks").or("0")),
];

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261121_000003_policy"
    }

    /// May be repeated: each step checks whether it has run.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        if schema.has_column("outbox_heads", "seq").await? {
            let rename = "ALTER TABLE outbox_heads RENAME COLUMN seq TO stamp";
            schema.run(rename).await?;
        }
        for (table, column) in ADDED {
            column.add_to(table, schema).await?;
        }
        Ok(())
    }
}
