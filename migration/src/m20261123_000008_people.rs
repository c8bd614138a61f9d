//! Adds the names for finding people, and an index of the most followed users.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Index, Table, big, exact, index};

/// The table of names and the index by followers. Another migration, which knows the form of the names, fills the
/// table.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261123_000008_people"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        USER_NAMES.create(schema).await?;
        MOST_FOLLOWED.create(schema, "user_counts").await
    }
}

/// All users with a name that begins with a given prefix are one range of the key. 61 characters are at most 244
/// bytes.
const USER_NAMES: Table = Table {
    name: "user_names",
    columns: &[exact("folded", 244), big("user_id")],
    key: "folded, user_id",
    indexes: &[index("user_names_of", "user_id, folded")],
};

const MOST_FOLLOWED: Index = index("most_followed", "followers, user_id");
