//! Compares counters with the rows that they count, and corrects them.

use async_trait::async_trait;

use super::{
    SqlStore,
    rows::{DomainColumns as _, Row},
    spread_counts::{COUNTERS, Counts, FOLLOWERS},
};
use crate::{
    domain::{ContentId, Reaction, UserId},
    store::{
        CounterAudits, StoreError,
        audits::{Counted, Miscount, Recount},
    },
};

/// A table of counters, and each counter with the statement that counts its rows.
struct CountedTable {
    counts: Counts,
    counters: Vec<(&'static str, String)>,
}

fn contents() -> CountedTable {
    let reactions = |reaction: Reaction| {
        let kind = reaction.code();
        format!("SELECT COUNT(*) FROM reactions r WHERE r.content_id = k.content_id AND r.kind = {kind}")
    };
    let references =
        |column| format!("SELECT COUNT(*) FROM contents c WHERE c.{column} = k.content_id AND c.removed_at IS NULL");
    let counters = vec![
        ("likes", reactions(Reaction::Like)),
        ("bookmarks", reactions(Reaction::Bookmark)),
        ("replies", references("reply_to")),
        ("reposts", references("repost_of")),
    ];
    CountedTable { counts: COUNTERS, counters }
}

/// Nobody's own edge to themselves counts.
fn users() -> CountedTable {
    let edges = |column| {
        format!("SELECT COUNT(*) FROM follows f WHERE f.{column} = k.user_id AND f.follower_id <> f.author_id")
    };
    let contents = "SELECT COUNT(*) FROM contents c WHERE c.author_id = k.user_id AND c.removed_at IS NULL";
    let counters =
        vec![("followers", edges("author_id")), ("following", edges("follower_id")), ("contents", contents.to_owned())];
    CountedTable { counts: FOLLOWERS, counters }
}

#[async_trait]
impl CounterAudits for SqlStore {
    async fn recount_contents(&self, after: i64, limit: u64) -> Result<Recount, StoreError> {
        self.recount(&contents(), after, limit, |row| row.content(0).map(Counted::Content)).await
    }

    async fn recount_users(&self, after: i64, limit: u64) -> Result<Recount, StoreError> {
        self.recount(&users(), after, limit, |row| row.user(0).map(Counted::User)).await
    }

    /// Every change of a row of these locks its counter, before or after, or adds to its deltas in the same
    /// transaction. So the rows are counted once the counter is locked, and with them the deltas.
    async fn correct(&self, of: Counted) -> Result<(), StoreError> {
        let (table, id) = match of {
            Counted::Content(content) => (&contents(), ContentId::get(content)),
            Counted::User(user) => (&users(), UserId::get(user)),
        };
        self.transaction(move |tx| async move {
            let CountedTable { counts: counts @ Counts { table: name, key, .. }, counters } = table;
            let lock = format!("SELECT {key} FROM {name} WHERE {key} = ? {}", tx.dialect().for_update());
            if tx.query_one(&lock, [id.into()]).await?.is_none() {
                return tx.roll_back(()).await;
            }
            let in_row = |(column, count): &(&str, String)| format!("({count}) - {}", counts.waiting(column, "k"));
            let in_row: Vec<String> = counters.iter().map(in_row).collect();
            let sql = format!("SELECT {} FROM {name} k WHERE k.{key} = ?", in_row.join(", "));
            let Some(row) = tx.query_one(&sql, [id.into()]).await? else { return tx.roll_back(()).await };
            let columns: Vec<String> = counters.iter().map(|(column, _)| format!("{column} = ?")).collect();
            let mut values = (0..counters.len()).map(|at| row.get::<i64>(at)).collect::<Result<Vec<_>, _>>()?;
            values.push(id);
            let sql = format!("UPDATE {name} SET {} WHERE {key} = ?", columns.join(", "));
            tx.execute(&sql, values.into_iter().map(Into::into)).await?;
            tx.commit(()).await
        })
        .await
    }
}

impl SqlStore {
    async fn recount(
        &self,
        table: &CountedTable,
        after: i64,
        limit: u64,
        counted: impl Fn(&Row) -> Result<Counted, StoreError>,
    ) -> Result<Recount, StoreError> {
        let CountedTable { counts: counts @ Counts { table: name, key, .. }, counters } = table;
        let pair = |(column, count): &(&str, String)| format!("{}, ({count})", counts.whole(column, "k"));
        let pairs: Vec<String> = counters.iter().map(pair).collect();
        let sql =
            format!("SELECT k.{key}, {} FROM {name} k WHERE k.{key} > ? ORDER BY k.{key} LIMIT ?", pairs.join(", "));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.read(&sql, [after.into(), limit.into()]).await?;
        let last = rows.last().map(|row| row.get(0)).transpose()?;
        let mut found = Recount { miscounts: Vec::new(), last, looked_at: rows.len() as u64 };
        for row in &rows {
            for (at, (counter, _)) in counters.iter().enumerate() {
                let (kept, rows) = (row.get(1 + 2 * at)?, row.get(2 + 2 * at)?);
                if kept != rows {
                    found.miscounts.push(Miscount { of: counted(row)?, counter, kept, rows });
                }
            }
        }
        Ok(found)
    }
}
