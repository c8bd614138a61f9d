//! Adds what lets many people change the same counts at once: a mark for rows whose counts are spread, and their
//! deltas.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, Table, big, small};

/// Counts that are spread.
#[derive(Debug)]
pub struct Migration;

/// 1: changes of the row's counts may lie in its deltas.
const SPREAD: Column = small("spread").or("0");

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261127_000019_spread_counts"
    }

    /// May be repeated. The binary before it writes the rows alone, which stays right.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in ["counters", "user_counts"] {
            SPREAD.add_to(table, schema).await?;
        }
        for table in [COUNTER_DELTAS, FOLLOWER_DELTAS] {
            table.create(schema).await?;
        }
        Ok(())
    }
}

/// What is to be added to the counters of a content.
const COUNTER_DELTAS: Table = Table {
    name: "counter_deltas",
    columns: &[
        big("content_id"),
        small("shard"),
        big("replies").or("0"),
        big("likes").or("0"),
        big("reposts").or("0"),
        big("bookmarks").or("0"),
    ],
    key: "content_id, shard",
    indexes: &[],
};

/// What is to be added to the followers of a user.
const FOLLOWER_DELTAS: Table = Table {
    name: "follower_deltas",
    columns: &[big("user_id"), small("shard"), big("followers").or("0")],
    key: "user_id, shard",
    indexes: &[],
};
