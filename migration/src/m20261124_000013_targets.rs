//! Adds an index that separates the followers whom deliveries serve from those who pull.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Index, index};

/// Index of an author's edges by mode, then by follower.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261124_000013_targets"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        TARGETS.create(schema, "follows").await
    }
}

const TARGETS: Index = index("targets", "author_id, mode, follower_id");
