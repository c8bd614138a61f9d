//! Raises what an inbox of the model claims to another author: covers an edge.

use tidefeed::{
    domain::{EdgeMode, Entry, Floor, Position, UserId},
    store::{StoreError, inboxes::Covered},
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
