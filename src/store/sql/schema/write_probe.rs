//! A small write that shows whether the store takes writes.

use std::collections::BTreeMap;

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
            Dialect::Mysql | Dialect::Tidb => self.write_no_rows().await,
        }
    }

    /// Statements that meet no row need the same rights as those that do. Columns that the server computes take no
    /// values: MySQL refuses even those that are there.
    async fn write_no_rows(&self) -> Result<(), StoreError> {
        let sql = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.columns \
                   WHERE table_schema = DATABASE() AND COALESCE(generation_expression, '') = '' \
                   AND table_name <> 'seaql_migrations' ORDER BY table_name, ordinal_position";
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.read(sql, []).await? {
            tables.entry(row.get(0)?).or_default().push(format!("`{}`", row.get::<String>(1)?));
        }
        for (table, columns) in tables {
            let Some(first) = columns.first() else { continue };
            let all = columns.join(", ");
            for sql in [
                format!("INSERT INTO `{table}` ({all}) SELECT {all} FROM `{table}` WHERE 1 = 0"),
                format!("UPDATE `{table}` SET {first} = {first} WHERE 1 = 0"),
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
