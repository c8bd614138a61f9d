//! One batch of a subtask: the rows by one `INSERT .. SELECT`, and the progress in the same transaction.

use super::{
    super::{dialect::Dialect, fragment::Fragment, transaction::Tx},
    chain::{SELECT_SUBTASK, subtask, targets_at},
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

/// Serves the next followers of the subtask as it stands in the database; the row stays locked meanwhile, so that
/// executors at one subtask take turns.
pub(super) async fn push(tx: &Tx, task: &Subtask, size: u32) -> Result<Pushed, StoreError> {
    let gone = Pushed { progress: None, rows: 0 };
    let Some(progress) = lock(tx, task).await? else { return Ok(gone) };
    let Some(entry) = entry(tx, task).await? else { return Ok(gone) };
    let last = last_of_batch(tx, entry.author, progress, size).await?;
    let Some(batch) = progress.next_batch(last) else { return Ok(Pushed { progress: Some(progress), rows: 0 }) };
    let rows = insert(tx, entry, batch).await?;
    let sql = format!(
        "UPDATE subtasks SET pushed_through = {}(pushed_through, ?) WHERE content_id = ? AND first_fan = ?",
        tx.dialect().greatest()
    );
    tx.execute(&sql, [batch.through.into(), task.content.get().into(), progress.range.after.into()]).await?;
    Ok(Pushed { progress: Some(Progress { pushed_through: batch.through, ..progress }), rows })
}

async fn lock(tx: &Tx, task: &Subtask) -> Result<Option<Progress>, StoreError> {
    let sql = format!("{SELECT_SUBTASK} WHERE content_id = ? AND first_fan = ? {}", tx.dialect().for_update());
    let row = tx.query_one(&sql, [task.content.get().into(), task.progress.range.after.into()]).await?;
    Ok(row.as_ref().map(subtask).transpose()?.map(|task| task.progress))
}

async fn entry(tx: &Tx, task: &Subtask) -> Result<Option<Entry>, StoreError> {
    let sql = "SELECT publish_time, content_id, author_id FROM deliveries WHERE content_id = ?";
    tx.query_one(sql, [task.content.get().into()]).await?.map(|row| row.entry(0)).transpose()
}

async fn last_of_batch(tx: &Tx, author: UserId, progress: Progress, size: u32) -> Result<Option<UserId>, StoreError> {
    let left = Range { after: progress.pushed_through, through: progress.range.through };
    let [last, _] = targets_at(tx, author, left, size).await?;
    Ok(last)
}

/// Inserts the rows of a batch; how many are new.
pub(super) async fn insert(tx: &Tx, entry: Entry, batch: Range) -> Result<u64, StoreError> {
    let statement = statement(tx.dialect(), entry, batch);
    tx.execute(&statement.text, statement.values).await
}

/// Passes over pulled edges and readers that are off, as this statement's snapshot has them, and nobody else: any
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
