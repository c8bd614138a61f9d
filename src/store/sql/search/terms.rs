//! Rows of the search index. [`super::tasks`] writes those of contents that have many, and
//! [`super::rebuild`] those of contents that are older.

use sql_driver::{Dialect, Fragment, Tx, Value};

use super::super::{SqlStore, rows::id_list};
use crate::{
    domain::{
        Position,
        search::terms::{Change, FORM, Term, terms_of},
    },
    store::StoreError,
};

/// The table with its columns, in the order of an insert.
pub(in super::super) const COLUMNS: &str = "search_terms (term, publish_time, content_id)";
/// Rows of one statement; a power of two. A content of usual length is one statement.
const ROWS: usize = 512;

/// Adds the missing terms.
pub(in super::super) async fn insert(tx: &Tx, at: Position, terms: &[Term]) -> Result<(), StoreError> {
    for Fragment { text, values } in rows(tx.dialect(), at, terms) {
        tx.execute(&text, values).await?;
    }
    Ok(())
}

/// Statements that add the missing terms. They are filled up to powers of two with their last row, because each
/// connection prepares each distinct text once.
pub(in super::super) fn rows(dialect: Dialect, at: Position, terms: &[Term]) -> impl Iterator<Item = Fragment> {
    let keep = dialect.on_conflict_nothing("term, publish_time, content_id", "content_id = search_terms.content_id");
    let [time, id] = [at.publish_time(), at.content_number()];
    terms.chunks(ROWS).map(move |terms| {
        let mut values: Vec<i64> = terms.iter().flat_map(|term| [(*term).into(), time, id]).collect();
        let (count, last) = (terms.len().next_power_of_two(), values.split_off(values.len() - 3));
        values.extend(last.iter().cycle().take(3 * (count + 1 - terms.len())));
        let placeholders = vec!["(?, ?, ?)"; count].join(", ");
        let text = format!("INSERT INTO {COLUMNS} VALUES {placeholders} {keep}");
        Fragment::with(text, values.into_iter().map(Value::from))
    })
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

impl SqlStore {
    /// See [`crate::store::SearchTerms::is_current`].
    pub(super) async fn terms_are_current(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM search_progress WHERE form = ? AND is_done = 1";
        Ok(!self.read_few(sql, [FORM.into()]).await?.is_empty())
    }
}
