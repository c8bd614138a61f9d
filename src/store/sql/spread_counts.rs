//! Counts that many people change at once. A change of a count in its row makes all others wait until the commit. So
//! once a count has reached [`SPREAD_FROM`], its row is *spread*, for good: changes are added to one of
//! [`COUNT_SHARDS`] rows beside it, its *deltas*. A statement that reads the count adds them up, so it is exact in
//! every snapshot. [`SpreadCounts::gather`] moves deltas into the row.

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Tx, Value};

use super::{
    SqlStore,
    rows::{Row, id_list},
};
use crate::{
    domain::{
        Counters, UserId,
        limits::{COUNT_SHARDS, SPREAD_FROM},
    },
    store::{SpreadCounts, StoreError},
};

/// A table of counts, and its deltas.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    deltas: &'static str,
    columns: &'static [&'static str],
}

/// Of contents.
pub(super) const COUNTERS: Counts = Counts {
    table: "counters",
    key: "content_id",
    deltas: "counter_deltas",
    columns: &["replies", "likes", "reposts", "bookmarks"],
};

/// Of users. Only others change their followers; all else is changed by the user alone.
pub(super) const FOLLOWERS: Counts =
    Counts { table: "user_counts", key: "user_id", deltas: "follower_deltas", columns: &["followers"] };

/// The columns that [`counters`] decodes, of the counters `k`. One sub-select, because MySQL and MariaDB plan each anew
/// in every run. Both would scan deltas while there are few; SQLite passes over the comment.
pub(super) const COUNTER_COLUMNS: &str = "k.replies, k.likes, k.reposts, k.bookmarks, CASE WHEN k.spread = 1 THEN \
    (SELECT CONCAT(SUM(d.replies), ' ', SUM(d.likes), ' ', SUM(d.reposts), ' ', SUM(d.bookmarks)) \
    FROM counter_deltas d /*! FORCE INDEX (PRIMARY) */ WHERE d.content_id = k.content_id) END";

/// How many columns these are.
pub(super) const COUNTER_WIDTH: usize = 5;

/// The counters in the columns from `place` on; `None` if the row has none.
pub(super) fn counters(row: &Row, place: usize) -> Result<Option<Counters>, StoreError> {
    let Some(replies) = row.get::<Option<i64>>(place)? else { return Ok(None) };
    let [likes, reposts, bookmarks] = [row.get::<i64>(place + 1)?, row.get(place + 2)?, row.get(place + 3)?];
    let deltas: Option<String> = row.get(place + 4)?;
    let unreadable = || StoreError::Unreadable(format!("the deltas {deltas:?}"));
    // Without a row, the sums are null, and SQLite joins nulls as empty texts.
    let sums = deltas.iter().flat_map(|sums| sums.split_whitespace()).map(str::parse::<i64>);
    let [more_replies, more_likes, more_reposts, more_bookmarks] =
        match sums.collect::<Result<Vec<_>, _>>().map_err(|_| unreadable())?.as_slice() {
            [] => [0; 4],
            [replies, likes, reposts, bookmarks] => [*replies, *likes, *reposts, *bookmarks],
            _ => return Err(unreadable()),
        };
    Ok(Some(Counters {
        replies: replies + more_replies,
        likes: likes + more_likes,
        reposts: reposts + more_reposts,
        bookmarks: bookmarks + more_bookmarks,
    }))
}

/// A change of one count.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) column: &'static str,
    pub(super) id: i64,
    pub(super) more: i64,
    /// The user who causes it; decides on the shard.
    pub(super) by: UserId,
}

impl Counts {
    /// ` , spread = ..`: follows a new value of the column in an update of the table.
    pub(super) fn spreads(column: &str) -> String {
        format!(", spread = CASE WHEN {column} >= {SPREAD_FROM} THEN 1 ELSE spread END")
    }

    /// The sum of the deltas of the row that the statement calls `row`.
    pub(super) fn waiting(self, column: &str, row: &str) -> String {
        let (Self { key, deltas, columns, .. }, by_key) = (self, "/*! FORCE INDEX (PRIMARY) */");
        if !columns.contains(&column) {
            return "0".to_owned();
        }
        format!(
            "(SELECT CAST(COALESCE(SUM(d.{column}), 0) AS SIGNED) FROM {deltas} d {by_key} WHERE d.{key} = {row}.{key})"
        )
    }

