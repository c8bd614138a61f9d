//! Adds an index of an author's contents with pictures or video, so that they can be listed separately.

use sea_orm_migration::prelude::{
    ConnectionTrait, DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait,
};

use crate::table::{Column, Index, big, index};

/// Contents with media, by author.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        MEDIA_AUTHOR.add_to("contents", manager).await?;
        manager.get_connection().execute_unprepared(FILL).await?;
        MEDIA.create(manager, "contents").await
    }
}

const MEDIA_AUTHOR: Column = big("media_author_id").or_null();
const FILL: &str = "UPDATE contents SET media_author_id = author_id WHERE media <> '[]' AND media_author_id IS NULL";
const MEDIA: Index = index("media", "media_author_id, publish_time, id");
