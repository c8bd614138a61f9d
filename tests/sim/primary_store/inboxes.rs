//! Inboxes in the model: the reader's state is locked first, and everything else read after it.

use async_trait::async_trait;
use tidefeed::{
    domain::{
        Floor, Position, UserId,
        delivery::{ReaderFacts, rate},
        limits::VISIT_MS,
        timeline::tier::LifeEnds,
    },
    store::{
        Inboxes, StoreError,
        inboxes::{Covered, Extended, SeenReader, Trimmed},
    },
};

use super::{
    extension, growth,
    tables::{Change, Row, State, Tables},
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

const MAX_LIST: u64 = 1_000;
/// Sets of readers that are extended at once.
const ROOM: usize = 2;

/// The state of somebody who has none.
pub const OFF: State = State {
    floor: Floor::Off,
    rev: 0,
    last_seen: None,
    read_every: None,
    deep_until: None,
    stay: None,
    passed_over: false,
};

#[async_trait]
impl Inboxes for PrimaryStore {
    async fn floor(&self, reader: UserId) -> Result<Floor, StoreError> {
        self.read(|tables| tables.floor(reader)).await
    }

    async fn held(&self, reader: UserId, at_most: u32) -> Result<u64, StoreError> {
        self.read(|tables| {
            let floor = tables.floor(reader);
            let trusted =
                tables.inbox(reader).filter(|it| floor != Floor::Off && it.position() >= floor.trusted_from());
            (trusted.count() as u64).min(u64::from(at_most))
        })
        .await
    }

    async fn keep_deep(&self, reader: UserId, until_ms: i64) -> Result<(), StoreError> {
        transaction!(self, tx => keep_deep(tx, reader, until_ms))
    }

    async fn mark_seen(&self, readers: &[UserId], now_ms: i64) -> Result<Vec<SeenReader>, StoreError> {
        transaction!(self, tx => mark_seen(self, tx, readers, now_ms))
    }

    async fn cover(&self, reader: UserId, author: UserId, keep: u32, version: i64) -> Result<Covered, StoreError> {
        transaction!(self, tx => growth::cover(self, tx, (reader, author), keep, version))
    }

    async fn clear_unfollowed(&self, reader: UserId, author: UserId) -> Result<u64, StoreError> {
        transaction!(self, tx => clear(self, tx, reader, author))
    }

    async fn extend_all(&self, readers: &[UserId], step: u32) -> Result<Vec<(UserId, Extended)>, StoreError> {
        if readers.is_empty() {
            return Ok(Vec::new());
        }
        transaction!(self, tx => extension::extend_all(self, tx, readers, step))
    }

    fn room(&self) -> usize {
        ROOM
    }

    async fn trim(&self, reader: UserId, keep: u32) -> Result<Trimmed, StoreError> {
        transaction!(self, tx => trim(self, tx, reader, keep))
    }

    async fn reset(&self, reader: UserId) -> Result<u64, StoreError> {
        transaction!(self, tx => reset(tx, reader))
    }

    async fn turn_off_unseen(&self, seen_before_ms: i64, limit: u64) -> Result<u64, StoreError> {
        transaction!(self, tx => turn_off(self, tx, seen_before_ms, limit.min(MAX_LIST)))
    }

    async fn overfull(
        &self,
        after: i64,
        keep: u32,
        limit: u64,
        deep: LifeEnds,
    ) -> Result<(Vec<UserId>, Option<i64>), StoreError> {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(|tables| {
            let looked_at: Vec<(UserId, State)> = tables
                .states
                .iter()
                .filter(|(user, _)| user.get() > after)
                .take(limit)
                .map(|(a, b)| (*a, *b))
                .collect();
            let full = |user: UserId, state: State| {
                let lives = state.deep_until.is_some_and(|until| until > deep.after && until <= deep.through);
                let rows = tables.inbox(user).count();
                if state.floor == Floor::Off { rows > 0 } else { !lives && rows > keep }
            };
            let overfull =
                looked_at.iter().filter(|(user, state)| full(*user, *state)).map(|(user, _)| *user).collect();
            let last = looked_at.last().filter(|_| looked_at.len() >= limit).map(|(user, _)| user.get());
            (overfull, last)
        })
        .await
    }
}

/// Locks the reader's state; a reader without one gets one that is off.
pub async fn lock_state(tx: &mut Tx, reader: UserId) -> Result<State, StoreError> {
    if !tx.lock(Row::State(reader)).await? {
        tx.insert(Change::State(reader, Some(OFF), None)).await?;
        tx.lock(Row::State(reader)).await?;
    }
    Ok(tx.look(|tables| tables.states.get(&reader).copied()).unwrap_or(OFF))
}

/// Sets the floor, and notes that something was claimed or given up.
pub async fn save(tx: &mut Tx, reader: UserId, floor: Floor) -> Result<(), StoreError> {
    change_state(tx, reader, |state| State { floor, rev: state.rev + 1, ..state }).await
}

async fn change_state(tx: &mut Tx, reader: UserId, to: impl Fn(State) -> State) -> Result<(), StoreError> {
    tx.write(|tables| {
        let state = tables.states.get(&reader);
        state.map(|state| Change::State(reader, Some(to(*state)), None)).into_iter().collect()
    })
    .await
    .map(|_| ())
}

async fn keep_deep(mut tx: Tx, reader: UserId, until_ms: i64) -> Result<(), StoreError> {
    change_state(&mut tx, reader, |state| State { deep_until: Some(until_ms), ..state }).await?;
    tx.commit(()).await
}

async fn mark_seen(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    readers: &[UserId],
    now_ms: i64,
) -> Result<Vec<SeenReader>, StoreError> {
    let mut all = Vec::with_capacity(readers.len());
    for reader in readers {
        all.push(see(primary_store, &mut tx, *reader, now_ms).await?);
    }
    tx.commit(all).await
}

async fn see(primary_store: &PrimaryStore, tx: &mut Tx, reader: UserId, now_ms: i64) -> Result<SeenReader, StoreError> {
    let before = lock_state(tx, reader).await?;
    let read_every_ms = rate::smoothed(before.read_every, before.last_seen, now_ms, VISIT_MS);
    let opened = if primary_store.breaks(Rule::ReturningIsTrusted) { Floor::At(Position::OLDEST) } else { Floor::OPEN };
    let was_off = before.floor == Floor::Off && before.stay.is_none();
    let floor = if was_off { opened } else { before.floor };
    change_state(tx, reader, |state| State {
        floor,
        last_seen: Some(now_ms),
        read_every: read_every_ms,
        passed_over: false,
        ..state
    })
    .await?;
    let reader = ReaderFacts { reader, last_seen: Some(now_ms), read_every_ms };
    Ok(SeenReader { before: before.last_seen, reader, floor, was_off })
}

async fn clear(primary_store: &PrimaryStore, mut tx: Tx, reader: UserId, author: UserId) -> Result<u64, StoreError> {
    let early = primary_store.breaks(Rule::CleanUpLooksBeforeLocking);
    let mut edge = tx.read(|tables| early && tables.mode(reader, author).is_some()).await?;
    let floor = lock_state(&mut tx, reader).await?.floor;
    if !early && !primary_store.breaks(Rule::CleanUpOfFollowed) {
        edge = tx.read(|tables| tables.mode(reader, author).is_some()).await?;
    }
    if edge {
        return tx.roll_back(0).await;
    }
    let of_author = |tables: &Tables| {
        let rows = tables.inbox(reader).filter(|it| it.author == author);
        rows.map(|it| Change::Inbox((reader, it.position()), None, None)).collect()
    };
    let rows = tx.write(of_author).await?;
    save(&mut tx, reader, floor).await?;
    if rows == 0 { tx.roll_back(0).await } else { tx.commit(rows).await }
}

async fn trim(primary_store: &PrimaryStore, mut tx: Tx, reader: UserId, keep: u32) -> Result<Trimmed, StoreError> {
    let early = tx.look(|tables| (tables.floor(reader), last_kept(tables, reader, keep)));
    let state = match primary_store.breaks(Rule::TrimWithoutLock) {
        true => tx.read(|tables| tables.states.get(&reader).copied().unwrap_or(OFF)).await?,
        false => lock_state(&mut tx, reader).await?,
    };
    let delete_below = |tables: &Tables, end: Position| -> Vec<Change> {
        let rows = tables.inbox(reader).filter(|it| it.position() < end);
        rows.map(|it| Change::Inbox((reader, it.position()), None, None)).collect()
    };
    let Floor::At(mut floor) = state.floor else {
        let rows = tx.write(|tables| delete_below(tables, Position::NEWEST)).await?;
        save(&mut tx, reader, Floor::Off).await?;
        return tx.commit(Trimmed { rows, raised: false }).await;
    };
    let mut kept = tx.read(|tables| last_kept(tables, reader, keep)).await?;
    if primary_store.breaks(Rule::TrimReadsBeforeLocking) {
        kept = early.1;
        floor = if let Floor::At(early) = early.0 { early } else { floor };
    }
    let Some(last_kept) = kept else { return tx.commit(Trimmed::default()).await };
    let raised = match primary_store.engine.broken {
        Some(Rule::TrimLowersFloor) => last_kept,
        Some(Rule::TrimKeepsFloor) => floor,
        _ => floor.max(last_kept),
    };
    save(&mut tx, reader, Floor::At(raised)).await?;
    let rows = tx.write(|tables| delete_below(tables, last_kept)).await?;
    tx.commit(Trimmed { rows, raised: last_kept > floor }).await
}

async fn reset(mut tx: Tx, reader: UserId) -> Result<u64, StoreError> {
    let floor = match lock_state(&mut tx, reader).await?.floor {
        Floor::Off => Floor::Off,
        Floor::At(_) => Floor::OPEN,
    };
    let all =
        |tables: &Tables| tables.inbox(reader).map(|it| Change::Inbox((reader, it.position()), None, None)).collect();
    let rows = tx.write(all).await?;
    save(&mut tx, reader, floor).await?;
    tx.commit(rows).await
}

fn last_kept(tables: &Tables, reader: UserId, keep: u32) -> Option<Position> {
    let keep = usize::try_from(keep.max(1)).unwrap_or(1);
    let mut rows = tables.inbox(reader).rev().skip(keep - 1);
    let last = rows.next();
    rows.next().and(last).map(|it| it.position())
}

async fn turn_off(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    seen_before_ms: i64,
    limit: u64,
) -> Result<u64, StoreError> {
    let unseen = |tables: &Tables| {
        let unseen = tables.states.iter().filter(|(_, state)| state.floor != Floor::Off && !state.passed_over);
        let mut unseen: Vec<(i64, UserId)> = unseen
            .filter_map(|(user, state)| Some((state.last_seen.filter(|seen| *seen < seen_before_ms)?, *user)))
            .collect();
        unseen.sort_unstable();
        unseen.into_iter().map(|(_, user)| user).collect::<Vec<_>>()
    };
    let readers = tx.lock_free_ones(unseen, Row::State, limit).await?;
    if readers.is_empty() {
        return tx.commit(0).await;
    }
    let keeps = primary_store.breaks(Rule::OffKeepsTheClaim);
    let off = |state: State| match keeps {
        true => State { passed_over: true, rev: state.rev + 1, ..state },
        false => State { floor: Floor::Off, rev: state.rev + 1, ..state },
    };
    let rows = tx
        .write(|tables| {
            let states = readers.iter().filter_map(|user| Some((*user, *tables.states.get(user)?)));
            states.map(|(user, state)| Change::State(user, Some(off(state)), None)).collect()
        })
        .await?;
    tx.commit(rows).await
}
