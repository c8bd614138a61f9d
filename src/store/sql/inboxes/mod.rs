//! Inboxes and their states in SQL, in the lock form of docs/protocol.md: every transaction locks the reader's state
//! row, and reads everything after it. On SQLite the transaction itself is that lock.

mod audits;
mod below;
mod extension;
mod growth;
mod outside;
pub(super) mod state;
mod upkeep;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment};

use super::{
    SqlStore,
    follows::authors_version::renew_authors,
    rows::{DomainColumns as _, MAX_LIST},
};
use crate::{
    domain::{Floor, UserId, timeline::tier::LifeEnds},
    store::{
        Inboxes, StoreError,
        inboxes::{Covered, Extended, SeenReader, Trimmed},
    },
};

/// Readers who are marked as seen in one transaction.
const SEEN_AT_ONCE: usize = 256;

/// The statement that finds the readers to be turned off.
pub(super) fn unseen(dialect: Dialect, from_ms: i64, before_ms: i64, limit: u64) -> Fragment {
    upkeep::unseen(dialect, (from_ms, before_ms), limit)
}

#[async_trait]
impl Inboxes for SqlStore {
    async fn floor(&self, reader: UserId) -> Result<Floor, StoreError> {
        let sql = "SELECT floor_time, floor_content FROM inbox_states WHERE user_id = ?";
        let rows = self.read_few(sql, [reader.get().into()]).await?;
        rows.first().map_or(Ok(Floor::Off), |row| state::floor(row, 0))
    }

    async fn held(&self, reader: UserId, at_most: u32) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) FROM (SELECT i.content_id FROM inbox_states s JOIN inboxes i ON i.user_id = s.user_id \
                   AND i.publish_time >= s.floor_time AND (i.publish_time > s.floor_time OR i.content_id >= s.floor_content) \
                   WHERE s.user_id = ? LIMIT ?) x";
        let rows = self.read(sql, [reader.get().into(), i64::from(at_most).into()]).await?;
        rows.first().map_or(Ok(0), |row| row.count(0))
    }

    async fn keep_deep(&self, reader: UserId, until_ms: i64) -> Result<(), StoreError> {
        let sql = "UPDATE inbox_states SET deep_until = ? WHERE user_id = ?";
        self.write(sql, [until_ms.into(), reader.get().into()]).await.map(|_| ())
    }

    async fn mark_seen(&self, readers: &[UserId], now_ms: i64) -> Result<Vec<SeenReader>, StoreError> {
        let mut all = Vec::with_capacity(readers.len());
        for some in readers.chunks(SEEN_AT_ONCE) {
            let seen = self.transaction(move |tx| async move {
                let seen = state::see(&tx, some, now_ms).await?;
                tx.commit(seen).await
            });
            all.extend(seen.await?);
        }
        Ok(all)
    }

    async fn cover(&self, reader: UserId, author: UserId, keep: u32, version: i64) -> Result<Covered, StoreError> {
        self.transaction(move |tx| async move {
            renew_authors(&tx, &[reader], version).await?;
            match growth::cover(&tx, reader, author, keep).await? {
                undone @ (Covered::NotFilling | Covered::Outside) => tx.roll_back(undone).await,
                covered @ Covered::Yes { .. } => tx.commit(covered).await,
            }
        })
        .await
    }

    async fn clear_unfollowed(&self, reader: UserId, author: UserId) -> Result<u64, StoreError> {
        self.transaction(move |tx| async move {
            let rows = upkeep::clear_unfollowed(&tx, reader, author).await?;
            if rows == 0 { tx.roll_back(0).await } else { tx.commit(rows).await }
        })
        .await
    }

    async fn extend_all(&self, readers: &[UserId], step: u32) -> Result<Vec<(UserId, Extended)>, StoreError> {
        if readers.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(move |tx| async move {
            let extended = extension::extend_all(&tx, readers, step).await?;
            tx.commit(extended).await
        })
        .await
    }

    fn room(&self) -> usize {
        self.room_behind()
    }

    async fn trim(&self, reader: UserId, keep: u32) -> Result<Trimmed, StoreError> {
        self.transaction(move |tx| async move {
            let trimmed = upkeep::trim(&tx, reader, keep).await?;
            tx.commit(trimmed).await
        })
        .await
    }

    async fn reset(&self, reader: UserId) -> Result<u64, StoreError> {
        self.transaction(move |tx| async move {
            let rows = upkeep::reset(&tx, reader).await?;
            tx.commit(rows).await
        })
        .await
    }

    async fn turn_off_unseen(&self, seen_before_ms: i64, limit: u64) -> Result<u64, StoreError> {
        let limit = limit.min(MAX_LIST as u64);
        self.transaction(move |tx| async move {
            let off = upkeep::turn_off_unseen(&tx, seen_before_ms, limit).await?;
            tx.commit(off).await
        })
        .await
    }

    async fn overfull(
        &self,
        after: i64,
        keep: u32,
        limit: u64,
        deep: LifeEnds,
    ) -> Result<(Vec<UserId>, Option<i64>), StoreError> {
        let sql = "SELECT s.user_id, CASE WHEN s.floor_time IS NULL \
                   THEN (SELECT 1 FROM inboxes i WHERE i.user_id = s.user_id LIMIT 1) \
                   WHEN s.deep_until > ? AND s.deep_until <= ? THEN NULL \
                   ELSE (SELECT 1 FROM inboxes i WHERE i.user_id = s.user_id LIMIT 1 OFFSET ?) END \
                   FROM inbox_states s WHERE s.user_id > ? ORDER BY s.user_id LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = [deep.after, deep.through, i64::from(keep), after, limit];
        let rows = self.read(sql, values.map(Into::into)).await?;
        let mut overfull = Vec::new();
        for row in &rows {
            if row.get::<Option<i64>>(1)?.is_some() {
                overfull.push(row.user(0)?);
            }
        }
        let at_end = i64::try_from(rows.len()).unwrap_or(i64::MAX) < limit;
        let last = rows.last().filter(|_| !at_end).map(|row| row.get(0)).transpose()?;
        Ok((overfull, last))
    }
}
