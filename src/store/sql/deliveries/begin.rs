//! Begins a subtask: takes it, serves its first batch and, if it was the last one, ends the delivery, in one
//! transaction.

use sql_driver::Tx;

use super::{
    super::rows::{DomainColumns as _, Row},
    batch, chain, end, records,
};
use crate::{
    domain::{
        ContentId, Entry,
        delivery::{AuthorFacts, DeliveryPolicy, subtask::END},
    },
    store::{
        StoreError,
        deliveries::{Begun, Lease, Subtask},
    },
};

/// See [`crate::store::Deliveries::begin_subtask`]. Only the executor that seems to be the last locks the record, and
/// does so first: locks keep their order, and executors of one delivery do not wait for each other. Whether the
/// delivery ends is read after the locks, with the progress that this transaction has made.
pub(super) async fn begin(
    tx: &Tx,
    (content, after): (ContentId, i64),
    lease: Lease,
    size: u32,
    policy: &DeliveryPolicy,
) -> Result<Begun, StoreError> {
    let Some(before) = before(tx, content, after).await? else { return Ok(Begun::NotTaken) };
    if before.is_outside_used || policy.is_selective(&before.author) {
        return Ok(Begun::ToBeJudged(before.author));
    }
    if before.is_last && records::lock(tx, content).await?.is_none() {
        return Ok(Begun::NotTaken);
    }
    let Some(taken) = chain::take(tx, (content, after), lease).await? else {
        return Ok(Begun::NotTaken);
    };
    let pushed = batch::push_taken(tx, &taken, before.entry, size).await?;
    let subtask = Subtask { progress: pushed.progress.unwrap_or(taken.progress), ..taken };
    let ended = before.is_last && subtask.progress.is_done() && end::end(tx, content).await?;
    Ok(Begun::Served { subtask, rows: pushed.rows, ended })
}

/// What is read before any lock. Entry and author never change; the rest decides what is tried.
struct Before {
    entry: Entry,
    author: AuthorFacts,
    /// Whether the chain is complete and no other subtask is open.
    is_last: bool,
    /// Whether any bucket of outside inboxes has a token.
    is_outside_used: bool,
}

async fn before(tx: &Tx, content: ContentId, after: i64) -> Result<Option<Before>, StoreError> {
    let sql = "SELECT d.publish_time, d.content_id, d.author_id, COALESCE(u.followers, 0), o.publish_every_ms, \
               (SELECT MAX(last_fan) FROM subtasks s WHERE s.content_id = d.content_id), \
               EXISTS (SELECT 1 FROM subtasks s WHERE s.content_id = d.content_id AND s.pushed_through < s.last_fan \
               AND s.first_fan <> ?), EXISTS (SELECT 1 FROM inbox_buckets b WHERE b.node IS NOT NULL) \
               FROM deliveries d LEFT JOIN user_counts u ON u.user_id = d.author_id \
               LEFT JOIN outbox_heads o ON o.author_id = d.author_id WHERE d.content_id = ?";
    tx.query_one(sql, [after.into(), content.get().into()]).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<Before, StoreError> {
    let entry = row.entry(0)?;
    Ok(Before {
        entry,
        author: AuthorFacts { author: entry.author, followers: row.count(3)?, publish_every_ms: row.get(4)? },
        is_last: row.get::<Option<i64>>(5)? == Some(END) && row.get::<i64>(6)? == 0,
        is_outside_used: row.get::<i64>(7)? != 0,
    })
}
