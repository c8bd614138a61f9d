//! Delivery records: rows, locks, and the query for due ones.

use std::collections::HashMap;

use sql_driver::{Dialect, Fragment, Tx};

use super::super::rows::{DomainColumns as _, Row, id_list};
use crate::{
    domain::{ContentId, UserId, limits::MAX_WAIT_MS},
    store::{StoreError, deliveries::Delivery},
};

/// Selects what [`delivery`] reads. A record whose content cannot be found has nothing to deliver: it counts as
/// removed.
pub(super) const SELECT: &str = "SELECT d.publish_time, d.content_id, d.author_id, \
     c.id IS NULL OR c.removed_at IS NOT NULL, d.attempts, d.last_error \
     FROM deliveries d LEFT JOIN contents c ON c.id = d.content_id";

/// What is added to the next wait for each number of looks, in units of the first wait. So a slow delivery is
/// announced less and less often.
const OFTEN: &str = "CASE looks WHEN 0 THEN 0 WHEN 1 THEN 1 ELSE 3 END";

/// A row of [`SELECT`].
pub(super) fn delivery(row: &Row) -> Result<Delivery, StoreError> {
    let attempts: i64 = row.get(4)?;
    Ok(Delivery {
        entry: row.entry(0)?,
        removed: row.get::<i64>(3)? != 0,
        attempts: u32::try_from(attempts).map_err(|_| StoreError::Unreadable(format!("{attempts} attempts")))?,
        last_error: row.get(5)?,
    })
}

/// Locks the record and returns its author, or `None` if it is gone.
pub(super) async fn lock(tx: &Tx, content: ContentId) -> Result<Option<UserId>, StoreError> {
    tx.all([locked(tx.dialect(), content)]).await?.row(0).map(|row| row.user(0)).transpose()
}

/// The author, of a record that it locks.
pub(super) fn locked(dialect: Dialect, content: ContentId) -> Fragment {
    let text = format!("SELECT author_id FROM deliveries WHERE content_id = ? {}", dialect.for_update());
    Fragment::new(text, [content.get()])
}

/// Deletes the record; no subtask was cut.
pub(super) fn delete(content: ContentId) -> Fragment {
    Fragment::new("DELETE FROM deliveries WHERE content_id = ?", [content.get()])
}

/// Deletes the record and its subtasks.
pub(super) async fn delete_with_subtasks(tx: &Tx, content: ContentId) -> Result<(), StoreError> {
    let subtasks = Fragment::new("DELETE FROM subtasks WHERE content_id = ?", [content.get()]);
    tx.all([subtasks, delete(content)]).await.map(|_| ())
}

/// At most `limit` records that are due at `now_ms`, or whose time is too far in the future to be right; oldest first.
/// The next look of each is set to `next_look_ms` or later. Skips those that another sweeper holds.
pub(super) async fn due(
    tx: &Tx,
    (from_ms, now_ms, next_look_ms): (i64, i64, i64),
    limit: u64,
) -> Result<Vec<Delivery>, StoreError> {
    let Fragment { text, values } = first_due(tx.dialect(), from_ms, now_ms);
    let Some(first) = tx.query_one(&text, values).await? else { return Ok(Vec::new()) };
    let statement = due_statement(tx.dialect(), (first.get(0)?, now_ms), limit);
    let rows = tx.query(&statement.text, statement.values).await?;
    let ids: Vec<ContentId> = rows.iter().map(|row| row.content(0)).collect::<Result<_, _>>()?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (list, values) = id_list(&ids);
    let sql = format!("UPDATE deliveries SET look_at = ? + ? * {OFTEN}, looks = looks + 1 WHERE content_id IN {list}");
    let next = [next_look_ms.into(), next_look_ms.saturating_sub(now_ms).into()];
    tx.execute(&sql, next.into_iter().chain(values.clone())).await?;
    let rows = tx.query(&format!("{SELECT} WHERE d.content_id IN {list}"), values).await?;
    let found: Vec<Delivery> = rows.iter().map(delivery).collect::<Result<_, _>>()?;
    let mut found: HashMap<ContentId, Delivery> = found.into_iter().map(|it| (it.entry.content, it)).collect();
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// When the first record that is due was to be looked at. Locks nothing: a lock costs a hundred times as much at each
/// row that is gone and lingers. A plus hides the second condition from SQLite, which would sort two ranges.
fn first_due(dialect: Dialect, from_ms: i64, now_ms: i64) -> Fragment {
    let text = format!(
        "SELECT look_at FROM deliveries{look} WHERE look_at >= ? AND (+look_at <= ? OR +look_at > ?) \
         ORDER BY look_at LIMIT 1",
        look = dialect.in_order_of("look"),
    );
    Fragment::new(text, [from_ms, now_ms, now_ms.saturating_add(MAX_WAIT_MS)])
}

/// Locks the records that are due, and skips those that are locked. Begins behind the rows that are gone and linger.
pub(super) fn due_statement(dialect: Dialect, (from_ms, now_ms): (i64, i64), limit: u64) -> Fragment {
    let text = format!(
        "SELECT content_id FROM deliveries{look} WHERE look_at >= ? AND (+look_at <= ? OR +look_at > ?) \
         ORDER BY look_at, content_id LIMIT ? {}",
        dialect.for_update_skip_locked(),
        look = dialect.in_order_of("look"),
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Fragment::new(text, [from_ms, now_ms, now_ms.saturating_add(MAX_WAIT_MS), limit])
}

/// Counts along the index, because the table keeps rows that are gone wherever they were.
pub(super) fn backlog(dialect: Dialect, from_ms: i64, attempts: u32) -> Fragment {
    let text = format!(
        "SELECT COUNT(*), COUNT(CASE WHEN attempts >= ? THEN 1 END), MIN(publish_time) FROM deliveries{look} \
         WHERE look_at >= ?",
        look = dialect.in_order_of("look"),
    );
    Fragment::new(text, [i64::from(attempts), from_ms])
}
