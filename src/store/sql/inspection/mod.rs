//! Checks the settings and the version of the SQL server for `tidefeed doctor`. Reads, and tries a write that leaves
//! nothing.

mod group;
mod tidb;

use async_trait::async_trait;
use sql_driver::{Dialect, ReplicaCondition, Row};

use super::SqlStore;
use crate::store::{
    Inspect, StoreError,
    inspection::{Finding, Verdict},
};

/// Oldest versions whose statements and isolation are known to suffice.
const OLDEST_MYSQL: (u32, u32) = (8, 0);
const OLDEST_MARIADB: (u32, u32) = (10, 6);
const ENGINE: &str = "store";

#[async_trait]
impl Inspect for SqlStore {
    async fn inspect(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        match self.dialect {
            Dialect::Sqlite => {
                findings.push(judged(ENGINE, self.sqlite_version().await));
                findings.push(judged("journal", self.journal().await));
            }
            Dialect::Mysql => {
                let version = self.word("SELECT VERSION()").await;
                let isolation = if version.as_ref().is_ok_and(|it| is_mariadb(it)) {
                    "tx_isolation"
                } else {
                    "transaction_isolation"
                };
                findings.push(judged(ENGINE, version.map(|version| mysql_version(&version))));
                findings.push(judged("isolation", self.isolation(isolation).await));
                findings.push(judged("binary log", self.binary_log().await));
                findings.push(judged("table engine", self.table_engines().await));
                findings.push(judged("memory", self.buffer_pool().await));
                let group = self.replication_group().await.transpose();
                findings.extend(group.map(|found| judged(group::SUBJECT, found)));
                findings.extend(self.database.replica_conditions().await.into_iter().map(replica));
            }
            Dialect::Tidb => match self.word("SELECT VERSION()").await {
                Ok(version) => findings.extend(self.inspect_tidb(&version).await),
                Err(error) => findings.push(judged(ENGINE, Err(error))),
            },
        }
        findings
    }

    async fn inspect_tables(&self) -> Vec<Finding> {
        vec![judged("writes", self.takes_writes().await), judged("follow changes", self.relations_backlog().await)]
    }

    async fn inspect_backup(&self, now_ms: i64) -> Vec<Finding> {
        self.backup(now_ms).await
    }

    async fn server_time_ms(&self) -> Result<Option<i64>, StoreError> {
        if self.dialect == Dialect::Sqlite {
            return Ok(None);
        }
        let rows = self.read("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)", []).await?;
        rows.first().map(|row| row.get(0)).transpose()
    }
}

impl SqlStore {
    async fn sqlite_version(&self) -> Result<Finding, StoreError> {
        let version = self.word("SELECT sqlite_version()").await?;
        Ok(Finding::fine(ENGINE, format!("SQLite {version}: fine for one node")))
    }

    async fn journal(&self) -> Result<Finding, StoreError> {
        let mode = self.word("PRAGMA journal_mode").await?;
        let remedy = "keep the database on a local disk: the write-ahead log does not work on network drives";
        Ok(match mode.as_str() {
            "wal" => Finding::fine("journal", "write-ahead log"),
            other => Finding::broken("journal", format!("{other}, not wal"), remedy),
        })
    }

    async fn isolation(&self, variable: &str) -> Result<Finding, StoreError> {
        let level = self.word(&format!("SELECT @@session.{variable}")).await?;
        let remedy = "connect without a proxy that shares sessions: something between Tidefeed and the server undoes \
                      SET SESSION TRANSACTION ISOLATION LEVEL";
        Ok(match level.as_str() {
            "READ-COMMITTED" => Finding::fine("isolation", "READ COMMITTED"),
            other => Finding::broken("isolation", format!("{other}, not READ COMMITTED"), remedy),
        })
    }

    /// `InnoDB` refuses to write under READ COMMITTED while statements are logged rather than rows.
    async fn binary_log(&self) -> Result<Finding, StoreError> {
        // In a text `log_bin` is ON or OFF on MariaDB, and 1 or 0 on MySQL.
        let format = self.word("SELECT IF(@@log_bin, @@binlog_format, 'OFF')").await?;
        let remedy = "set binlog_format = ROW on the server: READ COMMITTED cannot be written with a log of statements";
        Ok(match format.as_str() {
            "STATEMENT" => Finding::broken("binary log", "binlog_format is STATEMENT", remedy),
            "OFF" => Finding::fine("binary log", "it is off"),
            "ROW" | "MIXED" => Finding::fine("binary log", "it logs rows"),
            other => Finding::doubtful("binary log", format!("binlog_format is {other}"), remedy),
        })
    }

    async fn table_engines(&self) -> Result<Finding, StoreError> {
        let sql = "SELECT CAST(table_name AS CHAR) FROM information_schema.tables \
                   WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND engine <> 'InnoDB'";
        let rows = self.read(sql, []).await?;
        let others: Vec<String> = rows.iter().map(|row| row.get(0)).collect::<Result<_, _>>()?;
        let remedy = "run `ALTER TABLE ... ENGINE = InnoDB` on them: other engines have no transactions";
        Ok(match others.as_slice() {
            [] => Finding::fine("table engine", "InnoDB"),
            others => Finding::broken("table engine", format!("not InnoDB: {}", others.join(", ")), remedy),
        })
    }

