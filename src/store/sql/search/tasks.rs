//! Contents that have more terms than one transaction writes: the indexer writes or deletes them in steps, and a row
//! says how many are done.
//!
//! The row of a content that is to be indexed goes with its last terms, in one transaction: a statement sees the row
//! or all terms. A removal replaces the row by one of its own, which brings the text along.

use std::{ops::Range, sync::Arc};

use sql_driver::{Ended, Tx, Value};

use super::{
    super::{SqlStore, rows::DomainColumns as _},
    task_terms::{Kind, RememberedTask, TaskTerms},
    terms::{all_terms_of, delete as delete_terms, insert as insert_terms},
};
use crate::{
    domain::{
        Entry, Position, UserId,
        limits::{MAX_INDEXED_TERMS, MAX_UNINDEXED, MAX_UNINDEXED_OF_AUTHOR, MAX_UNINDEXED_READ},
        search::terms::{Change, Term, terms_of},
    },
    store::StoreError,
};

/// Tasks of one kind that one step works on.
const TASKS: usize = 16;
/// Finds a task by its key, with the values of [`key`].
const KEY: &str = "is_removal = ? AND publish_time = ? AND content_id = ?";

fn key(kind: Kind, at: Position) -> [Value; 3] {
    [kind.code().into(), at.publish_time().into(), at.content_number().into()]
}

/// Adds a task, unless the content has it already.
pub(in super::super) async fn add(tx: &Tx, kind: Kind, entry: Entry, text: Option<&str>) -> Result<(), StoreError> {
    let sql = "INSERT INTO search_tasks (is_removal, publish_time, content_id, author_id, terms_done, text) \
               VALUES (?, ?, ?, ?, 0, ?)";
    let [time, id, author] = [entry.publish_time, entry.content.get(), entry.author.get()];
    tx.insert(sql, [kind.code().into(), time.into(), id.into(), author.into(), text.into()]).await.map(|_| ())
}

/// Deletes the task of a content, if there is one.
pub(super) async fn delete(tx: &Tx, kind: Kind, at: Position) -> Result<(), StoreError> {
    tx.execute(&format!("DELETE FROM search_tasks WHERE {KEY}"), key(kind, at)).await.map(|_| ())
}

/// Deletes the terms of a content that is removed in this transaction, or leaves them to the indexer if they are many.
pub(in super::super) async fn remove(tx: &Tx, entry: Entry, text: &str) -> Result<(), StoreError> {
    let terms = all_terms_of(text);
    if terms.len() <= MAX_INDEXED_TERMS {
        return delete_terms(tx, entry.position(), &terms).await;
    }
    delete(tx, Kind::Index, entry.position()).await?;
    add(tx, Kind::Remove, entry, Some(text)).await
}

/// Whether another content of the author may wait to be indexed. Publishes at once may each find the last place.
pub(in super::super) async fn has_room(tx: &Tx, author: UserId) -> Result<bool, StoreError> {
    let sql = format!("SELECT author_id FROM search_tasks WHERE is_removal = 0 LIMIT {MAX_UNINDEXED}");
    let waiting = tx.query(&sql, []).await?;
    let mut own = 0;
    for row in &waiting {
        own += usize::from(row.user(0)? == author);
    }
    Ok(waiting.len() < MAX_UNINDEXED && own < MAX_UNINDEXED_OF_AUTHOR)
}

