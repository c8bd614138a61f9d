//! Adds the version of a user's reactions, and lets counters go with their content, so that their row says whether the
//! content exists.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, big};

/// Versions of reactions, and counters of existing contents alone.
#[derive(Debug)]
pub struct Migration;

/// 0: no change since the column was added.
const VERSION: Column = big("reactions_version").or("0");

/// Every content has counters, and no removed content has.
const COUNTERS: [&str; 2] = [
    "DELETE FROM counters WHERE content_id IN (SELECT id FROM contents WHERE removed_at IS NOT NULL)",
    "INSERT INTO counters (content_id) SELECT id FROM contents c \
     WHERE c.removed_at IS NULL AND NOT EXISTS (SELECT 1 FROM counters k WHERE k.content_id = c.id)",
];

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261124_000015_reactions"
    }

    /// May be repeated. Reads all contents twice.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        VERSION.add_to("user_counts", schema).await?;
        for sql in COUNTERS {
            schema.run(sql).await?;
        }
        Ok(())
    }
}
