//! Raises what an inbox of the model claims: covers an edge, extends below the floor.

use tidefeed::{
    domain::{EdgeMode, Entry, Floor, Position, UserId, timeline::extension},
    store::{
        StoreError,
        inboxes::{Covered, Extended},
    },
};

use super::{
    follows::renew_authors,
    inboxes::{lock_state, save},
    tables::{Change, Edge, Row, Tables},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

/// See `Inboxes::cover`.
pub async fn cover(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    pair: (UserId, UserId),
    keep: u32,
    version: i64,
) -> Result<Covered, StoreError> {
    let (reader, author) = pair;
    renew_authors(&mut tx, &[reader], Some(version)).await?;
    let stale = match primary_store.breaks(Rule::CoverReadsBeforeLocking) {
        true => Some(tx.read(|it| (it.floor(reader), outbox(it, author))).await?),
        false => None,
    };
    let (mut floor, is_outside) = match primary_store.breaks(Rule::CoverWithoutLock) {
        true => (tx.read(|tables| tables.floor(reader)).await?, false),
        false => {
            let locked = lock_state(&mut tx, reader).await?;
            (locked.floor, locked.stay.is_some())
        }
    };
    let any = primary_store.breaks(Rule::CoverOfAnyEdge);
    let there = tx.lock(Row::Edge(pair)).await?;
    let mode = tx.look(|tables| tables.mode(reader, author));
    if !there || (mode != Some(EdgeMode::Fill) && !any) || mode.is_none() {
        return tx.roll_back(Covered::NotFilling).await;
    }
    if is_outside {
        return tx.roll_back(Covered::Outside).await;
    }
    let mut rows = 0;
    let read = stale.as_ref().map(|(_, read)| read.clone());
    if let Some((earlier, _)) = stale {
        floor = earlier;
    }
    if let Floor::At(from) = floor
        && !floor.trusts_nothing()
    {
        let cut = newest_from(primary_store, &mut tx, author, from, keep).await?;
        rows = insert_outbox(primary_store, &mut tx, pair, (cut, keep), read).await?;
        floor = Floor::At(if primary_store.breaks(Rule::CutCoverKeepsFloor) { from } else { cut });
    }
    tx.write(|tables| {
        let edge = tables.follows.get(&pair);
        edge.map(|edge| Change::Edge(pair, Some(Edge { mode: EdgeMode::Push, ..*edge }), None)).into_iter().collect()
    })
    .await?;
    save(&mut tx, reader, floor).await?;
    tx.commit(Covered::Yes { rows }).await
}

fn outbox(tables: &Tables, author: UserId) -> Vec<Entry> {
    tables.outbox(author).rev().collect()
}

async fn newest_from(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    author: UserId,
    floor: Position,
    keep: u32,
) -> Result<Position, StoreError> {
    let keep = usize::try_from(keep.max(1)).unwrap_or(1);
    let _ = primary_store;
    tx.read(|tables| {
        let newest: Vec<Entry> =
            tables.outbox(author).rev().filter(|it| it.position() >= floor).skip(keep - 1).take(2).collect();
        match newest.as_slice() {
            [last_kept, _cut] => last_kept.position(),
            _ => floor,
        }
    })
    .await
}

async fn insert_outbox(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    (reader, author): (UserId, UserId),
    (from, keep): (Position, u32),
    read: Option<Vec<Entry>>,
) -> Result<u64, StoreError> {
    let limit = match primary_store.breaks(Rule::CoverInsertsOnlyNewest) {
        true => usize::try_from(keep.max(1)).unwrap_or(1),
        false => usize::MAX,
    };
    tx.insert_selected(|tables| {
        let all = read.unwrap_or_else(|| outbox(tables, author));
        let newest = all.into_iter().filter(|it| it.position() >= from).take(limit);
        newest.map(|it| Change::Inbox((reader, it.position()), Some(author), None)).collect()
    })
    .await
}

/// See `Inboxes::extend`.
pub async fn extend(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    reader: UserId,
    step: u32,
) -> Result<Extended, StoreError> {
    let step = usize::try_from(step.max(1)).unwrap_or(usize::MAX);
    let early = match primary_store.breaks(Rule::ExtendReadsBeforeLocking) {
        true => Some(
            tx.read(|it| (it.floor(reader), covered_below(it, reader, it.floor(reader).trusted_from(), step))).await?,
        ),
        false => None,
    };
    let floor = match primary_store.breaks(Rule::ExtendWithoutLock) {
        true => tx.read(|tables| tables.floor(reader)).await?,
        false => lock_state(&mut tx, reader).await?.floor,
    };
    let floor = early.as_ref().map_or(floor, |(early, _)| if floor == Floor::Off { floor } else { *early });
    let from = match floor {
        Floor::At(from) => from,
        Floor::Off if primary_store.breaks(Rule::ExtendIgnoresOff) => Position::NEWEST,
        Floor::Off => return tx.commit(Extended::Off).await,
    };
    if from == Position::OLDEST {
        return tx.commit(Extended::To(floor)).await;
    }
    let entries = match early {
        Some((_, early)) => early,
        None => newest_below(primary_store, &mut tx, reader, (from, step)).await?,
    };
    let row = |it: &Entry| Change::Inbox((reader, it.position()), Some(it.author), None);
    tx.insert_selected(|_| entries.iter().map(row).collect()).await?;
    let cut = entries.len() >= step && !primary_store.breaks(Rule::CutExtensionReachesTheEnd);
    let reached = entries.iter().map(Entry::position).min().filter(|_| cut);
    let floor = Floor::At(reached.unwrap_or(Position::OLDEST));
    save(&mut tx, reader, floor).await?;
    tx.commit(Extended::To(floor)).await
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
