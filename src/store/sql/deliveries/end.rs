//! Ends a delivery whose chain is complete and served, or whose content was removed.

use super::{
    super::{fragment::Fragment, open_transaction::Tx, rows::Row},
    chain, records,
};
use crate::{
    domain::{ContentId, delivery::subtask::END},
    store::StoreError,
};

/// Whether the record exists, whether its content does, and how far its subtasks are; without a lock.
pub(super) fn state(content: ContentId) -> Fragment {
    let id = content.get();
    let text = "SELECT EXISTS (SELECT 1 FROM deliveries WHERE content_id = ?), \
                EXISTS (SELECT 1 FROM contents WHERE id = ? AND removed_at IS NULL), \
                MAX(last_fan), COUNT(CASE WHEN pushed_through < last_fan THEN 1 END) \
                FROM subtasks WHERE content_id = ?";
    Fragment::new(text, [id, id, id])
}

/// Whether the record is gone, if that is certain: somebody has ended the delivery, or it goes on.
pub(super) fn known(state: &Row) -> Result<Option<bool>, StoreError> {
    let [recorded, visible] = [state.get::<i64>(0)? != 0, state.get::<i64>(1)? != 0];
    let served = state.get::<Option<i64>>(2)? == Some(END) && state.count(3)? == 0;
    Ok(match (recorded, visible && !served) {
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
    let ends = removed || chain::is_served(tx, content, END).await?;
    if ends {
        records::delete_with_subtasks(tx, content).await?;
    }
    Ok(ends)
}
