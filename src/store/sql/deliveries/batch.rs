//! One batch of a subtask: the rows by one `INSERT .. SELECT`, and the progress in the same transaction.

use sql_driver::{Dialect, Fragment, Runs, Tx};

use super::{
    super::rows::DomainColumns as _,
    chain::{SELECT_SUBTASK, subtask, targets_at},
    fences,
};
use crate::{
    domain::{
        EdgeMode, Entry, UserId,
        delivery::subtask::{Progress, Range},
    },
    store::{
        StoreError,
        deliveries::{Pushed, Subtask},
    },
};

const GONE: Pushed = Pushed { progress: None, rows: 0 };

/// Serves the next followers of the subtask as the database has it. The row stays locked meanwhile, so that executors
/// of one subtask take turns.
pub(super) async fn push(tx: &Tx, task: &Subtask, size: u32) -> Result<Pushed, StoreError> {
    let Some((progress, _)) = lock(tx, task).await? else { return Ok(GONE) };
    let Some((entry, is_outside_used)) = entry(tx, task).await? else { return Ok(GONE) };
    fences::expect_unused(is_outside_used)?;
    push_taken(tx, &Subtask { progress, ..*task }, entry, size).await
}

/// The same for a subtask whose row this transaction has locked and read.
pub(super) async fn push_taken(tx: &Tx, task: &Subtask, entry: Entry, size: u32) -> Result<Pushed, StoreError> {
    let progress = task.progress;
    let last = last_of_batch(tx, entry.author, progress, size).await?;
    let Some(batch) = progress.next_batch(last) else { return Ok(Pushed { progress: Some(progress), rows: 0 }) };
    advance(tx, task, (entry, progress), batch).await
}

/// As [`push`], up to `through`, if `attempt` is the last one that has read the recipients outside SQL.
pub(super) async fn push_as(tx: &Tx, task: &Subtask, through: i64, attempt: i64) -> Result<Pushed, StoreError> {
    let Some((progress, Some(last))) = lock(tx, task).await? else { return Ok(GONE) };
    let Some((entry, _)) = entry(tx, task).await?.filter(|_| last == attempt) else { return Ok(GONE) };
    let batch = Range { after: progress.pushed_through, through: through.min(progress.range.through) };
    if batch.through <= batch.after {
        return Ok(Pushed { progress: Some(progress), rows: 0 });
    }
    advance(tx, task, (entry, progress), batch).await
}

async fn advance(
    tx: &Tx,
    task: &Subtask,
    (entry, progress): (Entry, Progress),
    batch: Range,
) -> Result<Pushed, StoreError> {
    let rows = insert(tx, Runs::HandedOver, entry, batch).await?;
    let sql = format!(
        "UPDATE subtasks SET pushed_through = {}(pushed_through, ?) WHERE content_id = ? AND first_fan = ?",
        tx.dialect().greatest()
    );
    tx.execute(&sql, [batch.through.into(), task.content.get().into(), progress.range.after.into()]).await?;
    Ok(Pushed { progress: Some(Progress { pushed_through: batch.through, ..progress }), rows })
}

/// The subtask's progress, and the last attempt that has read the recipients outside SQL.
pub(super) async fn lock(tx: &Tx, task: &Subtask) -> Result<Option<(Progress, Option<i64>)>, StoreError> {
    let sql = format!("{SELECT_SUBTASK} WHERE content_id = ? AND first_fan = ? {}", tx.dialect().for_update());
    let row = tx.query_one(&sql, [task.content.get().into(), task.progress.range.after.into()]).await?;
    row.map(|row| Ok((subtask(&row)?.progress, row.get(5)?))).transpose()
}

/// The entry, and whether any bucket of outside inboxes has a token.
pub(super) async fn entry(tx: &Tx, task: &Subtask) -> Result<Option<(Entry, bool)>, StoreError> {
    let sql = "SELECT publish_time, content_id, author_id, EXISTS (SELECT 1 FROM inbox_buckets b WHERE b.node IS NOT NULL) \
               FROM deliveries WHERE content_id = ?";
    let row = tx.query_one(sql, [task.content.get().into()]).await?;
    row.map(|row| Ok((row.entry(0)?, row.get::<i64>(3)? != 0))).transpose()
}

pub(super) async fn last_of_batch(
    tx: &Tx,
    author: UserId,
    progress: Progress,
    size: u32,
) -> Result<Option<UserId>, StoreError> {
    let left = Range { after: progress.pushed_through, through: progress.range.through };
    let [last, _] = targets_at(tx, author, left, size).await?;
    Ok(last)
}

/// Inserts the rows of a batch. Returns how many are new.
pub(super) async fn insert(tx: &Tx, runs: Runs, entry: Entry, batch: Range) -> Result<u64, StoreError> {
    let statement = statement(tx.dialect(), entry, batch);
    tx.execute_on(runs, &statement.text, statement.values).await
}

/// Skips pulled edges and readers whose inbox is off, as this statement's snapshot has them, and nobody else: any
/// other exception would break a growth in progress (docs/coverage.md).
pub(super) fn statement(dialect: Dialect, entry: Entry, batch: Range) -> Fragment {
    let text = format!(
        "{insert} inboxes (user_id, publish_time, content_id, author_id) \
         SELECT f.follower_id, ?, ?, ? FROM follows f{targets} \
         {then} inbox_states s ON s.user_id = f.follower_id \
         WHERE f.author_id = ? AND f.mode IN ({fill}, {push}) AND f.follower_id > ? AND f.follower_id <= ? \
         AND s.floor_time IS NOT NULL",
        insert = dialect.insert_ignore(),
        targets = dialect.in_order_of("targets"),
        then = dialect.join_in_order(),
        fill = EdgeMode::Fill.code(),
        push = EdgeMode::Push.code(),
    );
    let author = entry.author.get();
    Fragment::new(text, [entry.publish_time, entry.content.get(), author, author, batch.after, batch.through])
}