    async fn buffer_pool(&self) -> Result<Finding, StoreError> {
        let sql = "SELECT CAST(@@innodb_buffer_pool_size AS SIGNED), CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) \
                   FROM information_schema.tables WHERE table_schema = DATABASE()";
        let row = self.only_row(sql).await?;
        let (pool, tables) = (row.count(0)? >> 20, row.count(1)? >> 20);
        let seen = format!("tables hold {tables} MiB, innodb_buffer_pool_size is {pool} MiB");
        let remedy = "raise innodb_buffer_pool_size: deliveries slow down several times once inboxes do not fit it";
        Ok(if tables > pool { Finding::doubtful("memory", seen, remedy) } else { Finding::fine("memory", seen) })
    }

    async fn takes_writes(&self) -> Result<Finding, StoreError> {
        let remedy = "make room on the disk of the store, end what makes it read-only, or give the user the right to \
                      SELECT, INSERT, UPDATE and DELETE in every table; reads continue, and nodes resume writing by \
                      themselves";
        match self.probe_writes().await {
            Ok(()) => Ok(Finding::fine("writes", "the store accepts them")),
            Err(error @ (StoreError::TakesNoWrites(_) | StoreError::Refused(_))) => {
                Ok(Finding::broken("writes", error.with_causes(), remedy))
            }
            Err(error) => Err(error),
        }
    }

    async fn relations_backlog(&self) -> Result<Finding, StoreError> {
        let sql = "SELECT COUNT(*), COUNT(CASE WHEN attempts > 0 THEN 1 END) FROM relations";
        let row = self.only_row(sql).await?;
        let (waiting, failed) = (row.count(0)?, row.count(1)?);
        let seen = format!("{waiting} wait to reach inboxes, {failed} of them have failed before");
        let remedy =
            "find the failures in the log of the workers; pages are right meanwhile, because they pull these authors";
        Ok(if failed > 0 {
            Finding::doubtful("follow changes", seen, remedy)
        } else {
            Finding::fine("follow changes", seen)
        })
    }

    /// The text in the only row's first column.
    pub(super) async fn word(&self, sql: &str) -> Result<String, StoreError> {
        self.only_row(sql).await?.get(0)
    }

    /// The row of a statement that gives one.
    pub(super) async fn only_row(&self, sql: &str) -> Result<Row, StoreError> {
        let row = self.read(sql, []).await?.into_iter().next();
        row.ok_or_else(|| StoreError::Unreadable(format!("no answer to {sql}")))
    }
}

fn replica(condition: ReplicaCondition) -> Finding {
    let subject = format!("replica {}", condition.name);
    match condition.fault {
        None => Finding::fine(&subject, "it shows what the primary has committed, in order"),
        Some(fault) => Finding::broken(
            &subject,
            format!("nothing is read there: {fault}"),
            "repair what is named, or take it out of store.replicas; pages are right meanwhile, because the primary serves",
        ),
    }
}

/// A check that failed is a finding itself.
pub(super) fn judged(subject: &str, finding: Result<Finding, StoreError>) -> Finding {
    finding.unwrap_or_else(|error| {
        let verdict = if error.is_transient() { Verdict::Broken } else { Verdict::Doubtful };
        Finding {
            verdict,
            ..Finding::doubtful(
                subject,
                format!("cannot be checked: {}", error.with_causes()),
                "run `tidefeed migrate`, and check the user's rights",
            )
        }
    })
}

fn is_mariadb(version: &str) -> bool {
    version.to_ascii_lowercase().contains("mariadb")
}

/// The first two numbers of a version, as of `10.11.6-MariaDB`.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split(['.', '-']).map_while(|part| part.parse().ok());
    Some((parts.next()?, parts.next()?))
}

fn mysql_version(text: &str) -> Finding {
    let (name, oldest) = if is_mariadb(text) { ("MariaDB", OLDEST_MARIADB) } else { ("MySQL", OLDEST_MYSQL) };
    let seen = format!("{name} {text}");
    match release(text) {
        Some(release) if release < oldest => Finding::broken(
            ENGINE,
            seen,
            "MySQL 8.0 or MariaDB 10.6 is the oldest that Tidefeed works with: upgrade the server",
        ),
        Some(_) => Finding::fine(ENGINE, seen),
        None => {
            Finding::doubtful(ENGINE, seen, "this version cannot be read; MySQL 8.0 or MariaDB 10.6 is needed at least")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql::tests::migrated;

    #[test]
    fn versions_that_are_too_old_are_broken() {
        for (text, verdict) in [
            ("9.7.0", Verdict::Fine),
            ("8.0.36-0ubuntu0.22.04.1", Verdict::Fine),
            ("5.7.44-log", Verdict::Broken),
            ("10.11.6-MariaDB-0+deb12u1", Verdict::Fine),
            ("10.5.1-MariaDB", Verdict::Broken),
            ("distributed", Verdict::Doubtful),
        ] {
            assert_eq!(mysql_version(text).verdict, verdict, "{text}");
        }
    }

    #[tokio::test]
    async fn a_fresh_database_is_fine_in_every_respect() -> Result<(), std::io::Error> {
        let folder = tempfile::tempdir()?;
        let store = migrated(&folder).await;
        let findings = [store.inspect().await, store.inspect_tables().await].concat();
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::Fine), "{findings:?}");
        assert!(findings.iter().any(|finding| finding.seen.contains("SQLite 3.")));
        Ok(())
    }
}
