//! The names by which people are found, and an index of the most followed.

use sea_orm_migration::prelude::{DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait};

use crate::table::{Index, Table, big, exact, index};

/// Names to be found by, and users by their followers. Another migration, which knows the form of the names, fills the
/// table.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        USER_NAMES.create(manager).await?;
        MOST_FOLLOWED.create(manager, "user_counts").await
    }
}

/// Whoever has a name that begins with something is in one range of the key. 61 characters are at most 244 bytes.
const USER_NAMES: Table = Table {
    name: "user_names",
    columns: &[exact("folded", 244), big("user_id")],
    key: "folded, user_id",
    indexes: &[index("user_names_of", "user_id, folded")],
};

const MOST_FOLLOWED: Index = index("most_followed", "followers, user_id");
