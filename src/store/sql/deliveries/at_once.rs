//! Runs a small delivery in one transaction: one range with all followers, one batch, and the end of the delivery.
//! docs/coverage.md says why this is the same as cutting, serving and finishing one after the other.

use sql_driver::{Fragment, Runs, Tx};

use super::{
    super::rows::{DomainColumns as _, Row},
    batch, fences, records,
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

/// Followers whose rows SQLite inserts within some ten microseconds, so that handing the statement over costs as much.
const FEW: u64 = 32;

/// A delivery as it stands once its record is locked.
pub(super) struct DeliveryState {
    pub(super) entry: Entry,
    pub(super) removed: bool,
    pub(super) author: AuthorFacts,
    pub(super) is_cut: bool,
    /// The last attempt that has read the recipients outside SQL.
    attempt: Option<i64>,
    /// Whether any bucket of outside inboxes has a token.
    is_outside_used: bool,
}

impl DeliveryState {
    /// Whether one transaction may serve all followers.
    pub(super) fn is_small(&self, most: u32, policy: &DeliveryPolicy) -> bool {
        // Authors follow themselves: one row more.
        !self.is_cut && self.author.followers < u64::from(most) && !policy.is_selective(&self.author)
    }
}

/// Nobody else cuts or ends the delivery while its record is locked, so everything else is read after it. The author's
/// follower count only estimates what the insert costs: the insert serves everyone who follows in its own snapshot.
pub(super) async fn deliver(
    tx: &Tx,
    content: ContentId,
    most: u32,
    policy: &DeliveryPolicy,
    attempt: Option<i64>,
) -> Result<AtOnce, StoreError> {
    let Some(state) = lock(tx, content).await? else { return Ok(AtOnce::Ended { rows: 0 }) };
    if state.removed {
        records::delete_with_subtasks(tx, content).await?;
        return Ok(AtOnce::Ended { rows: 0 });
    }
    if !state.is_small(most, policy) {
        return Ok(AtOnce::ToBeCut);
    }
    match attempt {
        None => fences::expect_unused(state.is_outside_used)?,
        Some(_) if state.attempt != attempt => return Ok(AtOnce::Ended { rows: 0 }),
        Some(_) => {}
    }
    let runs = if state.author.followers <= FEW { Runs::Here } else { Runs::HandedOver };
    let rows = batch::statement(tx.dialect(), state.entry, Range { after: 0, through: END });
    Ok(AtOnce::Ended { rows: tx.all_on(runs, [rows, records::delete(content)]).await?.affected(0) })
}

/// Locks the delivery's record, and reads the rest after that; `None` if it is gone.
pub(super) async fn lock(tx: &Tx, content: ContentId) -> Result<Option<DeliveryState>, StoreError> {
    let sql = "SELECT d.publish_time, d.content_id, d.author_id, c.id IS NULL OR c.removed_at IS NOT NULL, \
               COALESCE(u.followers, 0), o.publish_every_ms, \
               EXISTS (SELECT 1 FROM subtasks s WHERE s.content_id = d.content_id), d.attempt, \
               EXISTS (SELECT 1 FROM inbox_buckets b WHERE b.node IS NOT NULL) \
               FROM deliveries d LEFT JOIN contents c ON c.id = d.content_id \
               LEFT JOIN user_counts u ON u.user_id = d.author_id \
               LEFT JOIN outbox_heads o ON o.author_id = d.author_id WHERE d.content_id = ?";
    let state = Fragment::new(sql, [content.get()]);
    tx.all([records::locked(tx.dialect(), content), state]).await?.row(1).map(read).transpose()
}

fn read(row: &Row) -> Result<DeliveryState, StoreError> {
    let entry = row.entry(0)?;
    let author = AuthorFacts { author: entry.author, followers: row.count(4)?, publish_every_ms: row.get(5)? };
    Ok(DeliveryState {
        entry,
        removed: row.get::<i64>(3)? != 0,
        author,
        is_cut: row.get::<i64>(6)? != 0,
        attempt: row.get(7)?,
        is_outside_used: row.get::<i64>(8)? != 0,
    })
}
