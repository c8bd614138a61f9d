//! Pending relations in the model.

use async_trait::async_trait;
use tidefeed::{
    domain::{EdgeMode, limits::MAX_WAIT_MS},
    store::{
        Relations, StoreError,
        relations::{Pair, PendingRelation},
    },
};

use super::{
    tables::{Change, Relation, Row, Tables},
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

const MAX_PAIRS: u64 = 200;

#[async_trait]
impl Relations for PrimaryStore {
    async fn find(&self, pair: Pair) -> Result<Option<PendingRelation>, StoreError> {
        let believed = self.breaks(Rule::DeletedAuthorIsFollowed);
        self.read(|tables| {
            let row = tables.relations.get(&(pair.follower, pair.author))?;
            let author_exists = believed || tables.counts.contains_key(&pair.author);
            Some(PendingRelation { pair, version: row.version, attempts: row.attempts, author_exists })
        })
        .await
    }

    async fn done(&self, relation: &PendingRelation) -> Result<(), StoreError> {
        let (any, filling) = (self.breaks(Rule::AnyRelationIsDone), self.breaks(Rule::FillingIsDone));
        let key = (relation.pair.follower, relation.pair.author);
        let is_left = |tables: &Tables| any || filling || tables.mode(key.0, key.1) != Some(EdgeMode::Fill);
        let is_meant = |tables: &Tables, row: &Relation| (any || row.version == relation.version) && is_left(tables);
        transaction!(self, tx => change(tx, relation, is_meant, |_| None))
    }

    async fn record_failure(&self, relation: &PendingRelation, retry_at_ms: i64) -> Result<(), StoreError> {
        let later = |row: Relation| Some(Relation { attempts: row.attempts + 1, look_at: retry_at_ms, ..row });
        transaction!(self, tx => change(tx, relation, |_, row| row.version == relation.version, later))
    }

    /// Takes all, wherever the sweep begins: what it would pass over comes with the next whole one.
    async fn due(&self, _from_ms: i64, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Pair>, StoreError> {
        if self.breaks(Rule::NobodySweeps) {
            return Ok(Vec::new());
        }
        transaction!(self, tx => due(tx, (now_ms, next_look_ms), limit.min(MAX_PAIRS)))
    }
}

/// One statement that commits by itself.
async fn change(
    mut tx: Tx,
    relation: &PendingRelation,
    is_meant: impl Fn(&Tables, &Relation) -> bool,
    to: impl Fn(Relation) -> Option<Relation>,
) -> Result<(), StoreError> {
    let key = (relation.pair.follower, relation.pair.author);
    tx.write(|tables| {
        let row = tables.relations.get(&key).filter(|row| is_meant(tables, row));
        row.map(|row| Change::Relation(key, to(*row), None)).into_iter().collect()
    })
    .await?;
    tx.commit(()).await
}

async fn due(mut tx: Tx, (now_ms, next_look_ms): (i64, i64), limit: u64) -> Result<Vec<Pair>, StoreError> {
    let too_far = now_ms.saturating_add(MAX_WAIT_MS);
    let waiting = |tables: &Tables| {
        let is_due = |look_at| look_at <= now_ms || look_at > too_far;
        let mut due: Vec<_> = tables.relations.iter().filter(|(_, row)| is_due(row.look_at)).collect();
        due.sort_by_key(|(pair, row)| (row.look_at, **pair));
        due.into_iter().map(|(pair, _)| *pair).collect::<Vec<_>>()
    };
    let pairs = tx.lock_free_ones(waiting, Row::Relation, limit).await?;
    tx.write(|tables| {
        let rows = pairs.iter().filter_map(|pair| Some((*pair, *tables.relations.get(pair)?)));
        rows.map(|(pair, row)| Change::Relation(pair, Some(Relation { look_at: next_look_ms, ..row }), None)).collect()
    })
    .await?;
    tx.commit(pairs.into_iter().map(|(follower, author)| Pair { follower, author }).collect()).await
}
