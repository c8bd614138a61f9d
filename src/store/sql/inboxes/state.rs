//! A reader's state row: its lock, its floor, its revision.

use super::super::{rows::Row, transaction::Tx};
use crate::{
    domain::{
        Floor, Position, UserId,
        delivery::{ReaderFacts, rate},
        limits::VISIT_MS,
    },
    store::{StoreError, inboxes::Seen},
};

/// The floor in two columns from `place`; off if they are null.
pub(super) fn floor(row: &Row, place: usize) -> Result<Floor, StoreError> {
    let columns: (Option<i64>, Option<i64>) = (row.get(place)?, row.get(place + 1)?);
    Ok(match columns {
        (Some(time), Some(content)) => Floor::At(Position::bound(time, content)),
        _ => Floor::Off,
    })
}

/// A state that is locked.
pub(super) struct Locked {
    /// From where on the inbox is trusted.
    pub(super) floor: Floor,
    /// In ms.
    last_seen: Option<i64>,
    /// Smoothed, in ms.
    read_every_ms: Option<i64>,
}

/// Locks the reader's state. A reader without one gets one that is off, which means the same and can be locked.
pub(super) async fn lock(tx: &Tx, reader: UserId) -> Result<Locked, StoreError> {
    if let Some(locked) = lock_existing(tx, reader).await? {
        return Ok(locked);
    }
    let sql = format!("{} inbox_states (user_id, rev) VALUES (?, 0)", tx.dialect().insert_ignore());
    tx.execute(&sql, [reader.get().into()]).await?;
    Ok(lock_existing(tx, reader).await?.unwrap_or(Locked { floor: Floor::Off, last_seen: None, read_every_ms: None }))
}

async fn lock_existing(tx: &Tx, reader: UserId) -> Result<Option<Locked>, StoreError> {
    let sql = format!(
        "SELECT floor_time, floor_content, last_seen, read_every_ms FROM inbox_states WHERE user_id = ? {}",
        tx.dialect().for_update()
    );
    let row = tx.query_one(&sql, [reader.get().into()]).await?;
    row.map(|row| Ok(Locked { floor: floor(&row, 0)?, last_seen: row.get(2)?, read_every_ms: row.get(3)? })).transpose()
}

/// The reader was seen: a floor that is off opens, no other changes.
pub(super) async fn see(tx: &Tx, reader: UserId, now_ms: i64) -> Result<Seen, StoreError> {
    let Locked { floor, last_seen, read_every_ms } = lock(tx, reader).await?;
    let read_every_ms = rate::smoothed(read_every_ms, last_seen, now_ms, VISIT_MS);
    let floor = if floor == Floor::Off { Floor::OPEN } else { floor };
    let at = floor.trusted_from();
    let sql =
        "UPDATE inbox_states SET last_seen = ?, read_every_ms = ?, floor_time = ?, floor_content = ? WHERE user_id = ?";
    let (time, content) = (at.publish_time().into(), at.content_number().into());
    tx.execute(sql, [now_ms.into(), read_every_ms.into(), time, content, reader.get().into()]).await?;
    let reader = ReaderFacts { reader, last_seen: Some(now_ms), read_every_ms };
    Ok(Seen { before: last_seen, reader, floor })
}

/// Notes that something was claimed or given up, and sets the floor. The state is locked.
pub(super) async fn save(tx: &Tx, reader: UserId, floor: Floor) -> Result<(), StoreError> {
    let (time, content) = match floor {
        Floor::Off => (None, None),
        Floor::At(position) => (Some(position.publish_time()), Some(position.content_number())),
    };
    let sql = "UPDATE inbox_states SET floor_time = ?, floor_content = ?, rev = rev + 1 WHERE user_id = ?";
    tx.execute(sql, [time.into(), content.into(), reader.get().into()]).await.map(|_| ())
}
