//! Goes through all contents by id, and gives each the terms of the current rules.

use sql_driver::{Ended, Tx};

use super::{
    super::{SqlStore, rows::DomainColumns as _},
    task_terms::Kind,
    tasks,
    terms::{delete, insert},
};
use crate::{
    domain::{
        limits::{MAX_INDEXED_CONTENTS, MAX_INDEXED_TERMS},
        search::terms::{Change, FORM, FORMER_FORM, terms_of},
    },
    store::{StoreError, search_terms::Indexed},
};

impl SqlStore {
    /// One step through all contents by id.
    pub(super) async fn index_older(&self) -> Result<Indexed, StoreError> {
        if self.terms_are_current().await? {
            return Ok(Indexed { is_done: true, ..Indexed::default() });
        }
        self.transaction(move |tx| async move {
            let sql =
                format!("SELECT through_id, is_done FROM search_progress WHERE form = ? {}", tx.dialect().for_update());
            let Some(row) = tx.query_one(&sql, [FORM.into()]).await? else {
                let begin = "INSERT INTO search_progress (form, through_id) VALUES (?, 0)";
                if !tx.insert(begin, [FORM.into()]).await? {
                    return Err(StoreError::Contended("two nodes begin to index at once".into()));
                }
                return index_after(tx, 0).await;
            };
            let through = row.get(0)?;
            if row.get::<i32>(1)? != 0 {
                return tx.roll_back(Indexed { through, is_done: true, ..Indexed::default() }).await;
            }
            index_after(tx, through).await
        })
        .await
    }
}

/// The contents are locked, so a removal waits and then deletes these rows. The progress is locked, so no other node
/// indexes the same contents.
async fn index_after(tx: Tx, after: i64) -> Result<Ended<Indexed>, StoreError> {
    let had_index = "SELECT 1 FROM search_progress WHERE form = ? AND is_done = 1";
    let had_index = tx.query_one(had_index, [FORMER_FORM.into()]).await?.is_some();
    let sql = format!(
        "SELECT publish_time, id, author_id, text, removed_at FROM contents WHERE id > ? \
         ORDER BY id LIMIT {MAX_INDEXED_CONTENTS} {}",
        tx.dialect().for_update()
    );
    let rows = tx.query(&sql, [after.into()]).await?;
    let (mut contents, mut written, mut through) = (0, 0, after);
    for row in &rows {
        let (entry, text) = (row.entry(0)?, row.get::<String>(3)?);
        let change = match (row.get::<Option<i64>>(4)?, had_index) {
            (Some(_), _) => Change::default(),
            (None, true) => Change::of(&text),
            (None, false) => Change { added: terms_of(&text), dropped: Vec::new() },
        };
        if contents > 0 && written + change.len() > MAX_INDEXED_TERMS {
            break;
        }
        if change.len() > MAX_INDEXED_TERMS {
            tasks::add(&tx, Kind::Index, entry, None).await?;
        } else {
            insert(&tx, entry.position(), &change.added).await?;
            delete(&tx, entry.position(), &change.dropped).await?;
        }
        (contents, written, through) = (contents + 1, written + change.len(), entry.content.get());
    }
    let is_done = rows.len() < MAX_INDEXED_CONTENTS && contents == rows.len();
    let sql = "UPDATE search_progress SET through_id = ?, is_done = ? WHERE form = ?";
    tx.execute(sql, [through.into(), i32::from(is_done).into(), FORM.into()]).await?;
    tx.commit(Indexed { contents, through, waiting: 0, is_done }).await
}
