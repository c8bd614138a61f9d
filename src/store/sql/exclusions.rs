//! Exclusions in SQL: rows of (reader, author, cause). A block writes one for each side, and locks as follows do, see
//! the `follows` adapter.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sea_orm::Value;

use super::{
    SqlStore,
    account_deletions::account_exists,
    follows::{end_edge, lock_counts},
    rows::{MAX_LIST, id_list},
};
use crate::{
    domain::{
        UserId,
        timeline::exclusion::{Cause, Standing},
    },
    store::{
        Exclusions, StoreError,
        exclusions::{Blocked, Decided, Excluded},
        relations::Pair,
    },
};

#[async_trait]
impl Exclusions for SqlStore {
    async fn mute(&self, reader: UserId, author: UserId) -> Result<Excluded, StoreError> {
        self.exclude(reader, author, Cause::Muted, author).await
    }

    async fn unmute(&self, reader: UserId, author: UserId) -> Result<bool, StoreError> {
        self.include(reader, author, Cause::Muted).await
    }

    async fn hide(&self, author: UserId, reader: UserId) -> Result<Excluded, StoreError> {
        self.exclude(reader, author, Cause::Hidden, reader).await
    }

    async fn unhide(&self, author: UserId, reader: UserId) -> Result<bool, StoreError> {
        self.include(reader, author, Cause::Hidden).await
    }

    async fn block(&self, user: UserId, other: UserId, now_ms: i64) -> Result<Blocked, StoreError> {
        let edges = [Pair { follower: user, author: other }, Pair { follower: other, author: user }];
        self.transaction(move |tx| async move {
            if !lock_counts(&tx, edges[0]).await?.has(other) {
                return tx.roll_back(Blocked::UnknownUser).await;
            }
            let sides = [(user, other, Cause::BlockedByReader), (other, user, Cause::BlockedByAuthor)];
            for (reader, author, cause) in sides {
                if !tx.insert(INSERT, row(reader, author, cause)).await? {
                    return tx.roll_back(Blocked::Already).await;
                }
            }
            let mut ended = Vec::new();
            for edge in edges {
                if end_edge(&tx, edge, now_ms).await? {
                    ended.push(edge);
                }
            }
            tx.commit(Blocked::New { ended }).await
        })
        .await
    }

    async fn unblock(&self, user: UserId, other: UserId) -> Result<bool, StoreError> {
        let [from, to] = [row(user, other, Cause::BlockedByReader), row(other, user, Cause::BlockedByAuthor)];
        let sql = format!("{DELETE} OR (reader_id = ? AND author_id = ? AND cause = ?)");
        Ok(self.write(&sql, from.into_iter().chain(to)).await? > 0)
    }

    async fn standings(&self, user: UserId, others: &[UserId]) -> Result<Vec<(UserId, Standing)>, StoreError> {
        let mut standings: BTreeMap<UserId, Standing> = BTreeMap::new();
        for others in others.chunks(MAX_LIST / 2) {
            let (list, ids) = id_list(others);
            let sql = format!(
                "SELECT author_id, cause FROM exclusions WHERE reader_id = ? AND author_id IN {list} AND cause IN ({muted}, {blocked}) \
                 UNION ALL SELECT reader_id, cause FROM exclusions WHERE author_id = ? AND cause = {hidden} AND reader_id IN {list}",
                muted = Cause::Muted.code(),
                blocked = Cause::BlockedByReader.code(),
                hidden = Cause::Hidden.code(),
            );
            let user = Value::from(user.get());
            let values = std::iter::once(user.clone()).chain(ids.clone()).chain([user]).chain(ids);
            for row in self.read(&sql, values).await? {
                let standing = standings.entry(row.user(0)?).or_default();
                match Cause::from_code(row.get(1)?) {
                    Some(Cause::Muted) => standing.has_muted = true,
                    Some(Cause::Hidden) => standing.is_hiding = true,
                    Some(Cause::BlockedByReader) => standing.has_blocked = true,
                    Some(Cause::BlockedByAuthor) | None => {}
                }
            }
        }
        Ok(standings.into_iter().collect())
    }

    async fn decided(
        &self,
        user: UserId,
        what: Decided,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let (own, other, cause) = match what {
            Decided::Muted => ("reader_id", "author_id", Cause::Muted),
            Decided::Blocked => ("reader_id", "author_id", Cause::BlockedByReader),
            Decided::HiddenFrom => ("author_id", "reader_id", Cause::Hidden),
        };
        let sql = format!(
            "SELECT {other} FROM exclusions WHERE {own} = ? AND cause = ? AND {other} > ?{} ORDER BY {own}, cause, {other} LIMIT ?",
            account_exists(&format!("exclusions.{other}")),
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let after = after.map_or(0, UserId::get);
        let values: [Value; 4] = [user.get().into(), cause.code().into(), after.into(), limit.into()];
        self.read(&sql, values).await?.iter().map(|row| row.user(0)).collect()
    }
}

const INSERT: &str = "INSERT INTO exclusions (reader_id, author_id, cause) VALUES (?, ?, ?)";
const DELETE: &str = "DELETE FROM exclusions WHERE (reader_id = ? AND author_id = ? AND cause = ?)";

fn row(reader: UserId, author: UserId, cause: Cause) -> [Value; 3] {
    [reader.get().into(), author.get().into(), cause.code().into()]
}

impl SqlStore {
    /// `other` is the one of the two who is named by a client, hence may not exist.
    async fn exclude(
        &self,
        reader: UserId,
        author: UserId,
        cause: Cause,
        other: UserId,
    ) -> Result<Excluded, StoreError> {
        self.transaction(move |tx| async move {
            let sql = format!("SELECT 1 FROM users WHERE id = ?{}", account_exists("users.id"));
            if tx.query_one(&sql, [other.get().into()]).await?.is_none() {
                return tx.roll_back(Excluded::UnknownUser).await;
            }
            if !tx.insert(INSERT, row(reader, author, cause)).await? {
                return tx.roll_back(Excluded::Already).await;
            }
            tx.commit(Excluded::New).await
        })
        .await
    }

    async fn include(&self, reader: UserId, author: UserId, cause: Cause) -> Result<bool, StoreError> {
        Ok(self.write(DELETE, row(reader, author, cause)).await? > 0)
    }
}
