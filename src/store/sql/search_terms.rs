//! Rows of the search index: written with a content, deleted with it, and added for contents that are older than the
//! index.

use sea_orm::Value;

use super::{
    SqlStore,
    open_transaction::{Ended, Tx},
    rows::id_list,
};
use crate::{
    domain::{
        Position,
        limits::{MAX_INDEXED_CONTENTS, MAX_INDEXED_TERMS},
        search::terms::{FORM, Term, terms_of},
    },
    store::{StoreError, search_terms::Indexed},
};

/// The table with its columns, in the order of an insert.
pub(super) const COLUMNS: &str = "search_terms (term, publish_time, content_id)";
/// Rows of one statement; a power of two. A content of usual length is one statement.
const ROWS: usize = 512;

/// Adds the missing terms. Statements are filled up to powers of two with their last row, because each connection
/// prepares each distinct text once.
pub(super) async fn insert(tx: &Tx, at: Position, terms: &[Term]) -> Result<(), StoreError> {
    let keep = format!(
        "{} content_id = search_terms.content_id",
        tx.dialect().on_conflict_update("term, publish_time, content_id")
    );
    let [time, id] = [at.publish_time(), at.content_number()];
    for terms in terms.chunks(ROWS) {
        let mut values: Vec<i64> = terms.iter().flat_map(|term| [(*term).into(), time, id]).collect();
        let (count, last) = (terms.len().next_power_of_two(), values.split_off(values.len() - 3));
        values.extend(last.iter().cycle().take(3 * (count + 1 - terms.len())));
        let placeholders = vec!["(?, ?, ?)"; count].join(", ");
        let sql = format!("INSERT INTO {COLUMNS} VALUES {placeholders} {keep}");
        tx.execute(&sql, values.into_iter().map(Value::from)).await?;
    }
    Ok(())
}

/// Deletes these terms of a content; each is a row of the key.
pub(super) async fn delete(tx: &Tx, at: Position, terms: &[Term]) -> Result<(), StoreError> {
    for terms in terms.chunks(ROWS) {
        let (list, values) = id_list(terms);
        let sql = format!("DELETE FROM search_terms WHERE term IN {list} AND publish_time = ? AND content_id = ?");
        let position = [at.publish_time().into(), at.content_number().into()];
        tx.execute(&sql, values.into_iter().chain(position)).await?;
    }
    Ok(())
}

/// Marks the index as complete, because there is no content yet.
pub(super) async fn nothing_to_catch_up(tx: &Tx) -> Result<(), StoreError> {
    let done = format!("{} is_done = 1", tx.dialect().on_conflict_update("form"));
    let sql = format!("INSERT INTO search_progress (form, through_id, is_done) VALUES (?, 0, 1) {done}");
    tx.execute(&sql, [FORM.into()]).await.map(|_| ())
}

impl SqlStore {
    /// See [`crate::store::SearchTerms::index_next`].
    pub(super) async fn index_step(&self) -> Result<Indexed, StoreError> {
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
                return tx.roll_back(Indexed { contents: 0, through, is_done: true }).await;
            }
            index_after(tx, through).await
        })
        .await
    }
}

/// The contents are locked, so a removal waits and then deletes these rows. The progress is locked, so no other node
/// indexes the same contents.
async fn index_after(tx: Tx, after: i64) -> Result<Ended<Indexed>, StoreError> {
    let sql = format!(
        "SELECT publish_time, id, text, removed_at FROM contents WHERE id > ? ORDER BY id LIMIT {MAX_INDEXED_CONTENTS} {}",
        tx.dialect().for_update()
    );
    let rows = tx.query(&sql, [after.into()]).await?;
    let (mut contents, mut written, mut through) = (0, 0, after);
    for row in &rows {
        let terms = if row.get::<Option<i64>>(3)?.is_some() { Vec::new() } else { terms_of(&row.get::<String>(2)?) };
        if contents > 0 && written + terms.len() > MAX_INDEXED_TERMS {
            break;
        }
        let content = row.content(1)?;
        insert(&tx, Position::of(row.get(0)?, content), &terms).await?;
        (contents, written, through) = (contents + 1, written + terms.len(), content.get());
    }
    let is_done = rows.len() < MAX_INDEXED_CONTENTS && contents == rows.len();
    let sql = "UPDATE search_progress SET through_id = ?, is_done = ? WHERE form = ?";
    tx.execute(sql, [through.into(), i32::from(is_done).into(), FORM.into()]).await?;
    tx.commit(Indexed { contents, through, is_done }).await
}
