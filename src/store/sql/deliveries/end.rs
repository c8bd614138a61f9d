//! Ends a delivery whose chain is complete and served, or whose content was removed.

use sql_driver::{Fragment, Tx};

use super::{super::rows::Row, records};
use crate::{
    domain::{ContentId, delivery::subtask::END},
    store::StoreError,
};

/// How far the subtasks of a content are; [`is_served`] reads both columns.
const PROGRESS: &str =
    "MAX(last_fan), COUNT(CASE WHEN pushed_through < last_fan THEN 1 END) FROM subtasks WHERE content_id = ?";

/// Whether the chain is complete and every subtask of it done; columns from `place`.
fn is_served(row: &Row, place: usize) -> Result<bool, StoreError> {
    Ok(row.get::<Option<i64>>(place)? == Some(END) && row.count(place + 1)? == 0)
}

/// Whether the record exists, whether its content does, and how far its subtasks are; without a lock.
pub(super) fn state(content: ContentId) -> Fragment {
    let id = content.get();
    let text = format!(
        "SELECT EXISTS (SELECT 1 FROM deliveries WHERE content_id = ?), \
         EXISTS (SELECT 1 FROM contents WHERE id = ? AND removed_at IS NULL), {PROGRESS}"
    );
    Fragment::new(text, [id, id, id])
}

/// Whether the record is gone, if that is certain: somebody has ended the delivery, or it goes on.
pub(super) fn known(state: &Row) -> Result<Option<bool>, StoreError> {
    let [recorded, visible] = [state.get::<i64>(0)? != 0, state.get::<i64>(1)? != 0];
    Ok(match (recorded, visible && !is_served(state, 2)?) {
        (false, _) => Some(true),
        (true, true) => Some(false),
        (true, false) => None,
    })
}

/// Deletes the record and its subtasks if nothing is left to be done. The caller has locked the record.
pub(super) async fn end(tx: &Tx, content: ContentId) -> Result<bool, StoreError> {
    let sql = "SELECT removed_at IS NOT NULL FROM contents WHERE id = ?";
    let content_row = tx.query_one(sql, [content.get().into()]).await?;
    let removed = content_row.map_or(Ok(1), |row| row.get::<i64>(0))? != 0;
    let ends = removed || {
        let progress = tx.query_one(&format!("SELECT {PROGRESS}"), [content.get().into()]).await?;
        progress.as_ref().map_or(Ok(false), |row| is_served(row, 0))?
    };
    if ends {
        records::delete_with_subtasks(tx, content).await?;
    }
    Ok(ends)
}
