//! Pages of whole tables in SQL, each a range of the primary key.

use async_trait::async_trait;
use sql_driver::{Dialect, Value};

use super::{
    SqlStore,
    existing_accounts::account_exists,
    rows::{DomainColumns as _, Row},
};
use crate::{
    domain::{
        ContentId, Position, Reaction, UserId, account::external::ExternalId, timeline::exclusion::ExclusionKind,
    },
    store::{
        Export, StoreError,
        export::Keyed,
        imports::{ImportedExclusion, ImportedExclusionKind, ImportedFollow, ImportedMarker, ImportedReaction},
        relations::Pair,
    },
};

#[async_trait]
impl Export for SqlStore {
    async fn all_users(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, UserId>, StoreError> {
        let page = Page { select: "u.id FROM users u", key: ["u.id"], filter: &account_exists("u.id") };
        self.page_of(page, after, limit, |row| row.user(0)).await
    }

    async fn all_contents(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, ContentId>, StoreError> {
        let page = Page { select: "c.id FROM contents c", key: ["c.id"], filter: " AND c.removed_at IS NULL" };
        self.page_of(page, after, limit, |row| row.content(0)).await
    }

    async fn all_tombstones(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, Option<ExternalId>>, StoreError> {
        let page = Page {
            select: "o.content_id, o.external_id, CASE WHEN c.removed_at IS NULL AND g.user_id IS NULL THEN c.id END \
                     FROM content_objects o LEFT JOIN contents c ON c.id = o.content_id \
                     LEFT JOIN account_deletions g ON g.user_id = c.author_id",
            key: ["o.content_id"],
            filter: "",
        };
        let tombstone = |row: &Row| {
            let (external_id, living): (Option<String>, Option<i64>) = (row.get(1)?, row.get(2)?);
            let gone = external_id.filter(|_| living.is_none()).map(|id| ExternalId::try_new(&id)).transpose();
            gone.map_err(|error| StoreError::Unreadable(error.to_string()))
        };
        self.page_of(page, after, limit, tombstone).await
    }

    async fn all_follows(&self, after: [i64; 2], limit: u64) -> Result<Keyed<2, ImportedFollow>, StoreError> {
        let page = Page {
            select: "follower_id, author_id, followed_at FROM follows",
            key: ["follower_id", "author_id"],
            filter: " AND follower_id <> author_id",
        };
        let follow = |row: &Row| {
            let pair = Pair { follower: row.user(0)?, author: row.user(1)? };
            Ok(ImportedFollow { pair, followed_at: row.get(2)? })
        };
        self.page_of(page, after, limit, follow).await
    }

    async fn all_reactions(&self, after: [i64; 3], limit: u64) -> Result<Keyed<3, ImportedReaction>, StoreError> {
        let page = Page {
            select: "content_id, kind, user_id, created_at FROM reactions",
            key: ["content_id", "kind", "user_id"],
            filter: "",
        };
        let reaction = |row: &Row| {
            let (content, code) = (row.content(0)?, row.get::<i32>(1)?);
            let reaction = [Reaction::Like, Reaction::Bookmark].into_iter().find(|reaction| reaction.code() == code);
            let reaction = reaction.ok_or_else(|| StoreError::Unreadable(format!("reaction {code} to {content}")))?;
            Ok(ImportedReaction { user: row.user(2)?, content, reaction, reacted_at: row.get(3)? })
        };
        self.page_of(page, after, limit, reaction).await
    }

    async fn all_exclusions(&self, after: [i64; 3], limit: u64) -> Result<Keyed<3, ImportedExclusion>, StoreError> {
        let other_side = ExclusionKind::BlockedByAuthor.code();
        let page = Page {
            select: "reader_id, author_id, cause FROM exclusions",
            key: ["reader_id", "author_id", "cause"],
            filter: &format!(" AND cause <> {other_side}"),
        };
        self.page_of(page, after, limit, exclusion).await
    }

    async fn all_markers(&self, after: [i64; 1], limit: u64) -> Result<Keyed<1, ImportedMarker>, StoreError> {
        let page = Page { select: "user_id, publish_time, content_id FROM read_markers", key: ["user_id"], filter: "" };
        let marker = |row: &Row| {
            Ok(ImportedMarker { reader: row.user(0)?, position: Position::bound(row.get(1)?, row.get(2)?) })
        };
        self.page_of(page, after, limit, marker).await
    }
}

/// A row of the reader, the author and the cause, as its user has decided.
fn exclusion(row: &Row) -> Result<ImportedExclusion, StoreError> {
    let (reader, author, code) = (row.user(0)?, row.user(1)?, row.get::<i32>(2)?);
    let (user, other, kind) = match ExclusionKind::from_code(code) {
        Some(ExclusionKind::Muted) => (reader, author, ImportedExclusionKind::Mute),
        Some(ExclusionKind::Hidden) => (author, reader, ImportedExclusionKind::Hide),
        Some(ExclusionKind::BlockedByReader) => (reader, author, ImportedExclusionKind::Block),
        Some(ExclusionKind::BlockedByAuthor) | None => {
            return Err(StoreError::Unreadable(format!("exclusion {code} of reader {reader}")));
        }
    };
    Ok(ImportedExclusion { user, other, kind })
}

/// A page of a table: its columns begin with the key's.
struct Page<'a, const COLUMNS: usize> {
    select: &'a str,
    key: [&'static str; COLUMNS],
    /// ` AND ..`, or nothing.
    filter: &'a str,
}

impl SqlStore {
    async fn page_of<const COLUMNS: usize, T>(
        &self,
        Page { select, key, filter }: Page<'_, COLUMNS>,
        after: [i64; COLUMNS],
        limit: u64,
        item: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Keyed<COLUMNS, T>, StoreError> {
        let (beyond, mut values) = beyond(self.dialect, &key, &after);
        let order = key.join(", ");
        let sql = format!("SELECT {select} WHERE {beyond}{filter} ORDER BY {order} LIMIT ?");
        values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let mut page = Vec::new();
        for row in self.read(&sql, values).await? {
            let mut key = after;
            for (column, value) in key.iter_mut().enumerate() {
                *value = row.get(column)?;
            }
            page.push((key, item(&row)?));
        }
        Ok(page)
    }
}

/// The rows beyond a key, as each engine reads them from its index alone: SQLite a comparison of rows, the servers one
/// range for each column.
fn beyond(dialect: Dialect, key: &[&str], after: &[i64]) -> (String, Vec<Value>) {
    if dialect == Dialect::Sqlite {
        let marks = vec!["?"; key.len()].join(", ");
        return (format!("({}) > ({marks})", key.join(", ")), after.iter().map(|it| (*it).into()).collect());
    }
    let (mut ranges, mut values) = (Vec::new(), Vec::new());
    for (last, column) in key.iter().enumerate() {
        let same = key[..last].iter().map(|column| format!("{column} = ?"));
        let conditions: Vec<String> = same.chain([format!("{column} > ?")]).collect();
        ranges.push(format!("({})", conditions.join(" AND ")));
        values.extend(after[..=last].iter().map(|it| Value::from(*it)));
    }
    (format!("({})", ranges.join(" OR ")), values)
}
