//! A reader's state row: its lock, its floor, its revision.

use std::collections::HashMap;

use sql_driver::{Fragment, Tx, Value};

use super::super::{
    existing_accounts::account_exists,
    rows::{DomainColumns as _, Row, id_list},
};
use crate::{
    domain::{
        Floor, Position, UserId,
        delivery::{ReaderFacts, rate},
        limits::VISIT_MS,
    },
    store::{StoreError, inboxes::SeenReader},
};

/// The floor in two columns from `column`; off if they are null.
pub(super) fn floor(row: &Row, column: usize) -> Result<Floor, StoreError> {
    let columns: (Option<i64>, Option<i64>) = (row.get(column)?, row.get(column + 1)?);
    Ok(match columns {
        (Some(time), Some(content)) => Floor::At(Position::bound(time, content)),
        _ => Floor::Off,
    })
}

/// The tier of a reader whose inbox lies outside SQL. All others have tier 0.
pub(in super::super) const OUTSIDE: i64 = 1;

/// A state that is locked.
#[derive(Clone, Copy)]
pub(in super::super) struct Locked {
    /// The position from which the inbox is trusted.
    pub(in super::super) floor: Floor,
    /// Whether the inbox lies outside SQL; the floor is off then, and stays so.
    pub(in super::super) is_outside: bool,
    /// In ms.
    last_seen: Option<i64>,
    /// Smoothed, in ms.
    read_every_ms: Option<i64>,
}

/// Stands for a reader who has no state.
const ABSENT: Locked = Locked { floor: Floor::Off, is_outside: false, last_seen: None, read_every_ms: None };

/// Locks the reader's state. A reader without one gets one that is off, which means the same and can be locked.
pub(in super::super) async fn lock(tx: &Tx, reader: UserId) -> Result<Locked, StoreError> {
    if let Some(locked) = lock_existing(tx, reader).await? {
        return Ok(locked);
    }
    let sql = format!("{} inbox_states (user_id, rev) VALUES (?, 0)", tx.dialect().insert_ignore());
    tx.execute(&sql, [reader.get().into()]).await?;
    Ok(lock_existing(tx, reader).await?.unwrap_or(ABSENT))
}

async fn lock_existing(tx: &Tx, reader: UserId) -> Result<Option<Locked>, StoreError> {
    let sql = format!(
        "SELECT floor_time, floor_content, last_seen, read_every_ms, tier FROM inbox_states WHERE user_id = ? {}",
        tx.dialect().for_update()
    );
    tx.query_one(&sql, [reader.get().into()]).await?.as_ref().map(locked).transpose()
}

fn locked(row: &Row) -> Result<Locked, StoreError> {
    let is_outside = row.get::<i64>(4)? == OUTSIDE;
    Ok(Locked { floor: floor(row, 0)?, is_outside, last_seen: row.get(2)?, read_every_ms: row.get(3)? })
}

/// Marks readers as seen. Opens floors that are off, unless the inbox lies outside SQL, and changes no others. Skips
/// deleted accounts. `readers` is not empty and ascends, so that two callers lock the same readers in one order.
pub(super) async fn see(tx: &Tx, readers: &[UserId], now_ms: i64) -> Result<Vec<SeenReader>, StoreError> {
    let states = lock_all(tx, readers).await?;
    let existing = readers.iter().filter_map(|reader| Some((*reader, states.get(reader)?)));
    let seen: Vec<SeenReader> = existing.map(|(reader, state)| seen(reader, *state, now_ms)).collect();
    if seen.is_empty() {
        return Ok(seen);
    }
    let row = |seen: &SeenReader| -> [Value; 5] {
        let (time, content) = columns_of(seen.floor);
        let reader = [seen.reader.reader.get().into(), now_ms.into(), seen.reader.read_every_ms.into()];
        let [id, last_seen, read_every_ms] = reader;
        [id, last_seen, read_every_ms, time.into(), content.into()]
    };
    let mut rows: Vec<[Value; 5]> = seen.iter().map(row).collect();
    if let Some(last) = rows.last().cloned() {
        rows.resize(rows.len().next_power_of_two(), last);
    }
    let columns = ["last_seen", "read_every_ms", "floor_time", "floor_content"];
    let dialect = tx.dialect();
    let sql = format!(
        "INSERT INTO inbox_states (user_id, {}) VALUES {} {} {}",
        columns.join(", "),
        vec!["(?, ?, ?, ?, ?)"; rows.len()].join(", "),
        dialect.on_conflict_update("user_id"),
        columns.map(|column| format!("{column} = {}", dialect.incoming(column))).join(", "),
    );
    tx.execute(&sql, rows.into_iter().flatten()).await?;
    Ok(seen)
}

fn seen(reader: UserId, state: Locked, now_ms: i64) -> SeenReader {
    let Locked { floor, is_outside, last_seen, read_every_ms } = state;
    let read_every_ms = rate::smoothed(read_every_ms, last_seen, now_ms, VISIT_MS);
    let was_off = floor == Floor::Off && !is_outside;
    let floor = if was_off { Floor::OPEN } else { floor };
    let reader = ReaderFacts { reader, last_seen: Some(now_ms), read_every_ms };
    SeenReader { before: last_seen, reader, floor, was_off }
}

/// As [`lock`], in ascending ids, without deleted accounts.
pub(in super::super) async fn lock_all(tx: &Tx, readers: &[UserId]) -> Result<HashMap<UserId, Locked>, StoreError> {
    let states = lock_existing_accounts(tx, readers).await?;
    let absent: Vec<UserId> = readers.iter().copied().filter(|reader| !states.contains_key(reader)).collect();
    if absent.is_empty() {
        return Ok(states);
    }
    let rows = vec!["(?, 0)"; absent.len()].join(", ");
    let sql = format!("{} inbox_states (user_id, rev) VALUES {rows}", tx.dialect().insert_ignore());
    tx.execute(&sql, absent.iter().map(|reader| reader.get().into())).await?;
    lock_existing_accounts(tx, readers).await
}

async fn lock_existing_accounts(tx: &Tx, readers: &[UserId]) -> Result<HashMap<UserId, Locked>, StoreError> {
    let (list, values) = id_list(readers);
    let sql = format!(
        "SELECT floor_time, floor_content, last_seen, read_every_ms, tier, user_id FROM inbox_states{by_key} \
         WHERE user_id IN {list}{exists} ORDER BY user_id {for_update}",
        by_key = tx.dialect().force_index("PRIMARY"),
        exists = account_exists("inbox_states.user_id"),
        for_update = tx.dialect().for_update()
    );
    tx.query(&sql, values).await?.iter().map(|row| Ok((row.user(5)?, locked(row)?))).collect()
}

/// Records a change of what the inbox claims, and sets the floor. The state is locked.
pub(in super::super) async fn save(tx: &Tx, reader: UserId, floor: Floor) -> Result<(), StoreError> {
    let Fragment { text, values } = saving(reader, floor);
    tx.execute(&text, values).await.map(|_| ())
}

/// The statement of [`save`].
pub(super) fn saving(reader: UserId, floor: Floor) -> Fragment {
    let (time, content) = columns_of(floor);
    let sql = "UPDATE inbox_states SET floor_time = ?, floor_content = ?, rev = rev + 1 WHERE user_id = ?";
    Fragment::with(sql, [time.into(), content.into(), reader.get().into()])
}

fn columns_of(floor: Floor) -> (Option<i64>, Option<i64>) {
    match floor {
        Floor::Off => (None, None),
        Floor::At(position) => (Some(position.publish_time()), Some(position.content_number())),
    }
}
