//! A reader's state row: its lock, its floor, its revision.

use super::super::{rows::Row, transaction::Tx};
use crate::{
    domain::{Floor, Position, UserId},
    store::StoreError,
};

/// The floor in two columns from `place`; off if they are null.
pub(super) fn floor(row: &Row, place: usize) -> Result<Floor, StoreError> {
    let columns: (Option<i64>, Option<i64>) = (row.get(place)?, row.get(place + 1)?);
    Ok(match columns {
        (Some(time), Some(content)) => Floor::At(Position::bound(time, content)),
        _ => Floor::Off,
    })
}

/// Locks the reader's state and gives the floor. A reader without one gets one that is off, which means the same and can be locked.
pub(super) async fn lock(tx: &Tx, reader: UserId) -> Result<Floor, StoreError> {
    if let Some(floor) = lock_existing(tx, reader).await? {
        return Ok(floor);
    }
    let sql = format!("{} inbox_states (user_id, rev) VALUES (?, 0)", tx.dialect().insert_ignore());
    tx.execute(&sql, [reader.get().into()]).await?;
    Ok(lock_existing(tx, reader).await?.unwrap_or(Floor::Off))
}

async fn lock_existing(tx: &Tx, reader: UserId) -> Result<Option<Floor>, StoreError> {
    let sql =
        format!("SELECT floor_time, floor_content FROM inbox_states WHERE user_id = ? {}", tx.dialect().for_update());
    tx.query_one(&sql, [reader.get().into()]).await?.map(|row| floor(&row, 0)).transpose()
}

/// Locks the reader's state, if there is one, and tells when the reader was last seen.
pub(super) async fn last_seen(tx: &Tx, reader: UserId) -> Result<Option<i64>, StoreError> {
    let sql = format!("SELECT last_seen FROM inbox_states WHERE user_id = ? {}", tx.dialect().for_update());
    Ok(tx.query_one(&sql, [reader.get().into()]).await?.map(|row| row.get(0)).transpose()?.flatten())
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
