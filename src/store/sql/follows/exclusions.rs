//! Exclusions in SQL: rows of (reader, author, cause). A block writes one for each side, and locks as follows do, see
//! the `follows` adapter.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sql_driver::Value;

use super::{
    super::{
        SqlStore,
        existing_accounts::account_exists,
        rows::{DomainColumns as _, MAX_LIST, id_list},
    },
    LockedCounts,
    authors_version::renew_authors,
    edge_of, end_edge, lock_counts,
};
use crate::{
    domain::{
        UserId,
        timeline::exclusion::{ExclusionKind, ExclusionState},
    },
    store::{
        Exclusions, StoreError,
        exclusions::{Blocked, Excluded, ExclusionList},
        relations::Pair,
    },
};

#[async_trait]
impl Exclusions for SqlStore {
    async fn mute(&self, reader: UserId, author: UserId, version: i64) -> Result<Excluded, StoreError> {
        self.exclude((reader, author, ExclusionKind::Muted), author, version).await
    }

    async fn unmute(&self, reader: UserId, author: UserId, version: i64) -> Result<bool, StoreError> {
        self.include(&[(reader, author, ExclusionKind::Muted)], version).await
    }

    async fn hide(&self, author: UserId, reader: UserId, version: i64) -> Result<Excluded, StoreError> {
        self.exclude((reader, author, ExclusionKind::Hidden), reader, version).await
    }

    async fn unhide(&self, author: UserId, reader: UserId, version: i64) -> Result<bool, StoreError> {
        self.include(&[(reader, author, ExclusionKind::Hidden)], version).await
    }

    async fn block(&self, user: UserId, other: UserId, version: i64, now_ms: i64) -> Result<Blocked, StoreError> {
        let edges = [Pair { follower: user, author: other }, Pair { follower: other, author: user }];
        self.transaction(move |tx| async move {
            let dialect = tx.dialect();
            let counts = LockedCounts::of(tx.all([lock_counts(dialect, edges[0], None)]).await?.rows(0))?;
            if !counts.has(other) {
                return tx.roll_back(Blocked::UnknownUser).await;
            }
            for side in sides(user, other) {
                if !tx.insert(INSERT, row(side)).await? {
                    return tx.roll_back(Blocked::Already).await;
                }
            }
            let mut ended = Vec::new();
            for edge in edges {
                let found = tx.all([edge_of(dialect, edge)]).await?;
                if end_edge(&tx, (edge, &counts), found.row(0), (version, now_ms)).await? {
                    ended.push(edge);
                }
            }
            renew_authors(&tx, &[user, other], version).await?;
            tx.commit(Blocked::New { ended }).await
        })
        .await
    }

    async fn unblock(&self, user: UserId, other: UserId, version: i64) -> Result<bool, StoreError> {
        self.include(&sides(user, other), version).await
    }

    async fn exclusion_states(
        &self,
        user: UserId,
        others: &[UserId],
    ) -> Result<Vec<(UserId, ExclusionState)>, StoreError> {
        let mut exclusion_states: BTreeMap<UserId, ExclusionState> = BTreeMap::new();
        for others in others.chunks(MAX_LIST / 2) {
            let (list, ids) = id_list(others);
            let sql = format!(
                "SELECT author_id, cause FROM exclusions WHERE reader_id = ? AND author_id IN {list} AND cause IN ({muted}, {blocked}) \
                 UNION ALL SELECT reader_id, cause FROM exclusions WHERE author_id = ? AND cause = {hidden} AND reader_id IN {list}",
                muted = ExclusionKind::Muted.code(),
                blocked = ExclusionKind::BlockedByReader.code(),
                hidden = ExclusionKind::Hidden.code(),
            );
            let user = Value::from(user.get());
            let values = std::iter::once(user.clone()).chain(ids.clone()).chain([user]).chain(ids);
            for row in self.read_few_anywhere(&sql, values).await? {
                let exclusions = exclusion_states.entry(row.user(0)?).or_default();
                match ExclusionKind::from_code(row.get(1)?) {
                    Some(ExclusionKind::Muted) => exclusions.has_muted = true,
                    Some(ExclusionKind::Hidden) => exclusions.is_hiding = true,
                    Some(ExclusionKind::BlockedByReader) => exclusions.has_blocked = true,
                    Some(ExclusionKind::BlockedByAuthor) | None => {}
                }
            }
        }
        Ok(exclusion_states.into_iter().collect())
    }

    async fn excluded(
        &self,
        user: UserId,
        what: ExclusionList,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let (own, other, cause) = match what {
            ExclusionList::Muted => ("reader_id", "author_id", ExclusionKind::Muted),
            ExclusionList::Blocked => ("reader_id", "author_id", ExclusionKind::BlockedByReader),
            ExclusionList::HiddenFrom => ("author_id", "reader_id", ExclusionKind::Hidden),
        };
        let sql = format!(
            "SELECT {other} FROM exclusions WHERE {own} = ? AND cause = ? AND {other} > ?{} ORDER BY {own}, cause, {other} LIMIT ?",
            account_exists(&format!("exclusions.{other}")),
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let after = after.map_or(0, UserId::get);
        let values: [Value; 4] = [user.get().into(), cause.code().into(), after.into(), limit.into()];
        self.read_anywhere(&sql, values).await?.iter().map(|row| row.user(0)).collect()
    }
}

const INSERT: &str = "INSERT INTO exclusions (reader_id, author_id, cause) VALUES (?, ?, ?)";
const DELETE: &str = "DELETE FROM exclusions WHERE reader_id = ? AND author_id = ? AND cause = ?";

/// A row: the reader, the excluded author, and the cause.
type Exclusion = (UserId, UserId, ExclusionKind);

/// The two rows of a block.
const fn sides(user: UserId, other: UserId) -> [Exclusion; 2] {
    [(user, other, ExclusionKind::BlockedByReader), (other, user, ExclusionKind::BlockedByAuthor)]
}

fn row((reader, author, cause): Exclusion) -> [Value; 3] {
    [reader.get().into(), author.get().into(), cause.code().into()]
}

impl SqlStore {
    /// A client names `other`, so they may not exist. Locks the counts first, as a block does.
    async fn exclude(&self, exclusion: Exclusion, other: UserId, version: i64) -> Result<Excluded, StoreError> {
        self.transaction(move |tx| async move {
            let sql = format!("SELECT 1 FROM users WHERE id = ?{}", account_exists("users.id"));
            if tx.query_one(&sql, [other.get().into()]).await?.is_none() {
                return tx.roll_back(Excluded::UnknownUser).await;
            }
            renew_authors(&tx, &[exclusion.0], version).await?;
            if !tx.insert(INSERT, row(exclusion)).await? {
                return tx.roll_back(Excluded::Already).await;
            }
            tx.commit(Excluded::New).await
        })
        .await
    }

    /// Deletes the rows; `false` if there was none.
    async fn include(&self, exclusions: &[Exclusion], version: i64) -> Result<bool, StoreError> {
        let mut readers: Vec<UserId> = exclusions.iter().map(|(reader, ..)| *reader).collect();
        readers.sort_unstable();
        let readers = &readers;
        self.transaction(move |tx| async move {
            renew_authors(&tx, readers, version).await?;
            let mut lifted = 0;
            for exclusion in exclusions {
                lifted += tx.execute(DELETE, row(*exclusion)).await?;
            }
            if lifted == 0 { tx.roll_back(false).await } else { tx.commit(true).await }
        })
        .await
    }
}
