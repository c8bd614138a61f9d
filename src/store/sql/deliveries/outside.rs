//! Deliveries that also reach inboxes outside SQL. A separate transaction reads their recipients and leaves an
//! attempt's number. Progress counts for the last attempt only.

use sql_driver::{Dialect, Fragment, Tx};

use super::{
    super::{
        SqlStore,
        inboxes::state::OUTSIDE,
        rows::{DomainColumns as _, Row},
    },
    at_once, batch, fences,
};
use crate::{
    domain::{
        ContentId, EdgeMode, Entry,
        delivery::{
            DeliveryPolicy,
            subtask::{END, Range},
        },
        limits::INBOX_BUCKETS,
    },
    store::{
        StoreError,
        deliveries::{AtOnce, Pushed, Subtask},
        outside_states::{OutsideBatch, Recipient},
    },
};

/// See [`crate::store::Deliveries::deliver_at_once`]; with an attempt, [`crate::store::OutsideStates`].
pub(in super::super) async fn deliver_at_once(
    store: &SqlStore,
    content: ContentId,
    (most, policy): (u32, &DeliveryPolicy),
    attempt: Option<i64>,
) -> Result<AtOnce, StoreError> {
    store
        .brief_transaction(move |tx| async move {
            match at_once::deliver(&tx, content, most, policy, attempt).await? {
                AtOnce::ToBeCut => tx.roll_back(AtOnce::ToBeCut).await,
                ended @ AtOnce::Ended { .. } => tx.commit(ended).await,
            }
        })
        .await
}

/// See [`crate::store::OutsideStates::begin_at_once`].
pub(in super::super) async fn begin_at_once(
    store: &SqlStore,
    content: ContentId,
    (most, policy): (u32, &DeliveryPolicy),
    attempt: i64,
) -> Result<Option<OutsideBatch>, StoreError> {
    store
        .transaction(move |tx| async move {
            let state = at_once::lock(&tx, content).await?;
            let Some(state) = state.filter(|state| !state.removed && state.is_small(most, policy)) else {
                return tx.roll_back(None).await;
            };
            let sql = "UPDATE deliveries SET attempt = ? WHERE content_id = ?";
            tx.execute(sql, [attempt.into(), content.get().into()]).await?;
            let recipients = recipients(&tx, state.entry, Range { after: 0, through: END }).await?;
            tx.commit(Some(OutsideBatch { entry: state.entry, recipients, through: END, attempt })).await
        })
        .await
}

/// See [`crate::store::OutsideStates::begin_batch`].
pub(in super::super) async fn begin_batch(
    store: &SqlStore,
    task: Subtask,
    size: u32,
    attempt: i64,
) -> Result<Option<OutsideBatch>, StoreError> {
    store
        .transaction(move |tx| async move {
            let Some((progress, _)) = batch::lock(&tx, &task).await? else { return tx.roll_back(None).await };
            let Some((entry, _)) = batch::entry(&tx, &task).await? else { return tx.roll_back(None).await };
            let last = batch::last_of_batch(&tx, entry.author, progress, size).await?;
            let Some(range) = progress.next_batch(last) else { return tx.roll_back(None).await };
            let sql = "UPDATE subtasks SET attempt = ? WHERE content_id = ? AND first_fan = ?";
            tx.execute(sql, [attempt.into(), task.content.get().into(), task.progress.range.after.into()]).await?;
            let recipients = recipients(&tx, entry, range).await?;
            tx.commit(Some(OutsideBatch { entry, recipients, through: range.through, attempt })).await
        })
        .await
}

/// See [`crate::store::OutsideStates::push_batch_as`].
pub(in super::super) async fn push_batch_as(
    store: &SqlStore,
    task: Subtask,
    through: i64,
    attempt: i64,
) -> Result<Pushed, StoreError> {
    store
        .transaction(move |tx| async move {
            let pushed = batch::push_as(&tx, &task, through, attempt).await?;
            tx.commit(pushed).await
        })
        .await
}

/// Skips the same readers as the SQL batch does, and readers whose bucket has no token: an inbox that is built under
/// the next token gets the content from SQL.
async fn recipients(tx: &Tx, entry: Entry, range: Range) -> Result<Vec<Recipient>, StoreError> {
    let statement = recipients_statement(tx.dialect(), entry, range);
    tx.query(&statement.text, statement.values).await?.iter().map(recipient).collect()
}

/// The recipients outside SQL in a range of followers.
pub(in super::super) fn recipients_statement(dialect: Dialect, entry: Entry, range: Range) -> Fragment {
    let then = dialect.join_in_order();
    let text = format!(
        "SELECT f.follower_id, s.generation, b.node, b.epoch FROM follows f{targets} \
         {then} inbox_states s ON s.user_id = f.follower_id \
         {then} inbox_buckets b{by_key} ON b.bucket = s.user_id % {INBOX_BUCKETS} \
         WHERE f.author_id = ? AND f.mode IN ({fill}, {push}) AND f.follower_id > ? AND f.follower_id <= ? \
         AND s.tier = {OUTSIDE} AND b.node IS NOT NULL",
        by_key = dialect.force_index("PRIMARY"),
        targets = dialect.in_order_of("targets"),
        fill = EdgeMode::Fill.code(),
        push = EdgeMode::Push.code(),
    );
    Fragment::new(text, [entry.author.get(), range.after, range.through])
}

fn recipient(row: &Row) -> Result<Recipient, StoreError> {
    Ok(Recipient { reader: row.user(0)?, fence: fences::fence(row, 1)? })
}
