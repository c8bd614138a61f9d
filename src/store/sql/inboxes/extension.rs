//! Extends inboxes further into the past, many in one transaction. Their states are locked first and everything else is
//! read after it, whose rows are inserted together with the new floors.

use std::collections::BTreeMap;

use sql_driver::{Dialect, Fragment, Tx, Value};

use super::{below, state};
use crate::{
    domain::{Entry, Floor, Position, UserId},
    store::{StoreError, inboxes::Extended},
};

/// Rows of one insert: four values each, and SQLite takes 32 766.
const ROWS_OF_INSERT: usize = 4_000;

/// See [`crate::store::Inboxes::extend_all`].
pub(super) async fn extend_all(tx: &Tx, readers: &[UserId], step: u32) -> Result<Vec<(UserId, Extended)>, StoreError> {
    let wanted = usize::try_from(step.max(1)).unwrap_or(usize::MAX);
    let states = state::lock_all(tx, readers).await?;
    let mut floors: BTreeMap<UserId, Floor> = states.into_iter().map(|(reader, state)| (reader, state.floor)).collect();
    let ends_above = |(reader, floor): (&UserId, &Floor)| match floor {
        Floor::At(floor) if *floor > Position::OLDEST => Some((*reader, *floor)),
        _ => None,
    };
    let before: Vec<(UserId, Position)> = floors.iter().filter_map(ends_above).collect();
    let found = below::newest(tx, &before, wanted).await?;
    let mut rows: Vec<(UserId, Entry)> = Vec::new();
    let mut saved: Vec<Fragment> = Vec::with_capacity(before.len());
    for ((reader, _), entries) in before.into_iter().zip(found) {
        let reached = entries.iter().map(Entry::position).min().filter(|_| entries.len() >= wanted);
        let floor = Floor::At(reached.unwrap_or(Position::OLDEST));
        saved.push(state::saving(reader, floor));
        floors.insert(reader, floor);
        // In the order of the key.
        rows.extend(entries.into_iter().rev().map(|entry| (reader, entry)));
    }
    if !saved.is_empty() {
        tx.all(rows.chunks(ROWS_OF_INSERT).map(|rows| insert(tx.dialect(), rows)).chain(saved)).await?;
    }
    let extended = |floor| if floor == Floor::Off { Extended::Off } else { Extended::To(floor) };
    Ok(floors.into_iter().map(|(reader, floor)| (reader, extended(floor))).collect())
}

fn insert(dialect: Dialect, rows: &[(UserId, Entry)]) -> Fragment {
    let text = format!(
        "{} inboxes (user_id, publish_time, content_id, author_id) VALUES {}",
        dialect.insert_ignore(),
        vec!["(?, ?, ?, ?)"; rows.len()].join(", ")
    );
    let row =
        |(reader, entry): &(UserId, Entry)| [reader.get(), entry.publish_time, entry.content.get(), entry.author.get()];
    Fragment::with(text, rows.iter().flat_map(row).map(Value::from))
}