impl SqlStore {
    /// Works on the oldest tasks of each kind. Returns how many contents waited to be indexed, and whether there was
    /// any task.
    pub(super) async fn work_on_search_tasks(&self) -> Result<(usize, bool), StoreError> {
        let mut waiting = [0, 0];
        for kind in [Kind::Index, Kind::Remove] {
            let sql = format!(
                "SELECT publish_time, content_id FROM search_tasks WHERE is_removal = ? \
                 ORDER BY publish_time, content_id LIMIT {MAX_UNINDEXED_READ}"
            );
            let found = self.read_few(&sql, [kind.code().into()]).await?;
            let keys = found.iter().map(|row| Ok(Position::bound(row.get(0)?, row.get(1)?)));
            let keys = keys.collect::<Result<Vec<Position>, StoreError>>()?;
            if let Some(count) = waiting.get_mut(usize::from(kind == Kind::Remove)) {
                *count = keys.len();
            }
            if keys.is_empty() {
                continue;
            }
            let keys = keys.get(..TASKS.min(keys.len())).unwrap_or_default();
            self.transaction(move |tx| async move { work(tx, &self.last_task, kind, keys).await }).await?;
        }
        Ok((waiting[0], waiting != [0, 0]))
    }
}

/// Writes or deletes terms of these contents, in this order, until there are enough for one transaction.
async fn work(tx: Tx, last: &RememberedTask, kind: Kind, keys: &[Position]) -> Result<Ended<()>, StoreError> {
    let mut left = MAX_INDEXED_TERMS;
    for at in keys {
        left -= work_on(&tx, last, (kind, *at), left).await?;
        if left == 0 {
            break;
        }
    }
    tx.commit(()).await
}

/// Writes or deletes up to `most` terms of a content, and returns how many. Another node may have done so since.
async fn work_on(
    tx: &Tx,
    last: &RememberedTask,
    (kind, at): (Kind, Position),
    most: usize,
) -> Result<usize, StoreError> {
    let task = format!("SELECT terms_done FROM search_tasks WHERE {KEY} {}", tx.dialect().for_update());
    let Some(row) = tx.query_one(&task, key(kind, at)).await? else { return Ok(0) };
    let done = usize::try_from(row.get::<i32>(0)?).unwrap_or(0);
    let terms = match last.get(kind, at) {
        Some(terms) => terms,
        None => Arc::new(terms_of_task(tx, kind, at).await?),
    };
    let TaskTerms { written, deleted } = terms.as_ref();
    let whole = written.len() + deleted.len();
    let until = done.saturating_add(most).min(whole);
    insert_terms(tx, at, part(written, 0, done..until)).await?;
    delete_terms(tx, at, part(deleted, written.len(), done..until)).await?;
    if until == whole {
        last.set(kind, at, None);
        delete(tx, kind, at).await?;
    } else {
        last.set(kind, at, Some(&terms));
        let sql = format!("UPDATE search_tasks SET terms_done = ? WHERE {KEY}");
        let place = i64::try_from(until).unwrap_or(i64::MAX);
        tx.execute(&sql, std::iter::once(place.into()).chain(key(kind, at))).await?;
    }
    Ok(until.saturating_sub(done))
}

/// The part of `terms`, the first of which is number `first` of the task, that lies in the range.
fn part(terms: &[Term], first: usize, range: Range<usize>) -> &[Term] {
    let clamp = |place: usize| place.saturating_sub(first).min(terms.len());
    terms.get(clamp(range.start)..clamp(range.end)).unwrap_or_default()
}

async fn terms_of_task(tx: &Tx, kind: Kind, at: Position) -> Result<TaskTerms, StoreError> {
    if kind == Kind::Index {
        let text = text_of(tx, at).await?;
        return Ok(TaskTerms { written: terms_of(&text), deleted: Change::of(&text).dropped });
    }
    let found = tx.query_one(&format!("SELECT text FROM search_tasks WHERE {KEY}"), key(kind, at)).await?;
    let text: Option<String> = found.map(|row| row.get(0)).transpose()?.flatten();
    Ok(TaskTerms { written: Vec::new(), deleted: all_terms_of(&text.unwrap_or_default()) })
}

/// Empty if the text has been erased.
async fn text_of(tx: &Tx, at: Position) -> Result<String, StoreError> {
    let found = tx.query_one("SELECT text FROM contents WHERE id = ?", [at.content_number().into()]).await?;
    found.map(|row| row.get(0)).transpose().map(Option::unwrap_or_default)
}
