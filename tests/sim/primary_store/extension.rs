//! Raises what inboxes of the model claim further into the past: extends them below their floors, many in one
//! transaction.

use tidefeed::{
    domain::{EdgeMode, Entry, Floor, Position, UserId, timeline::extension},
    store::{StoreError, inboxes::Extended},
};

use super::{
    inboxes::{lock_state, save},
    tables::{Change, Tables},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

/// See `Inboxes::extend_all`. The states are locked in ascending order, then all is read, and then all is written.
pub async fn extend_all(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    readers: &[UserId],
    step: u32,
) -> Result<Vec<(UserId, Extended)>, StoreError> {
    let step = usize::try_from(step.max(1)).unwrap_or(usize::MAX);
    let mut locked = Vec::with_capacity(readers.len());
    let mut found = Vec::with_capacity(readers.len());
    for reader in readers {
        let skips = primary_store.breaks(Rule::ExtendWithoutLock)
            || (primary_store.breaks(Rule::SetLocksItsFirst) && !locked.is_empty());
        locked.push(lock(primary_store, &mut tx, *reader, (step, skips)).await?);
    }
    for (reader, Locked { from, early, .. }) in readers.iter().zip(&locked) {
        found.push(match (from, early) {
            (None, _) => Vec::new(),
            (Some(_), Some(early)) => early.clone(),
            (Some(from), None) => newest_below(primary_store, &mut tx, *reader, (*from, step)).await?,
        });
    }
    let open = readers.iter().zip(&locked).zip(&found).filter(|((_, locked), _)| locked.from.is_some());
    let rows: Vec<Change> = open
        .flat_map(|((reader, _), entries)| {
            entries.iter().map(|it| Change::Inbox((*reader, it.position()), Some(it.author), None))
        })
        .collect();
    tx.insert_selected(|_| rows).await?;
    let mut extended = Vec::with_capacity(readers.len());
    for ((reader, locked), entries) in readers.iter().zip(&locked).zip(&found) {
        if locked.from.is_none() {
            let as_it_was = if locked.floor == Floor::Off { Extended::Off } else { Extended::To(locked.floor) };
            extended.push((*reader, as_it_was));
            continue;
        }
        let cut = entries.len() >= step && !primary_store.breaks(Rule::CutExtensionReachesTheEnd);
        let reached = entries.iter().map(Entry::position).min().filter(|_| cut);
        let floor = Floor::At(reached.unwrap_or(Position::OLDEST));
        save(&mut tx, *reader, floor).await?;
        extended.push((*reader, Extended::To(floor)));
    }
    tx.commit(extended).await
}

/// The floor of a state that is locked, from where to extend it, and what a broken rule has read before the lock.
struct Locked {
    floor: Floor,
    from: Option<Position>,
    early: Option<Vec<Entry>>,
}

/// Locks a state, unless a broken rule `skips` that.
async fn lock(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    reader: UserId,
    (step, skips): (usize, bool),
) -> Result<Locked, StoreError> {
    let early = match primary_store.breaks(Rule::ExtendReadsBeforeLocking) {
        true => Some(tx.read(|it| (it.floor(reader), covered_now(it, reader, step))).await?),
        false => None,
    };
    let floor = match skips {
        true => tx.read(|tables| tables.floor(reader)).await?,
        false => lock_state(tx, reader).await?.floor,
    };
    let floor = early.as_ref().map_or(floor, |(early, _)| if floor == Floor::Off { floor } else { *early });
    let from = match floor {
        Floor::At(from) => Some(from).filter(|from| *from > Position::OLDEST),
        Floor::Off => primary_store.breaks(Rule::ExtendIgnoresOff).then_some(Position::NEWEST),
    };
    Ok(Locked { floor, from, early: early.map(|(_, early)| early) })
}

/// Below the floor that the reader has now, locked or not.
fn covered_now(tables: &Tables, reader: UserId, step: usize) -> Vec<Entry> {
    covered_below(tables, reader, tables.floor(reader).trusted_from(), step)
}

/// Reads as the store does: the authors and their window, and then the window, each author in a snapshot of its own.
async fn newest_below(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    reader: UserId,
    (floor, step): (Position, usize),
) -> Result<Vec<Entry>, StoreError> {
    let heads = tx.read(|tables| nth_below(tables, reader, floor, 1)).await?;
    let place = extension::nth(step, heads.len());
    let at_place = match place {
        1 => heads.clone(),
        _ => tx.read(|tables| nth_below(tables, reader, floor, place)).await?,
    };
    let end = extension::window_end(step, place, at_place.iter().map(|(_, time)| *time).collect());
    let mut entries: Vec<Entry> = Vec::new();
    for (author, _) in heads.into_iter().filter(|(_, newest)| extension::reaches(*newest, end)) {
        let window = |tables: &Tables| {
            let outbox = tables.outbox(author).filter(|it| it.position() < floor);
            outbox.filter(|it| end.is_none_or(|end| it.publish_time >= end)).collect::<Vec<Entry>>()
        };
        entries.extend(tx.read(window).await?);
    }
    let end = end.filter(|_| !primary_store.breaks(Rule::ShortWindowIsAll));
    match extension::newest(entries, step, end) {
        Some(entries) => Ok(entries),
        None => tx.read(|tables| covered_below(tables, reader, floor, step)).await,
    }
}

/// Each covered author's `place`-th newest content below the floor.
fn nth_below(tables: &Tables, reader: UserId, floor: Position, place: usize) -> Vec<(UserId, i64)> {
    let covered = tables.edges(reader).filter(|(_, edge)| edge.mode == EdgeMode::Push);
    let nth = |author| tables.outbox(author).rev().filter(|it| it.position() < floor).nth(place - 1);
    covered.filter_map(|(author, _)| Some((author, nth(author)?.publish_time))).collect()
}

fn covered_below(tables: &Tables, reader: UserId, floor: Position, step: usize) -> Vec<Entry> {
    let covered = tables.edges(reader).filter(|(_, edge)| edge.mode == EdgeMode::Push);
    let pulled = covered.flat_map(|(author, _)| tables.outbox(author).rev());
    let mut pulled: Vec<Entry> = pulled.filter(|it| it.position() < floor).collect();
    pulled.sort_unstable_by_key(|it| std::cmp::Reverse(it.position()));
    pulled.truncate(step);
    pulled
}
