//! Compares a reader's rows with the invariant, in SQL.

use async_trait::async_trait;
use sql_driver::Fragment;

use super::{
    super::{SqlStore, rows::DomainColumns as _},
    state::OUTSIDE,
};
use crate::{
    domain::{EdgeMode, UserId, timeline::audit::DifferenceCause},
    store::{Audits, StoreError, audits::Flaw},
};

const HOLE: i64 = 0;
const MISPLACED: i64 = 1;

#[async_trait]
impl Audits for SqlStore {
    async fn readers(&self, after: i64, limit: u64) -> Result<Vec<UserId>, StoreError> {
        let sql = format!(
            "SELECT user_id FROM inbox_states WHERE user_id > ? AND (floor_time IS NOT NULL OR tier = {OUTSIDE}) \
             ORDER BY user_id LIMIT ?"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(&sql, [after.into(), limit.into()]).await?.iter().map(|row| row.user(0)).collect()
    }

    async fn last_reader(&self) -> Result<i64, StoreError> {
        let rows = self.read("SELECT COALESCE(MAX(user_id), 0) FROM inbox_states", []).await?;
        rows.first().map_or(Ok(0), |row| row.get(0))
    }

    async fn flaws(&self, reader: UserId, limit: u64) -> Result<Vec<Flaw>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let statement = Fragment::default()
            .add(&format!("SELECT {HOLE}, x.* FROM "), [])
            .then(holes(reader, limit).into_table("x"))
            .add(&format!(" UNION ALL SELECT {MISPLACED}, x.* FROM "), [])
            .then(misplaced(reader, limit).into_table("x"));
        let rows = self.read(&statement.text, statement.values).await?;
        rows.iter()
            .map(|row| {
                let cause = if row.get::<i64>(0)? == HOLE { DifferenceCause::Hole } else { DifferenceCause::Misplaced };
                Ok(Flaw { cause, entry: row.entry(1)? })
            })
            .collect()
    }
}

/// Contents on trusted edges, at the floor or above it, that are neither in flight nor in the inbox.
fn holes(reader: UserId, limit: i64) -> Fragment {
    let text = format!(
        "SELECT c.publish_time, c.id, c.author_id FROM inbox_states s \
         JOIN follows f ON f.follower_id = s.user_id AND f.mode = {push} \
         JOIN contents c ON c.author_id = f.author_id AND c.removed_at IS NULL AND c.publish_time >= s.floor_time \
         AND (c.publish_time > s.floor_time OR c.id >= s.floor_content) WHERE s.user_id = ? \
         AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.content_id = c.id) \
         AND NOT EXISTS (SELECT 1 FROM inboxes i WHERE i.user_id = s.user_id \
         AND i.publish_time = c.publish_time AND i.content_id = c.id) LIMIT ?",
        push = EdgeMode::Push.code(),
    );
    Fragment::new(text, [reader.get(), limit])
}

/// Rows at or above the floor whose author or publish time differs from the content's. Rows without a content are
/// never shown.
fn misplaced(reader: UserId, limit: i64) -> Fragment {
    let text = "SELECT i.publish_time, i.content_id, i.author_id FROM inbox_states s \
                JOIN inboxes i ON i.user_id = s.user_id AND i.publish_time >= s.floor_time \
                AND (i.publish_time > s.floor_time OR i.content_id >= s.floor_content) \
                JOIN contents c ON c.id = i.content_id WHERE s.user_id = ? \
                AND (c.publish_time <> i.publish_time OR c.author_id <> i.author_id) LIMIT ?";
    Fragment::new(text, [reader.get(), limit])
}
