//! Extends inboxes further into the past: one, or many in one transaction. Their states are locked first and everything
//! else is read after it, whose rows are inserted together with the new floors.

use sql_driver::{Dialect, Fragment, Tx, Value};

use super::{below, state};
use crate::{
    domain::{Entry, Floor, Position, UserId},
    store::{StoreError, inboxes::Extended},
};

/// Rows of one insert: four values each, and SQLite takes 32 766.
const ROWS_OF_INSERT: usize = 4_000;

/// See [`crate::store::Inboxes::extend`].
pub(super) async fn extend(tx: &Tx, reader: UserId, step: u32) -> Result<Extended, StoreError> {
    let locked = [(reader, state::lock(tx, reader).await?.floor)];
    let extended = extend_locked(tx, &locked, step).await?;
    Ok(extended.into_iter().next().map_or(Extended::Off, |(_, extended)| extended))
}

/// See [`crate::store::Inboxes::extend_all`].
pub(super) async fn extend_all(tx: &Tx, readers: &[UserId], step: u32) -> Result<Vec<(UserId, Extended)>, StoreError> {
    let states = state::lock_all(tx, readers).await?;
    let locked: Vec<(UserId, Floor)> =
        readers.iter().filter_map(|reader| Some((*reader, states.get(reader)?.floor))).collect();
    extend_locked(tx, &locked, step).await
}

/// The states are locked, with these floors.
async fn extend_locked(tx: &Tx, locked: &[(UserId, Floor)], step: u32) -> Result<Vec<(UserId, Extended)>, StoreError> {
    let wanted = usize::try_from(step.max(1)).unwrap_or(usize::MAX);
    let ends_above = |(reader, floor): &(UserId, Floor)| match floor {
        Floor::At(floor) if *floor > Position::OLDEST => Some((*reader, *floor)),
        _ => None,
    };
    let floors: Vec<(UserId, Position)> = locked.iter().filter_map(ends_above).collect();
    let found = below::newest(tx, &floors, wanted).await?;
    let mut rows: Vec<(UserId, Entry)> = Vec::new();
    let mut saved: Vec<(UserId, Floor)> = Vec::with_capacity(floors.len());
    for ((reader, _), entries) in floors.iter().zip(found) {
        let reached = entries.iter().map(Entry::position).min().filter(|_| entries.len() >= wanted);
        saved.push((*reader, Floor::At(reached.unwrap_or(Position::OLDEST))));
        // In the order of the key.
        rows.extend(entries.into_iter().rev().map(|entry| (*reader, entry)));
    }
    let written: Vec<Fragment> = rows
        .chunks(ROWS_OF_INSERT)
        .map(|rows| insert(tx.dialect(), rows))
        .chain(saved.iter().map(|(reader, floor)| state::saving(*reader, *floor)))
        .collect();
    if !written.is_empty() {
        tx.all(written).await?;
    }
    let mut saved = saved.into_iter().peekable();
    let outcome = |(reader, before): &(UserId, Floor)| match (saved.next_if(|(of, _)| of == reader), before) {
        (Some((_, floor)), _) => Extended::To(floor),
        (None, Floor::Off) => Extended::Off,
        (None, floor) => Extended::To(*floor),
    };
    let outcomes: Vec<Extended> = locked.iter().map(outcome).collect();
    Ok(locked.iter().map(|(reader, _)| *reader).zip(outcomes).collect())
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
