//! Read markers of a batch. They never move back.

use std::collections::HashMap;

use sql_driver::{Tx, Value};

use super::{
    super::{
        bulk::insert,
        read_markers::keep_newest,
        rows::{DomainColumns as _, id_list},
    },
    follows::lock_counts,
};
use crate::{
    domain::{Position, UserId},
    store::{
        StoreError,
        imports::{AppliedBatch, ImportedMarker, RowOutcome, RowRefusal},
    },
};

/// Moves the markers that lie before those of the batch.
pub(super) async fn advance(tx: &Tx, markers: &[ImportedMarker]) -> Result<AppliedBatch, StoreError> {
    let users = lock_counts(tx, markers.iter().map(|it| it.reader)).await?;
    let present = present(tx, markers).await?;
    let judge = |it: &ImportedMarker| match present.get(&it.reader) {
        _ if !users.contains_key(&it.reader) => RowOutcome::Refused(RowRefusal::UnknownUser),
        None => RowOutcome::Created,
        Some(at) if *at < it.position => RowOutcome::Updated,
        Some(_) => RowOutcome::Unchanged,
    };
    let outcomes: Vec<RowOutcome> = markers.iter().map(judge).collect();
    let moved = markers.iter().zip(&outcomes);
    let moved = moved.filter(|(_, outcome)| matches!(outcome, RowOutcome::Created | RowOutcome::Updated));
    let mut rows: Vec<[i64; 3]> =
        moved.map(|(it, _)| [it.reader.get(), it.position.publish_time(), it.position.content_number()]).collect();
    rows.sort_unstable();
    let rows = rows.into_iter().map(|row| row.map(Value::from)).collect();
    insert(tx, "read_markers (user_id, publish_time, content_id)", &keep_newest(tx.dialect()), rows).await?;
    Ok(AppliedBatch { outcomes, ..AppliedBatch::default() })
}

async fn present(tx: &Tx, markers: &[ImportedMarker]) -> Result<HashMap<UserId, Position>, StoreError> {
    let (list, values) = id_list(&markers.iter().map(|it| it.reader).collect::<Vec<_>>());
    let sql = format!(
        "SELECT user_id, publish_time, content_id FROM read_markers WHERE user_id IN {list} ORDER BY user_id {}",
        tx.dialect().for_update()
    );
    let rows = tx.query(&sql, values).await?;
    rows.iter().map(|row| Ok((row.user(0)?, Position::bound(row.get(1)?, row.get(2)?)))).collect()
}
