//! Extends a delivery's chain of subtasks, takes subtasks, and asks whether all are done. `domain::delivery::subtask`
//! decides where a range ends; this module reads and writes the rows.

use sql_driver::{Dialect, Fragment, Tx};

use super::super::rows::{DomainColumns as _, Row};
use crate::{
    domain::{
        ContentId, EdgeMode, UserId,
        delivery::subtask::{END, Progress, Range, next_range},
        limits::{MAX_SUBTASKS_PER_TX, MAX_WAIT_MS},
    },
    store::{
        StoreError,
        deliveries::{Lease, Subtask},
    },
};

/// Selects what [`subtask`] reads, and the attempt.
pub(super) const SELECT_SUBTASK: &str =
    "SELECT content_id, task_no, first_fan, last_fan, pushed_through, attempt FROM subtasks";

/// A row of [`SELECT_SUBTASK`].
pub(super) fn subtask(row: &Row) -> Result<Subtask, StoreError> {
    let range = Range { after: row.get(2)?, through: row.get(3)? };
    let task_no: i64 = row.get(1)?;
    Ok(Subtask {
        content: row.content(0)?,
        task_no: i32::try_from(task_no).unwrap_or(i32::MAX),
        progress: Progress { range, pushed_through: row.get(4)? },
    })
}

/// Adds ranges to the chain's end. Returns whether the chain is complete now. The caller has locked the record.
pub(super) async fn extend(
    tx: &Tx,
    content: ContentId,
    author: UserId,
    (size, limit): (u32, usize),
) -> Result<bool, StoreError> {
    let sql = format!("{SELECT_SUBTASK} WHERE content_id = ? ORDER BY first_fan DESC LIMIT 1");
    let last = tx.query_one(&sql, [content.get().into()]).await?.as_ref().map(subtask).transpose()?;
    let (mut end, mut number) = last.map_or((0, 0), |last| (last.progress.range.through, last.task_no));
    for _ in 0..limit.min(MAX_SUBTASKS_PER_TX) {
        let probe = targets_at(tx, author, Range { after: end, through: END }, size).await?;
        let Some(range) = next_range(end, probe) else { return Ok(true) };
        number = number.saturating_add(1);
        insert(tx, content, number, range).await?;
        end = range.through;
        if end == END {
            break;
        }
    }
    Ok(end == END)
}

/// The targets of `range` at offset `size` and `size + 1`, counted in ascending ids. Reads no edge that is pulled, and
/// sorts only while some are being filled.
pub(super) async fn targets_at(
    tx: &Tx,
    author: UserId,
    range: Range,
    size: u32,
) -> Result<[Option<UserId>; 2], StoreError> {
    let filling = filling(tx.dialect(), author, range);
    let is_filling = tx.query_one(&filling.text, filling.values).await?.is_some();
    let offset = i64::from(size.max(1)) - 1;
    let statement = if is_filling {
        either(tx.dialect(), author, range, offset)
    } else {
        pushed(tx.dialect(), author, range, offset)
    };
    let rows = tx.query(&statement.text, statement.values).await?;
    let at = |place: usize| rows.get(place).map(|row| row.user(0)).transpose();
    Ok([at(0)?, at(1)?])
}

/// One of a range whose edge is being filled, if there is any.
pub(super) fn filling(dialect: Dialect, author: UserId, range: Range) -> Fragment {
    Fragment::new(format!("{} LIMIT 1", of_mode(dialect, EdgeMode::Fill)), in_range(author, range))
}

/// The two who are pushed to after the first `offset` of a range.
pub(super) fn pushed(dialect: Dialect, author: UserId, range: Range, offset: i64) -> Fragment {
    Fragment::new(of_mode(dialect, EdgeMode::Push), in_range(author, range)).add(" LIMIT 2 OFFSET ?", [offset])
}

/// As [`pushed`], of those who are pushed to and those whose edge is being filled.
fn either(dialect: Dialect, author: UserId, range: Range, offset: i64) -> Fragment {
    let first = |mode, name| {
        let ascending = Fragment::new(of_mode(dialect, mode), in_range(author, range));
        ascending.add(" LIMIT ?", [offset + 2]).into_table(name)
    };
    Fragment::new("SELECT follower_id FROM (SELECT * FROM ", [])
        .then(first(EdgeMode::Fill, "a"))
        .add(" UNION ALL SELECT * FROM ", [])
        .then(first(EdgeMode::Push, "b"))
        .add(") t ORDER BY follower_id LIMIT 2 OFFSET ?", [offset])
}

/// The followers of a range whose edge is in this mode, ascending; takes [`in_range`].
fn of_mode(dialect: Dialect, mode: EdgeMode) -> String {
    let (index, mode) = (dialect.in_order_of("targets"), mode.code());
    format!(
        "SELECT follower_id FROM follows{index} WHERE author_id = ? AND mode = {mode} \
         AND follower_id > ? AND follower_id <= ? ORDER BY follower_id"
    )
}

fn in_range(author: UserId, range: Range) -> [i64; 3] {
    [author.get(), range.after, range.through]
}

async fn insert(tx: &Tx, content: ContentId, number: i32, range: Range) -> Result<(), StoreError> {
    let sql = "INSERT INTO subtasks (content_id, first_fan, task_no, last_fan, pushed_through, lease_until) \
               VALUES (?, ?, ?, ?, ?, 0)";
    let Range { after, through } = range;
    let values = [content.get().into(), after.into(), number.into(), through.into(), after.into()];
    tx.execute(sql, values).await.map(|_| ())
}

/// Takes the subtask of this content and start, if it is not done and no lease on it is running.
pub(super) async fn take(
    tx: &Tx,
    (content, after): (ContentId, i64),
    Lease { now_ms, until_ms }: Lease,
) -> Result<Option<Subtask>, StoreError> {
    let sql = "UPDATE subtasks SET lease_until = ? \
               WHERE content_id = ? AND first_fan = ? AND pushed_through < last_fan \
               AND (lease_until <= ? OR lease_until > ?)";
    let too_far = now_ms.saturating_add(MAX_WAIT_MS);
    let values = [until_ms.into(), content.get().into(), after.into(), now_ms.into(), too_far.into()];
    if tx.execute(sql, values).await? == 0 {
        return Ok(None);
    }
    let sql = format!("{SELECT_SUBTASK} WHERE content_id = ? AND first_fan = ?");
    tx.query_one(&sql, [content.get().into(), after.into()]).await?.as_ref().map(subtask).transpose()
}
