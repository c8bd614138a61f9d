//! Adds exclusions, replies and reposts, and an outbox index that covers the timeline's conditions.

use sea_orm::DbErr;

use crate::schema::{Engine, Migrate, Schema};
use crate::table::{Index, Table, big, index, small};

/// Exclusions, replies and reposts.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261121_000002_exclusions"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        EXCLUSIONS.create(schema).await?;
        let changes: &[&str] = match schema.engine() {
            Engine::Sqlite => &ONE_BY_ONE,
            Engine::Mysql => &AT_ONCE,
            Engine::Tidb => return each_if_due(schema).await,
        };
        // On MySQL and MariaDB all changes of the table are one atomic statement, so its column shows whether it has
        // run.
        if schema.has_column("contents", "repost_author_id").await? {
            return Ok(());
        }
        for change in changes {
            schema.run(change).await?;
        }
        Ok(())
    }
}

/// TiDB commits each change by itself, and takes no index under the name of one that the same statement drops.
async fn each_if_due(schema: &Schema<'_>) -> Result<(), DbErr> {
    big("repost_author_id").or_null().add_to("contents", schema).await?;
    let is_former = !schema.has_index_of("contents", OUTBOX.name(), "repost_author_id").await?;
    if is_former && schema.has_index("contents", OUTBOX.name()).await? {
        schema.run("ALTER TABLE contents DROP KEY outbox").await?;
    }
    for index in [OUTBOX, index("replies", "reply_to, publish_time, id"), index("reposts", "repost_of, author_id")] {
        index.create(schema, "contents").await?;
    }
    Ok(())
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

/// It holds every column that decides whether a content is in a timeline, so skipping a content reads no row.
const OUTBOX: Index = index("outbox", "author_id, publish_time, id, removed_at, kind, repost_of, repost_author_id");

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
