//! Reads the newest contents below a floor, for an extension. Several statements do, each with a snapshot of its own;
//! docs/coverage.md says why that is enough under the lock of the reader's state.

use sql_driver::Tx;

use super::super::{
    rows::DomainColumns as _,
    timelines::{self, Below},
};
use crate::{
    domain::{Entry, Position, UserId, timeline::extension},
    store::StoreError,
};

/// The newest `wanted` contents below the floor of the authors whom the reader's inbox covers, newest first. The caller
/// has locked the reader's state.
pub(super) async fn newest(tx: &Tx, reader: UserId, floor: Position, wanted: usize) -> Result<Vec<Entry>, StoreError> {
    if let Some(entries) = in_window(tx, reader, floor, wanted).await? {
        return Ok(entries);
    }
    let statement = timelines::covered_below(tx.dialect(), reader, floor, wanted);
    tx.query(&statement.text, statement.values).await?.iter().map(|row| row.entry(0)).collect()
}

/// The same from a window of time; `None` if it holds too many contents or too few. An author without a content in the
/// window is read no further: the statement that said so has read the whole window of this author.
async fn in_window(tx: &Tx, reader: UserId, floor: Position, wanted: usize) -> Result<Option<Vec<Entry>>, StoreError> {
    let heads = nth(tx, reader, floor, 1).await?;
    let place = extension::nth(wanted, heads.len());
    let at_place = if place == 1 { heads.clone() } else { nth(tx, reader, floor, place).await? };
    let end_ms = extension::window_end(wanted, place, at_place.iter().map(|(_, time)| *time).collect());
    let reaching = heads.into_iter().filter(|(_, newest)| extension::reaches(*newest, end_ms));
    let authors: Vec<UserId> = reaching.map(|(author, _)| author).collect();
    let most = extension::most_rows(wanted);
    let mut entries: Vec<Entry> = Vec::new();
    for some in authors.chunks(tx.dialect().max_ranges()) {
        let window = Below { floor, end_ms, limit: most.saturating_sub(entries.len()).saturating_add(1) };
        let statement = timelines::of_authors_below(tx.dialect(), reader, some, window);
        for row in tx.query(&statement.text, statement.values).await? {
            entries.push(row.entry(0)?);
        }
        if entries.len() > most {
            return Ok(None);
        }
    }
    Ok(extension::newest(entries, wanted, end_ms))
}

/// The publish times of the covered authors' `place`-th newest contents below the floor, without authors who have none.
async fn nth(tx: &Tx, reader: UserId, floor: Position, place: usize) -> Result<Vec<(UserId, i64)>, StoreError> {
    let statement = timelines::nth_of_covered(tx.dialect(), reader, floor, place);
    let mut times = Vec::new();
    for row in tx.query(&statement.text, statement.values).await? {
        if let Some(time) = row.get::<Option<i64>>(1)? {
            times.push((row.user(0)?, time));
        }
    }
    Ok(times)
}
