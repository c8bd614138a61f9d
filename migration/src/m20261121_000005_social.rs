//! Adds likes and bookmarks (called favourites then), lists of followers, and read markers.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Index, Table, big, index, small};

/// Reactions, read markers, and the follow edges by time.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261121_000005_social"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in TABLES {
            table.create(schema).await?;
        }
        for index in FOLLOWS_BY_TIME {
            index.create(schema, "follows").await?;
        }
        Ok(())
    }
}

const TABLES: [Table; 2] = [REACTIONS, READ_MARKERS];

/// The key answers whether a viewer has reacted. The two indexes give the users who reacted to a content, and the
/// contents that a user reacted to.
const REACTIONS: Table = Table {
    name: "reactions",
    columns: &[big("content_id"), small("kind"), big("user_id"), big("created_at")],
    key: "content_id, kind, user_id",
    indexes: &[
        index("reactions_of_content", "content_id, kind, created_at, user_id"),
        index("reactions_of_user", "user_id, kind, created_at, content_id"),
    ],
};

const READ_MARKERS: Table = Table {
    name: "read_markers",
    columns: &[big("user_id"), big("publish_time"), big("content_id")],
    key: "user_id",
    indexes: &[],
};

/// Includes each user's edge to themselves.
const FOLLOWS_BY_TIME: [Index; 2] = [
    index("followers_by_time", "author_id, followed_at, follower_id"),
    index("following_by_time", "follower_id, followed_at, author_id"),
];
