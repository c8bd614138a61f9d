//! Adds exclusions, replies and reposts, and an outbox index that covers the timeline's conditions.

use sea_orm_migration::prelude::{
    ConnectionTrait, DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait,
};
use sea_orm_migration::sea_orm::DbBackend;

use crate::table::{Table, big, index, small};

/// Exclusions, replies and reposts.
#[derive(Debug, DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        EXCLUSIONS.create(manager).await?;
        // On a server all changes of the table are one atomic statement, so its column shows whether it has run.
        if manager.has_column("contents", "repost_author_id").await? {
            return Ok(());
        }
        let changes: &[&str] = match manager.get_database_backend() {
            DbBackend::Sqlite => &ONE_BY_ONE,
            _ => &AT_ONCE,
        };
        for change in changes {
            manager.get_connection().execute_unprepared(change).await?;
        }
        Ok(())
    }
}

/// One row for each cause: an author can be excluded for several.
const EXCLUSIONS: Table = Table {
    name: "exclusions",
    columns: &[big("reader_id"), big("author_id"), small("cause")],
    key: "reader_id, author_id, cause",
    indexes: &[
        index("exclusions_by_author", "author_id, cause, reader_id"),
        index("exclusions_by_reader", "reader_id, cause, author_id"),
    ],
};

/// The outbox index holds every column that decides whether a content is in a timeline, so skipping a content reads no
/// row.
const AT_ONCE: [&str; 1] = ["ALTER TABLE contents ADD COLUMN repost_author_id BIGINT, \
     DROP KEY outbox, \
     ADD KEY outbox (author_id, publish_time, id, removed_at, kind, repost_of, repost_author_id), \
     ADD KEY replies (reply_to, publish_time, id), \
     ADD KEY reposts (repost_of, author_id)"];

const ONE_BY_ONE: [&str; 5] = [
    "ALTER TABLE contents ADD COLUMN repost_author_id INTEGER",
    "DROP INDEX outbox",
    "CREATE INDEX outbox ON contents (author_id, publish_time, id, removed_at, kind, repost_of, repost_author_id)",
    "CREATE INDEX replies ON contents (reply_to, publish_time, id)",
    "CREATE INDEX reposts ON contents (repost_of, author_id)",
];
