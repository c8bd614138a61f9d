//! Tombstones of a batch: external ids that no content gets any more.

use std::collections::HashMap;

use sql_driver::{Tx, Value};

use super::super::{
    bulk::insert_new,
    contents::objects,
    existing_accounts::account_exists,
    rows::{Row, value_list},
};
use crate::{
    domain::ContentObject,
    store::{
        StoreError,
        imports::{AppliedBatch, ImportedTombstone, RowOutcome},
    },
};

/// Keeps the external ids that nobody has had yet.
pub(super) async fn keep(tx: &Tx, tombstones: &[ImportedTombstone]) -> Result<AppliedBatch, StoreError> {
    let (list, values) = value_list(tombstones.iter().map(|it| it.external_id.as_str().into()));
    let sql = format!(
        "SELECT o.external_id, CASE WHEN c.removed_at IS NULL{} THEN c.id END FROM content_objects o \
         LEFT JOIN contents c ON c.id = o.content_id WHERE o.external_id IN {list}",
        account_exists("c.author_id")
    );
    let read = |row: &Row| Ok((row.get::<String>(0)?, row.get::<Option<i64>>(1)?));
    let known = tx.query(&sql, values).await?.iter().map(read).collect::<Result<HashMap<_, _>, StoreError>>()?;
    if known.values().any(Option::is_some) {
        return Err(StoreError::Contended("a content of a tombstone exists".into()));
    }
    let judge = |it: &ImportedTombstone| match known.contains_key(it.external_id.as_str()) {
        false => RowOutcome::Created,
        true if it.is_removed_now => RowOutcome::Updated,
        true => RowOutcome::Unchanged,
    };
    let outcomes: Vec<RowOutcome> = tombstones.iter().map(judge).collect();
    let new = tombstones.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == RowOutcome::Created);
    let rows: Vec<[Value; 5]> = new
        .map(|(it, _)| {
            let object = ContentObject { external_id: Some(it.external_id.clone()), ..ContentObject::default() };
            objects::values(it.id, &object)
        })
        .collect();
    insert_new(tx, objects::INTO, rows).await?;
    Ok(AppliedBatch { outcomes, ..AppliedBatch::default() })
}
