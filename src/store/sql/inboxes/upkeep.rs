//! Shrinks what an inbox claims, and deletes rows outside the claim. Safe at any time: the claim shrinks before the
//! rows go, or with them.

use sql_driver::{Dialect, Fragment, Tx, Value};

use super::{
    super::{
        keyset::Columns,
        rows::{DomainColumns as _, id_list},
    },
    state,
};
use crate::{
    domain::{Direction, Floor, Position, UserId},
    store::{StoreError, inboxes::Trimmed},
};

const ROW: Columns = Columns { time: "publish_time", id: "content_id" };

/// See [`crate::store::Inboxes::clear_unfollowed`]. An edge that is inserted after this transaction has looked for it
/// cannot be covered before the transaction ends.
pub(super) async fn clear_unfollowed(tx: &Tx, reader: UserId, author: UserId) -> Result<u64, StoreError> {
    let floor = state::lock(tx, reader).await?.floor;
    let pair: [Value; 2] = [reader.get().into(), author.get().into()];
    let edge = "SELECT 1 FROM follows WHERE follower_id = ? AND author_id = ?";
    if tx.query_one(edge, pair.clone()).await?.is_some() {
        return Ok(0);
    }
    let rows = tx.execute("DELETE FROM inboxes WHERE user_id = ? AND author_id = ?", pair).await?;
    state::save(tx, reader, floor).await?;
    Ok(rows)
}

/// See [`crate::store::Inboxes::trim`].
pub(super) async fn trim(tx: &Tx, reader: UserId, keep: u32) -> Result<Trimmed, StoreError> {
    let Floor::At(floor) = state::lock(tx, reader).await?.floor else {
        let rows = tx.execute("DELETE FROM inboxes WHERE user_id = ?", [reader.get().into()]).await?;
        state::save(tx, reader, Floor::Off).await?;
        return Ok(Trimmed { rows, raised: false });
    };
    let Some(last_kept) = last_kept(tx, reader, keep).await? else { return Ok(Trimmed::default()) };
    state::save(tx, reader, Floor::At(floor.max(last_kept))).await?;
    let (older, bound) = ROW.beyond(Direction::Older, Some(last_kept));
    let sql = format!("DELETE FROM inboxes WHERE user_id = ?{older}");
    let rows = tx.execute(&sql, std::iter::once(reader.get().into()).chain(bound)).await?;
    Ok(Trimmed { rows, raised: last_kept > floor })
}

/// The last row that is kept; `None` if there are no more rows than that.
async fn last_kept(tx: &Tx, reader: UserId, keep: u32) -> Result<Option<Position>, StoreError> {
    let sql = format!(
        "SELECT publish_time, content_id, author_id FROM inboxes WHERE user_id = ?{} LIMIT 2 OFFSET ?",
        ROW.order(Direction::Older)
    );
    let skipped = i64::from(keep.max(1)) - 1;
    let rows = tx.query(&sql, [reader.get().into(), skipped.into()]).await?;
    match rows.as_slice() {
        [last_kept, _cut] => Ok(Some(last_kept.entry(0)?.position())),
        _ => Ok(None),
    }
}

/// See [`crate::store::Inboxes::reset`].
pub(super) async fn reset(tx: &Tx, reader: UserId) -> Result<u64, StoreError> {
    let floor = match state::lock(tx, reader).await?.floor {
        Floor::Off => Floor::Off,
        Floor::At(_) => Floor::OPEN,
    };
    let rows = tx.execute("DELETE FROM inboxes WHERE user_id = ?", [reader.get().into()]).await?;
    state::save(tx, reader, floor).await?;
    Ok(rows)
}

/// See [`crate::store::Inboxes::turn_off_unseen`]. Skips readers whose state is locked, because a job is running for
/// them.
pub(super) async fn turn_off_unseen(tx: &Tx, seen_before_ms: i64, limit: u64) -> Result<u64, StoreError> {
    let Fragment { text, values } = longest_unseen(tx.dialect(), seen_before_ms);
    let Some(longest) = tx.query_one(&text, values).await? else { return Ok(0) };
    let Fragment { text, values } = unseen(tx.dialect(), (longest.get(0)?, seen_before_ms), limit);
    let rows = tx.query(&text, values).await?;
    let readers: Vec<UserId> = rows.iter().map(|row| row.user(0)).collect::<Result<_, _>>()?;
    if readers.is_empty() {
        return Ok(0);
    }
    let (list, values) = id_list(&readers);
    let sql = format!(
        "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL, rev = rev + 1 WHERE user_id IN {list}"
    );
    tx.execute(&sql, values).await
}

/// When the reader who is unseen for longest was seen, of those who are on and were last seen before this time (ms).
/// The index leads past all who are off. Locks nothing: a lock costs a hundred times as much at each deleted entry.
fn longest_unseen(dialect: Dialect, seen_before_ms: i64) -> Fragment {
    let text = format!(
        "SELECT seen_while_on FROM inbox_states{unseen} WHERE seen_while_on < ? ORDER BY seen_while_on LIMIT 1",
        unseen = dialect.in_order_of("unseen"),
    );
    Fragment::new(text, [seen_before_ms])
}

/// Locks the readers who are on and were last seen between these times (ms), and skips those who are locked.
pub(super) fn unseen(dialect: Dialect, (from_ms, before_ms): (i64, i64), limit: u64) -> Fragment {
    let text = format!(
        "SELECT user_id FROM inbox_states{unseen} WHERE seen_while_on >= ? AND seen_while_on < ? \
         ORDER BY seen_while_on, user_id LIMIT ? {}",
        dialect.for_update_skip_locked(),
        unseen = dialect.in_order_of("unseen"),
    );
    Fragment::new(text, [from_ms, before_ms, i64::try_from(limit).unwrap_or(i64::MAX)])
}
