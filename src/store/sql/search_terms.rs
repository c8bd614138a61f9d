//! Rows of the search index, and the tasks of contents that have many: see [`super::search_tasks`].

use sea_orm::Value;

use super::{
    SqlStore,
    open_transaction::{Ended, Tx},
    rows::id_list,
    search_tasks::{self, Kind},
};
use crate::{
    domain::{
        Entry, Position,
        limits::{MAX_INDEXED_CONTENTS, MAX_INDEXED_TERMS},
        search::terms::{Change, FORM, FORMER_FORM, Term, terms_of},
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
    let keep =
        tx.dialect().on_conflict_nothing("term, publish_time, content_id", "content_id = search_terms.content_id");
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

/// All terms that a content may have in the index, whichever rules it was indexed by.
pub(super) fn all_terms_of(text: &str) -> Vec<Term> {
    terms_of(text).into_iter().chain(Change::of(text).dropped).collect()
}

/// Deletes the terms of a content that is removed in this transaction, or leaves them to the indexer if they are many.
pub(super) async fn remove(tx: &Tx, entry: Entry, text: &str) -> Result<(), StoreError> {
    let terms = all_terms_of(text);
    if terms.len() <= MAX_INDEXED_TERMS {
        return delete(tx, entry.position(), &terms).await;
    }
    search_tasks::delete(tx, Kind::Index, entry.position()).await?;
    search_tasks::add(tx, Kind::Remove, entry, Some(text)).await
}

/// Marks the index as complete, because there is no content yet.
pub(super) async fn nothing_to_catch_up(tx: &Tx) -> Result<(), StoreError> {
    let done = format!("{} is_done = 1", tx.dialect().on_conflict_update("form"));
    let sql = format!("INSERT INTO search_progress (form, through_id, is_done) VALUES (?, 0, 1) {done}");
    tx.execute(&sql, [FORM.into()]).await.map(|_| ())
}

impl SqlStore {
    /// See [`crate::store::SearchTerms::is_current`].
    pub(super) async fn terms_are_current(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM search_progress WHERE form = ? AND is_done = 1";
        Ok(!self.read_few(sql, [FORM.into()]).await?.is_empty())
    }

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
            search_tasks::add(&tx, Kind::Index, entry, None).await?;
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
