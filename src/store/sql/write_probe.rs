//! A small write that shows whether the store takes writes.

use sea_orm::Value;
use tokio::sync::watch;

use super::{SqlStore, writability::Writes};
use crate::store::StoreError;

/// Rows of a probe, each of some 100 bytes: as much room as a publish needs.
const PROBE_ROWS: usize = 500;

impl SqlStore {
    /// What is known about writing, with its changes.
    pub fn writes(&self) -> watch::Receiver<Writes> {
        self.writability.watch()
    }

    /// Probes writing: inserts meaningless rows of about the size of a publish and deletes them. [`Self::writes`] has
    /// the outcome.
    pub async fn probe_writes(&self) -> Result<(), StoreError> {
        let ended = self.write_and_delete().await;
        self.writability.note_probe(&ended);
        ended
    }

    /// The rows are sign-in attempts without a subject or a failure. Rows left by a crash are deleted with other old
    /// ones.
    async fn write_and_delete(&self) -> Result<(), StoreError> {
        let subjects = (0..PROBE_ROWS).map(|number| Value::from(format!("probe:{number:058}")));
        let sql = format!(
            "INSERT INTO sign_in_attempts (subject) VALUES {} {} failures = failures",
            vec!["(?)"; PROBE_ROWS].join(", "),
            self.dialect.on_conflict_update("subject")
        );
        self.write(&sql, subjects).await?;
        let sql = "DELETE FROM sign_in_attempts WHERE subject >= 'probe:' AND subject < 'probe;'";
        self.write(sql, []).await.map(|_| ())
    }
}
