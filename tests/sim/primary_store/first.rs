//! Followers who are served before the first range is cut, in the model.

use std::collections::HashSet;

use tidefeed::{
    domain::{ContentId, UserId, delivery::subtask::END},
    store::{StoreError, deliveries::First},
};

use super::{
    at_once::{DeliveryState, state_of},
    deliveries::{delete_with_subtasks, served},
    tables::{Change, Row, Tables},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

/// See `Deliveries::serve_first`.
pub async fn serve(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    content: ContentId,
    first: First,
) -> Result<u64, StoreError> {
    if !tx.lock(Row::Delivery(content)).await? {
        return tx.roll_back(0).await;
    }
    let found = tx.read(|tables| state_of(tables, content)).await?;
    let Some(DeliveryState { entry, removed: false, is_cut: false, .. }) = found else { return tx.roll_back(0).await };
    let more_than = usize::try_from(first.more_than).unwrap_or(usize::MAX);
    if tx.read(|tables| tables.targets(entry.author, 0, END).count()).await? <= more_than {
        return tx.roll_back(0).await;
    }
    let now = primary_store.injector.now();
    let rows = tx
        .insert_selected(|tables| {
            let last_seen = last_seen(tables, entry.author, first);
            let mut rows = served(primary_store, tables, entry, (0, END), now);
            rows.retain(|row| matches!(row, Change::Inbox((reader, _), ..) if last_seen.contains(reader)));
            rows
        })
        .await?;
    if primary_store.breaks(Rule::FirstServedAreAll) {
        delete_with_subtasks(&mut tx, content).await?;
        return tx.commit(rows).await;
    }
    if rows == 0 { tx.roll_back(0).await } else { tx.commit(rows).await }
}

/// The targets who were seen last, of those whose inbox is on.
fn last_seen(tables: &Tables, author: UserId, first: First) -> HashSet<UserId> {
    let seen = |reader: UserId| {
        let state = tables.states.get(&reader).filter(|state| state.floor != tidefeed::domain::Floor::Off)?;
        state.last_seen.filter(|seen| *seen >= first.seen_since_ms).map(|seen| (seen, reader))
    };
    let mut all: Vec<(i64, UserId)> = tables.targets(author, 0, END).filter_map(seen).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.into_iter().take(usize::try_from(first.most).unwrap_or(usize::MAX)).map(|(_, reader)| reader).collect()
}
