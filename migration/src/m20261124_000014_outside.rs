//! Inboxes outside SQL: which readers have one, under which token, and what their claims were read from.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, Index, Table, big, exact, index, small};

/// Tiers, tokens, bases and attempts.
#[derive(Debug)]
pub struct Migration;

/// Everybody begins in SQL; the numbers are drawn when they are needed first.
const ADDED: [(&str, Column); 5] = [
    ("inbox_states", small("tier").or("0")),
    ("inbox_states", big("generation").or_null()),
    ("inbox_states", big("basis").or_null()),
    ("deliveries", big("attempt").or_null()),
    ("subtasks", big("attempt").or_null()),
];

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261124_000014_outside"
    }

    /// May be repeated: each step looks whether it has been done.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        INBOX_BUCKETS.create(schema).await?;
        for (table, column) in ADDED {
            column.add_to(table, schema).await?;
        }
        TIERS.create(schema, "inbox_states").await
    }
}

/// Leads to the readers whose inboxes are outside. No visit changes it.
const TIERS: Index = index("tiers", "tier, user_id");

/// A bucket without a row, or without a node, has no token.
const INBOX_BUCKETS: Table = Table {
    name: "inbox_buckets",
    columns: &[big("bucket"), exact("node", 40).or_null(), big("epoch").or_null()],
    key: "bucket",
    indexes: &[],
};
