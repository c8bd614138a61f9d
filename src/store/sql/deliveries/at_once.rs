//! Runs a small delivery in one transaction: one range with all followers, one batch, and the end of the delivery.
//! docs/coverage.md says why this is the same as cutting, serving and finishing one after the other.

use super::{
    super::{rows::Row, transaction::Tx},
    batch, records,
};
use crate::{
    domain::{
        ContentId, Entry,
        delivery::{
            AuthorFacts, DeliveryPolicy,
            subtask::{END, Range},
        },
    },
    store::{StoreError, deliveries::AtOnce},
};

/// A delivery as it stands once its record is locked.
pub(super) struct DeliveryState {
    pub(super) entry: Entry,
    pub(super) removed: bool,
    pub(super) author: AuthorFacts,
    pub(super) is_cut: bool,
}

/// Nobody else cuts or ends the delivery while its record is locked, so everything else is read after it. The
/// followers are counted by the author's counts, which only says what the insert costs: it serves whoever follows in
/// its own snapshot.
pub(super) async fn deliver(
    tx: &Tx,
    content: ContentId,
    most: u32,
    policy: &DeliveryPolicy,
) -> Result<AtOnce, StoreError> {
    if records::lock(tx, content).await?.is_none() {
        return Ok(AtOnce::Ended { rows: 0 });
    }
    let Some(DeliveryState { entry, removed, author, is_cut }) = state_of(tx, content).await? else {
        return Ok(AtOnce::Ended { rows: 0 });
    };
    if removed {
        records::delete_with_subtasks(tx, content).await?;
        return Ok(AtOnce::Ended { rows: 0 });
    }
    // Authors follow themselves: one row more.
    if is_cut || author.followers >= u64::from(most) || policy.is_selective(&author) {
        return Ok(AtOnce::ToBeCut);
    }
    let rows = batch::insert(tx, entry, Range { after: 0, through: END }).await?;
    records::delete(tx, content).await?;
    Ok(AtOnce::Ended { rows })
}

pub(super) async fn state_of(tx: &Tx, content: ContentId) -> Result<Option<DeliveryState>, StoreError> {
    let sql = "SELECT d.publish_time, d.content_id, d.author_id, c.id IS NULL OR c.removed_at IS NOT NULL, \
               COALESCE(u.followers, 0), o.publish_every_ms, \
               EXISTS (SELECT 1 FROM subtasks s WHERE s.content_id = d.content_id) \
               FROM deliveries d LEFT JOIN contents c ON c.id = d.content_id \
               LEFT JOIN user_counts u ON u.user_id = d.author_id \
               LEFT JOIN outbox_heads o ON o.author_id = d.author_id WHERE d.content_id = ?";
    tx.query_one(sql, [content.get().into()]).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<DeliveryState, StoreError> {
    let entry = row.entry(0)?;
    let author = AuthorFacts { author: entry.author, followers: row.count(4)?, publish_every_ms: row.get(5)? };
    Ok(DeliveryState { entry, removed: row.get::<i64>(3)? != 0, author, is_cut: row.get::<i64>(6)? != 0 })
}
