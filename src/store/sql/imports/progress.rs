//! The row of an import: whose it is, and how far it has come.

use sql_driver::{Fragment, Tx, Value};

use super::super::rows::Row;
use crate::{
    domain::limits::MAX_WAIT_MS,
    store::{
        StoreError,
        imports::{BegunImport, Import, ImportCounts, ImportFile, ImportLease, ImportState, ImportStep, RowOutcome},
    },
};

/// What [`import`] reads.
pub(super) const SELECT: &str = "SELECT digest, file_bytes, line_count, through_line, created_rows, updated_rows, \
    unchanged_rows, refused_rows, state, holder, lease_until, started_at, updated_at FROM imports";

const RUNNING: i32 = 1;
const FINISHED: i32 = 2;
const CANCELLED: i32 = 3;

/// Whose an import is, and until when, in ms.
#[derive(Clone, Copy)]
pub(super) struct Held {
    holder: i64,
    until_ms: i64,
}

/// A row of [`SELECT`].
pub(super) fn import(row: &Row) -> Result<(Import, Held), StoreError> {
    let state = match row.get::<i32>(8)? {
        RUNNING => ImportState::Running,
        FINISHED => ImportState::Finished,
        CANCELLED => ImportState::Cancelled,
        other => return Err(StoreError::Unreadable(format!("the state {other} of an import"))),
    };
    let counts = ImportCounts {
        created: row.count(4)?,
        updated: row.count(5)?,
        unchanged: row.count(6)?,
        refused: row.count(7)?,
    };
    let import = Import {
        file: ImportFile { digest: row.get(0)?, bytes: row.count(1)?, lines: row.count(2)? },
        state,
        through_line: row.count(3)?,
        counts,
        started_at: row.get(11)?,
        updated_at: row.get(12)?,
    };
    Ok((import, Held { holder: row.get(9)?, until_ms: row.get(10)? }))
}

/// Locks the import of a file.
pub(super) async fn locked(tx: &Tx, digest: &str) -> Result<Option<(Import, Held)>, StoreError> {
    let sql = format!("{SELECT} WHERE digest = ? {}", tx.dialect().for_update());
    tx.query_one(&sql, [digest.into()]).await?.as_ref().map(import).transpose()
}

/// Whether the import is this holder's, and has come to the line before the step.
pub(super) fn is_at(import: &Import, held: Held, step: &ImportStep) -> bool {
    import.state == ImportState::Running && held.holder == step.lease.holder && import.through_line == step.after_line
}

/// See [`crate::store::Imports::begin`].
pub(super) async fn begin(tx: &Tx, file: &ImportFile, lease: ImportLease) -> Result<BegunImport, StoreError> {
    let ImportLease { holder, now_ms, until_ms } = lease;
    let Some((found, held)) = locked(tx, &file.digest).await? else {
        let sql = "INSERT INTO imports (digest, file_bytes, line_count, state, holder, lease_until, started_at, updated_at) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let values: [Value; 8] = [
            file.digest.as_str().into(),
            number(file.bytes),
            number(file.lines),
            RUNNING.into(),
            holder.into(),
            until_ms.into(),
            now_ms.into(),
            now_ms.into(),
        ];
        if !tx.insert(sql, values).await? {
            return Err(StoreError::Contended("somebody else has begun the same import".into()));
        }
        return Ok(BegunImport::Mine(fresh(file, now_ms)));
    };
    let is_leased = held.until_ms > now_ms && held.until_ms <= now_ms.saturating_add(MAX_WAIT_MS);
    if found.state == ImportState::Running && held.holder != holder && is_leased {
        return Ok(BegunImport::Running(found));
    }
    let import = match found.state {
        ImportState::Finished => fresh(file, now_ms),
        ImportState::Running | ImportState::Cancelled => Import { state: ImportState::Running, ..found },
    };
    let sql = "UPDATE imports SET through_line = ?, created_rows = ?, updated_rows = ?, unchanged_rows = ?, \
               refused_rows = ?, state = ?, holder = ?, lease_until = ?, started_at = ?, updated_at = ? WHERE digest = ?";
    let ImportCounts { created, updated, unchanged, refused } = import.counts;
    let counts = [import.through_line, created, updated, unchanged, refused].map(number);
    let lease: [Value; 6] = [
        RUNNING.into(),
        holder.into(),
        until_ms.into(),
        import.started_at.into(),
        now_ms.into(),
        file.digest.as_str().into(),
    ];
    tx.execute(sql, counts.into_iter().chain(lease)).await?;
    Ok(BegunImport::Mine(import))
}

fn fresh(file: &ImportFile, now_ms: i64) -> Import {
    Import {
        file: file.clone(),
        state: ImportState::Running,
        through_line: 0,
        counts: ImportCounts::default(),
        started_at: now_ms,
        updated_at: now_ms,
    }
}

/// Writes how far the import has come, in the transaction of the rows.
pub(super) async fn advance(
    tx: &Tx,
    import: &Import,
    step: &ImportStep,
    outcomes: &[RowOutcome],
) -> Result<(), StoreError> {
    let mut counts = import.counts;
    counts.refused += step.refused;
    for outcome in outcomes {
        match outcome {
            RowOutcome::Created => counts.created += 1,
            RowOutcome::Updated => counts.updated += 1,
            RowOutcome::Unchanged => counts.unchanged += 1,
            RowOutcome::Refused(_) => counts.refused += 1,
        }
    }
    let sql = "UPDATE imports SET through_line = ?, created_rows = ?, updated_rows = ?, unchanged_rows = ?, \
               refused_rows = ?, lease_until = ?, updated_at = ? WHERE digest = ?";
    let ImportCounts { created, updated, unchanged, refused } = counts;
    let counts = [step.through_line, created, updated, unchanged, refused].map(number);
    let times = [step.lease.until_ms, step.lease.now_ms].map(Value::from);
    tx.execute(sql, counts.into_iter().chain(times).chain([step.digest.as_str().into()])).await.map(|_| ())
}

/// See [`crate::store::Imports::end`].
pub(super) fn end(digest: &str, lease: ImportLease, is_finished: bool) -> Fragment {
    let sql =
        "UPDATE imports SET state = ?, lease_until = 0, updated_at = ? WHERE digest = ? AND state = ? AND holder = ?";
    let state = if is_finished { FINISHED } else { RUNNING };
    let values: [Value; 5] = [state.into(), lease.now_ms.into(), digest.into(), RUNNING.into(), lease.holder.into()];
    Fragment::with(sql, values)
}

/// See [`crate::store::Imports::cancel`].
pub(super) fn cancel(digest: &str, now_ms: i64) -> Fragment {
    let sql = "UPDATE imports SET state = ?, lease_until = 0, updated_at = ? WHERE digest = ? AND state = ?";
    Fragment::with(sql, [CANCELLED.into(), now_ms.into(), digest.into(), RUNNING.into()])
}

fn number(count: u64) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}
