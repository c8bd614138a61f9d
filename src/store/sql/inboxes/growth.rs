//! Extends an inbox's coverage to another author. By then deliveries write to the new area already. One transaction
//! under the reader's lock inserts the missing rows and records the coverage.

use sql_driver::{Tx, Value};

use super::{
    super::{keyset::Columns, rows::DomainColumns as _},
    state,
};
use crate::{
    domain::{Direction, EdgeMode, Floor, Position, UserId},
    store::{StoreError, inboxes::Covered},
};

const CONTENT: Columns = Columns { time: "publish_time", id: "id" };

/// See [`crate::store::Inboxes::cover`].
pub(super) async fn cover(tx: &Tx, reader: UserId, author: UserId, keep: u32) -> Result<Covered, StoreError> {
    let state::Locked { floor, is_outside, .. } = state::lock(tx, reader).await?;
    if lock_edge(tx, reader, author).await? != Some(EdgeMode::Fill) {
        return Ok(Covered::NotFilling);
    }
    if is_outside {
        return Ok(Covered::Outside);
    }
    let (rows, floor) = match floor {
        Floor::At(from) if !floor.trusts_nothing() => {
            let from = newest_from(tx, author, from, keep).await?;
            (insert_outbox(tx, reader, author, from).await?, Floor::At(from))
        }
        untrusting => (0, untrusting),
    };
    let sql = "UPDATE follows SET mode = ? WHERE follower_id = ? AND author_id = ?";
    tx.execute(sql, [EdgeMode::Push.code().into(), reader.get().into(), author.get().into()]).await?;
    state::save(tx, reader, floor).await?;
    Ok(Covered::Yes { rows })
}

async fn lock_edge(tx: &Tx, reader: UserId, author: UserId) -> Result<Option<EdgeMode>, StoreError> {
    let sql = format!("SELECT mode FROM follows WHERE follower_id = ? AND author_id = ? {}", tx.dialect().for_update());
    let row = tx.query_one(&sql, [reader.get().into(), author.get().into()]).await?;
    Ok(row.map(|row| row.get(0)).transpose()?.map(EdgeMode::from_code))
}

/// From this position on the author has at most `keep` contents, at `floor` or above: `floor` itself, or the last one
/// kept.
async fn newest_from(tx: &Tx, author: UserId, floor: Position, keep: u32) -> Result<Position, StoreError> {
    let (window, bound) = CONTENT.from(Direction::Newer, Some(floor));
    let sql = format!(
        "SELECT publish_time, id, author_id FROM contents WHERE author_id = ? AND removed_at IS NULL{window}{} \
         LIMIT 2 OFFSET ?",
        CONTENT.order(Direction::Older)
    );
    let mut values = vec![Value::from(author.get())];
    values.extend(bound);
    values.push((i64::from(keep.max(1)) - 1).into());
    let rows = tx.query(&sql, values).await?;
    match rows.as_slice() {
        [last_kept, _cut] => Ok(last_kept.entry(0)?.position()),
        _ => Ok(floor),
    }
}

/// Inserts all of the author's contents from `from` on. This statement's snapshot counts: it may hold contents that
/// the one before did not.
async fn insert_outbox(tx: &Tx, reader: UserId, author: UserId, from: Position) -> Result<u64, StoreError> {
    let (window, bound) = CONTENT.from(Direction::Newer, Some(from));
    let sql = format!(
        "{} inboxes (user_id, publish_time, content_id, author_id) \
         SELECT ?, publish_time, id, author_id FROM contents WHERE author_id = ? AND removed_at IS NULL{window}",
        tx.dialect().insert_ignore()
    );
    let values = [reader.get().into(), author.get().into()].into_iter().chain(bound);
    tx.execute(&sql, values).await
}
