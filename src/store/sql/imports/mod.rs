//! Imports in SQL. A batch locks the row of its import first, so that a file is read by one process; then it locks as
//! the operations do whose rows it brings, all rows of a table in ascending keys.

mod contents;
mod exclusions;
mod follows;
mod markers;
mod progress;
mod reactions;
mod tombstones;
mod users;

use async_trait::async_trait;
use sql_driver::Tx;

use super::SqlStore;
use crate::store::{
    Imports, StoreError,
    imports::{Applied, AppliedBatch, BegunImport, Import, ImportBatch, ImportFile, ImportLease, ImportStep},
};

#[async_trait]
impl Imports for SqlStore {
    async fn begin(&self, file: &ImportFile, lease: ImportLease) -> Result<BegunImport, StoreError> {
        self.transaction(move |tx| async move {
            let begun = progress::begin(&tx, file, lease).await?;
            tx.commit(begun).await
        })
        .await
    }

    async fn apply(&self, step: &ImportStep, batch: &ImportBatch) -> Result<Applied, StoreError> {
        self.transaction(move |tx| async move {
            let import = progress::locked(&tx, &step.digest).await?;
            let (import, held) = import.ok_or_else(|| StoreError::Refused("the import was never begun".into()))?;
            if !progress::is_at(&import, held, step) {
                return tx.roll_back(Applied::NotMine(import)).await;
            }
            let applied = rows(&tx, step, batch).await?;
            progress::advance(&tx, &import, step, &applied.outcomes).await?;
            tx.commit(Applied::Committed(applied)).await
        })
        .await
    }

    async fn end(&self, digest: &str, lease: ImportLease, is_finished: bool) -> Result<bool, StoreError> {
        let end = progress::end(digest, lease, is_finished);
        Ok(self.write(&end.text, end.values).await? > 0)
    }

    async fn cancel(&self, digest: &str, now_ms: i64) -> Result<bool, StoreError> {
        let cancel = progress::cancel(digest, now_ms);
        Ok(self.write(&cancel.text, cancel.values).await? > 0)
    }

    async fn import(&self, digest: &str) -> Result<Option<Import>, StoreError> {
        let sql = format!("{} WHERE digest = ?", progress::SELECT);
        let rows = self.read_few(&sql, [digest.into()]).await?;
        rows.first().map(|row| Ok(progress::import(row)?.0)).transpose()
    }

    async fn imports(&self, limit: u64) -> Result<Vec<Import>, StoreError> {
        let sql = format!("{} ORDER BY started_at DESC, digest LIMIT ?", progress::SELECT);
        let rows = self.read(&sql, [i64::try_from(limit).unwrap_or(i64::MAX).into()]).await?;
        rows.iter().map(|row| Ok(progress::import(row)?.0)).collect()
    }
}

async fn rows(tx: &Tx, step: &ImportStep, batch: &ImportBatch) -> Result<AppliedBatch, StoreError> {
    if batch.is_empty() {
        return Ok(AppliedBatch::default());
    }
    match batch {
        ImportBatch::Users(users) => users::upsert(tx, users, step.lease.now_ms).await,
        ImportBatch::Contents(contents) => contents::publish(tx, contents, step).await,
        ImportBatch::Follows(follows) => follows::follow(tx, follows, step.version).await,
        ImportBatch::Reactions(reactions) => reactions::react(tx, reactions, step.version).await,
        ImportBatch::Exclusions(exclusions) => exclusions::exclude(tx, exclusions, step).await,
        ImportBatch::Markers(markers) => markers::advance(tx, markers).await,
        ImportBatch::Tombstones(tombstones) => tombstones::keep(tx, tombstones).await,
        ImportBatch::Nothing => Ok(AppliedBatch::default()),
    }
}