    /// The whole count of the row that the statement calls `row`.
    pub(super) fn whole(self, column: &str, row: &str) -> String {
        if !self.columns.contains(&column) {
            return format!("{row}.{column}");
        }
        format!("{row}.{column} + CASE WHEN {row}.spread = 1 THEN {} ELSE 0 END", self.waiting(column, row))
    }

    /// Makes the change beside the row, if that is spread, or in the row. Looks for spread rows first, because a row
    /// that an update passes over stays locked on MariaDB if it was waited for.
    pub(super) async fn change(self, tx: &Tx, change: Change) -> Result<(), StoreError> {
        let dialect = tx.dialect();
        if tx.all([self.beside(dialect, change)]).await?.affected(0) == 0 {
            tx.all([self.in_row(dialect, change)]).await?;
        }
        Ok(())
    }

    /// Makes the change in the row. A count never falls below zero, whatever older versions have counted.
    pub(super) fn in_row(self, dialect: Dialect, change: Change) -> Fragment {
        let (Self { table, key, .. }, Change { column, id, more, .. }) = (self, change);
        let (greatest, spreads) = (dialect.greatest(), Self::spreads(column));
        let text = format!("UPDATE {table} SET {column} = {greatest}({column} + ?, 0){spreads} WHERE {key} = ?");
        Fragment::new(text, [more, id])
    }

    /// Makes the change beside the row, if that is spread. Waits for nobody who changes the row.
    pub(super) fn beside(self, dialect: Dialect, change: Change) -> Fragment {
        let (Self { table, key, deltas, .. }, Change { column, id, more, by }) = (self, change);
        let text = format!(
            "INSERT INTO {deltas} ({key}, shard, {column}) SELECT {key}, ?, ? FROM {table} WHERE {key} = ? AND spread = 1 \
             {on_conflict} {column} = {deltas}.{column} + {incoming}",
            on_conflict = dialect.on_conflict_update(&format!("{key}, shard")),
            incoming = dialect.incoming(column),
        );
        Fragment::new(text, [by.get() % COUNT_SHARDS, more, id])
    }

    /// Adds the deltas of one row to it, and deletes them. The row is locked first: hardly anybody waits for it who
    /// holds one of its deltas, and then one of both is repeated. Deltas of a row that is gone go as well.
    async fn gather(self, tx: &Tx, id: i64) -> Result<(), StoreError> {
        let Self { table, key, deltas, columns } = self;
        let (for_update, greatest) = (tx.dialect().for_update(), tx.dialect().greatest());
        tx.query_one(&format!("SELECT 1 FROM {table} WHERE {key} = ? {for_update}"), [id.into()]).await?;
        let sql = format!("SELECT shard, {} FROM {deltas} WHERE {key} = ? {for_update}", columns.join(", "));
        let (mut shards, mut sums) = (Vec::new(), vec![0_i64; columns.len()]);
        for row in tx.query(&sql, [id.into()]).await? {
            shards.push(row.get::<i64>(0)?);
            for (place, sum) in sums.iter_mut().enumerate() {
                *sum += row.get::<i64>(place + 1)?;
            }
        }
        if shards.is_empty() {
            return Ok(());
        }
        let sets: Vec<String> =
            columns.iter().map(|column| format!("{column} = {greatest}({column} + ?, 0)")).collect();
        let sql = format!("UPDATE {table} SET {} WHERE {key} = ?", sets.join(", "));
        tx.execute(&sql, sums.into_iter().chain([id]).map(Value::from)).await?;
        let (list, values) = id_list(&shards);
        let sql = format!("DELETE FROM {deltas} WHERE {key} = ? AND shard IN {list}");
        tx.execute(&sql, std::iter::once(Value::from(id)).chain(values)).await.map(|_| ())
    }
}

#[async_trait]
impl SpreadCounts for SqlStore {
    async fn gather(&self, limit: u64) -> Result<u64, StoreError> {
        let mut gathered = 0;
        for counts in [COUNTERS, FOLLOWERS] {
            let Counts { key, deltas, .. } = counts;
            let sql = format!("SELECT DISTINCT {key} FROM {deltas} ORDER BY {key} LIMIT ?");
            for row in self.read(&sql, [i64::try_from(limit).unwrap_or(i64::MAX).into()]).await? {
                let id = row.get(0)?;
                self.transaction(move |tx| async move {
                    counts.gather(&tx, id).await?;
                    tx.commit(()).await
                })
                .await?;
                gathered += 1;
            }
        }
        Ok(gathered)
    }
}
