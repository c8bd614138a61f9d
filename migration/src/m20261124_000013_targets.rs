//! Adds an index that separates the followers whom deliveries serve from those who pull.

use sea_orm_migration::prelude::{DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait};

use crate::table::{Index, index};

/// Index of an author's edges by mode, then by follower.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        TARGETS.create(manager, "follows").await
    }
}

const TARGETS: Index = index("targets", "author_id, mode, follower_id");
