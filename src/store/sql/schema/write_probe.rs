//! A small write that shows whether the store takes writes.

use sql_driver::{Dialect, Value};

use super::super::SqlStore;
use crate::store::StoreError;

/// Rows of a probe, each of some 100 bytes: as much room as a publish needs.
const PROBE_ROWS: usize = 500;

impl SqlStore {
    /// Probes writing: inserts meaningless rows of about the size of a publish and deletes them, and asks a server
    /// whether the user may write to every table. [`Self::writes`] has the outcome.
    pub async fn probe_writes(&self) -> Result<(), StoreError> {
        let ended = self.write_everywhere().await;
        self.database.note_probe(&ended);
        ended
    }

    async fn write_everywhere(&self) -> Result<(), StoreError> {
        self.write_and_delete().await?;
        match self.dialect {
            Dialect::Sqlite => Ok(()),
            Dialect::Mysql => self.write_no_rows().await,
        }
    }

    /// Statements that meet no row need the same rights as those that do.
    async fn write_no_rows(&self) -> Result<(), StoreError> {
        let sql = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.columns \
                   WHERE table_schema = DATABASE() AND ordinal_position = 1 AND table_name <> 'seaql_migrations'";
        for row in self.read(sql, []).await? {
            let (table, column): (String, String) = (row.get(0)?, row.get(1)?);
            for sql in [
                format!("INSERT INTO `{table}` SELECT * FROM `{table}` WHERE 1 = 0"),
                format!("UPDATE `{table}` SET `{column}` = `{column}` WHERE 1 = 0"),
                format!("DELETE FROM `{table}` WHERE 1 = 0"),
            ] {
                self.write(&sql, []).await?;
            }
        }
        Ok(())
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
