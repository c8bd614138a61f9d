//! Reads the newest contents below floors, for extensions: the statements of all readers at once. Several statements
//! read for each reader, each with a snapshot of its own; docs/coverage.md says why that is enough under the locks of
//! the readers' states.

use sql_driver::{Answers, Dialect, Fragment, Row, Tx};

use super::super::{
    rows::DomainColumns as _,
    timelines::{self, Below},
};
use crate::{
    domain::{Entry, Position, UserId, timeline::extension},
    store::StoreError,
};

/// The newest `wanted` contents below each reader's floor of the authors whom the inbox covers, newest first. The
/// caller has locked the readers' states.
pub(super) async fn newest(
    tx: &Tx,
    floors: &[(UserId, Position)],
    wanted: usize,
) -> Result<Vec<Vec<Entry>>, StoreError> {
    if tx.dialect() == Dialect::Tidb {
        return timelines::newest(tx, floors, wanted, timelines::covered_below).await;
    }
    let windows = windows(tx, floors, wanted).await?;
    let mut all = Vec::with_capacity(floors.len());
    for (entries, (reader, floor)) in in_windows(tx, &windows, wanted).await?.into_iter().zip(floors) {
        all.push(if let Some(entries) = entries {
            entries
        } else {
            let below = Below { floor: *floor, end_ms: None, limit: wanted };
            let statement = timelines::covered_below(tx.dialect(), *reader, below);
            entries_of(&tx.query(&statement.text, statement.values).await?)?
        });
    }
    Ok(all)
}

/// Where a reader's extension reads.
struct Window {
    reader: UserId,
    floor: Position,
    end_ms: Option<i64>,
    /// Those with contents in it, as far as its first statement has seen.
    authors: Vec<UserId>,
}

/// An author without a content in the window is read no further: the statement that said so has read the whole window
/// of this author.
async fn windows(tx: &Tx, floors: &[(UserId, Position)], wanted: usize) -> Result<Vec<Window>, StoreError> {
    let first: Vec<_> = floors.iter().map(|(reader, floor)| (*reader, *floor, 1)).collect();
    let heads = nth(tx, &first).await?;
    let depths: Vec<usize> = heads.iter().map(|heads| extension::nth(wanted, heads.len())).collect();
    let with_depths = floors.iter().zip(&depths).map(|((reader, floor), place)| (*reader, *floor, *place));
    let deeper: Vec<_> = with_depths.filter(|(.., place)| *place > 1).collect();
    let mut at_depths = nth(tx, &deeper).await?.into_iter();
    let mut windows = Vec::with_capacity(floors.len());
    for (((reader, floor), heads), place) in floors.iter().zip(heads).zip(depths) {
        let at_place = if place == 1 { heads.clone() } else { at_depths.next().unwrap_or_default() };
        let end_ms = extension::window_end(wanted, place, at_place.iter().map(|(_, time)| *time).collect());
        let reaching = heads.into_iter().filter(|(_, newest)| extension::reaches(*newest, end_ms));
        let authors = reaching.map(|(author, _)| author).collect();
        windows.push(Window { reader: *reader, floor: *floor, end_ms, authors });
    }
    Ok(windows)
}

/// The newest entries of each window; `None` if it holds too many contents or too few.
async fn in_windows(tx: &Tx, windows: &[Window], wanted: usize) -> Result<Vec<Option<Vec<Entry>>>, StoreError> {
    let most = extension::most_rows(wanted);
    let mut statements = Vec::with_capacity(windows.len());
    let mut numbers = Vec::with_capacity(windows.len());
    for Window { reader, floor, end_ms, authors } in windows {
        let below = Below { floor: *floor, end_ms: *end_ms, limit: most.saturating_add(1) };
        let some = authors.chunks(tx.dialect().max_ranges());
        numbers.push(some.len());
        statements.extend(some.map(|some| timelines::of_authors_below(tx.dialect(), *reader, some, below)));
    }
    let answers = at_once(tx, statements).await?;
    let mut next = 0;
    let mut all = Vec::with_capacity(windows.len());
    for (window, number) in windows.iter().zip(numbers) {
        let mut entries = Vec::new();
        for statement in next..next + number {
            entries.extend(entries_of(answers.rows(statement))?);
        }
        next += number;
        let is_whole = entries.len() <= most;
        all.push(if is_whole { extension::newest(entries, wanted, window.end_ms) } else { None });
    }
    Ok(all)
}

/// For each reader, floor and place: the publish times of the covered authors' contents at this place below the floor,
/// counted from 1, without authors who have none.
async fn nth(tx: &Tx, wanted: &[(UserId, Position, usize)]) -> Result<Vec<Vec<(UserId, i64)>>, StoreError> {
    let statement = |(reader, floor, place): &(UserId, Position, usize)| {
        timelines::nth_of_covered(tx.dialect(), *reader, *floor, *place)
    };
    let answers = at_once(tx, wanted.iter().map(statement).collect()).await?;
    (0..wanted.len()).map(|reader| times(answers.rows(reader))).collect()
}

fn times(rows: &[Row]) -> Result<Vec<(UserId, i64)>, StoreError> {
    let mut times = Vec::new();
    for row in rows {
        if let Some(time) = row.get::<Option<i64>>(1)? {
            times.push((row.user(0)?, time));
        }
    }
    Ok(times)
}

fn entries_of(rows: &[Row]) -> Result<Vec<Entry>, StoreError> {
    rows.iter().map(|row| row.entry(0)).collect()
}

async fn at_once(tx: &Tx, statements: Vec<Fragment>) -> Result<Answers, StoreError> {
    if statements.is_empty() { Ok(Answers::default()) } else { tx.all(statements).await }
}
