//! Deliveries of a batch in the model: all of them cut, served and ended in one transaction.

use std::collections::BTreeMap;

use tidefeed::{
    domain::{ContentId, Entry, UserId, delivery::subtask::END},
    store::{StoreError, deliveries::Together},
};

use super::{
    deliveries::served,
    outside_states::is_used,
    tables::{Change, Row, Tables},
    transaction::{PrimaryStore, Tx},
};

/// See `Deliveries::deliver_together`.
pub async fn deliver(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    contents: &[ContentId],
    most: u64,
) -> Result<Together, StoreError> {
    let mut contents = contents.to_vec();
    contents.sort_unstable();
    contents.dedup();
    let mut locked = Vec::new();
    for content in contents {
        if tx.lock(Row::Delivery(content)).await? {
            locked.push(content);
        }
    }
    let sorted = tx.read(|tables| sort(tables, &locked, most)).await?;
    let (ended, together) = sorted;
    let now = primary_store.injector.now();
    let rows = |tables: &Tables| {
        ended.iter().flat_map(|entry| served(primary_store, tables, *entry, (0, END), now)).collect::<Vec<_>>()
    };
    let rows = tx.insert_selected(rows).await?;
    tx.write(|_| ended.iter().map(|entry| Change::Delivery(entry.content, None, None)).collect()).await?;
    tx.commit(Together { rows, ..together }).await
}

/// What the transaction ends, and what it leaves.
fn sort(tables: &Tables, locked: &[ContentId], most: u64) -> (Vec<Entry>, Together) {
    let mut contents: BTreeMap<UserId, u64> = BTreeMap::new();
    let records: Vec<Entry> = locked
        .iter()
        .filter_map(|content| {
            let record = tables.deliveries.get(content)?;
            Some(Entry { publish_time: record.publish_time, content: *content, author: record.author })
        })
        .collect();
    for entry in &records {
        *contents.entry(entry.author).or_default() += 1;
    }
    let (mut ended, mut together) = (Vec::new(), Together::default());
    for entry in records {
        let targets: Vec<UserId> = tables.targets(entry.author, 0, END).collect();
        let count = contents.get(&entry.author).copied().unwrap_or(0);
        let is_outside =
            is_used(tables) && targets.iter().any(|it| tables.states.get(it).is_some_and(|it| it.stay.is_some()));
        let is_whole = tables.is_visible(entry.content) && tables.chain(entry.content).next().is_none();
        if (targets.len() as u64).saturating_mul(count) > most {
            together.too_many.push(entry);
        } else if is_whole && !is_outside {
            ended.push(entry);
        } else {
            together.left.push(entry);
        }
    }
    (ended, together)
}
