//! Adds an index of an author's contents with pictures or video, so that they can be listed separately.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Column, Index, big, index};

/// Contents with media, by author.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261123_000010_media"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        MEDIA_AUTHOR.add_to("contents", schema).await?;
        schema.run(FILL).await?;
        MEDIA.create(schema, "contents").await
    }
}

const MEDIA_AUTHOR: Column = big("media_author_id").or_null();
const FILL: &str = "UPDATE contents SET media_author_id = author_id WHERE media <> '[]' AND media_author_id IS NULL";
const MEDIA: Index = index("media", "media_author_id, publish_time, id");
