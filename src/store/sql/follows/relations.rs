//! Pending relations in SQL: one row for each pair. Follow and unfollow write it with the edge, see the `follows`
//! adapter.

use std::collections::HashMap;

use async_trait::async_trait;
use sql_driver::Tx;

use super::super::{
    SqlStore,
    rows::{DomainColumns as _, MAX_LIST, Row},
};
use crate::{
    domain::{EdgeMode, limits::MAX_WAIT_MS},
    store::{
        Relations, StoreError,
        relations::{Pair, PendingRelation},
    },
};

/// Most pairs in one statement: two values each.
const MAX_PAIRS: usize = MAX_LIST / 4;

#[async_trait]
impl Relations for SqlStore {
    async fn find(&self, pair: Pair) -> Result<Option<PendingRelation>, StoreError> {
        let sql = "SELECT r.follower_id, r.author_id, r.version, r.attempts, n.user_id FROM relations r \
                   LEFT JOIN user_counts n ON n.user_id = r.author_id WHERE r.follower_id = ? AND r.author_id = ?";
        let rows = self.read_few(sql, [pair.follower.get().into(), pair.author.get().into()]).await?;
        rows.first().map(relation).transpose()
    }

    async fn done(&self, relation: &PendingRelation) -> Result<(), StoreError> {
        let sql = format!(
            "DELETE FROM relations WHERE follower_id = ? AND author_id = ? AND version = ? \
             AND NOT EXISTS (SELECT 1 FROM follows f WHERE f.follower_id = relations.follower_id \
             AND f.author_id = relations.author_id AND f.mode = {fill})",
            fill = EdgeMode::Fill.code(),
        );
        let PendingRelation { pair, version, .. } = relation;
        self.write(&sql, [pair.follower.get().into(), pair.author.get().into(), (*version).into()]).await.map(|_| ())
    }

    async fn record_failure(&self, relation: &PendingRelation, retry_at_ms: i64) -> Result<(), StoreError> {
        let sql = "UPDATE relations SET attempts = attempts + 1, look_at = ? \
                   WHERE follower_id = ? AND author_id = ? AND version = ?";
        let PendingRelation { pair, version, .. } = relation;
        let values = [retry_at_ms, pair.follower.get(), pair.author.get(), *version];
        self.write(sql, values.map(Into::into)).await.map(|_| ())
    }

    async fn due(&self, from_ms: i64, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Pair>, StoreError> {
        let limit = limit.min(MAX_PAIRS as u64);
        self.transaction(move |tx| async move {
            let due = due(&tx, (from_ms, now_ms, next_look_ms), limit).await?;
            tx.commit(due).await
        })
        .await
    }
}

async fn due(tx: &Tx, (from_ms, now_ms, next_look_ms): (i64, i64, i64), limit: u64) -> Result<Vec<Pair>, StoreError> {
    let is_due = format!(
        "FROM relations{look} WHERE look_at >= ? AND (+look_at <= ? OR +look_at > ?) ORDER BY look_at",
        look = tx.dialect().in_order_of("relations_look"),
    );
    let too_far = now_ms.saturating_add(MAX_WAIT_MS);
    // Locks nothing: a lock costs a hundred times as much at each row that is gone and lingers.
    let first = format!("SELECT look_at {is_due} LIMIT 1");
    let Some(first) = tx.query_one(&first, [from_ms, now_ms, too_far].map(Into::into)).await? else {
        return Ok(Vec::new());
    };
    let sql = format!(
        "SELECT follower_id, author_id {is_due}, follower_id, author_id LIMIT ? {}",
        tx.dialect().for_update_skip_locked()
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(&sql, [first.get(0)?, now_ms, too_far, limit].map(Into::into)).await?;
    let due: Vec<Pair> = rows.iter().map(pair).collect::<Result<_, _>>()?;
    let mut by_follower: HashMap<i64, Vec<i64>> = HashMap::new();
    for pair in &due {
        by_follower.entry(pair.follower.get()).or_default().push(pair.author.get());
    }
    for (follower, authors) in by_follower {
        let (list, values) = super::super::rows::id_list(&authors);
        let sql = format!("UPDATE relations SET look_at = ? WHERE follower_id = ? AND author_id IN {list}");
        tx.execute(&sql, [next_look_ms.into(), follower.into()].into_iter().chain(values)).await?;
    }
    Ok(due)
}

fn pair(row: &Row) -> Result<Pair, StoreError> {
    Ok(Pair { follower: row.user(0)?, author: row.user(1)? })
}

fn relation(row: &Row) -> Result<PendingRelation, StoreError> {
    let attempts: i64 = row.get(3)?;
    Ok(PendingRelation {
        pair: pair(row)?,
        version: row.get(2)?,
        author_exists: row.get::<Option<i64>>(4)?.is_some(),
        attempts: u32::try_from(attempts).map_err(|_| StoreError::Unreadable(format!("{attempts} attempts")))?,
    })
}
