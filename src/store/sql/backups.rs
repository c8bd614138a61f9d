//! What `tidefeed backup check` asks a restored backup: whether it is whole, and how much is in it. Only reads.
//!
//! Whether its pages are right is the audit's to say. This finds what an audit passes over: a damaged file, a dump that
//! was cut off, and tables of different moments.

use sql_driver::Dialect;

use super::{SqlStore, inspection::judged, schema::TABLES};
use crate::store::{StoreError, inspection::Finding};

/// Damages of a file that are named.
const NAMED: usize = 5;
const ANOTHER: &str = "restore another backup, and find out how this one was made: it must be of one moment";

/// Rows that are there only together, each with the statement that counts those that are alone.
const REFERENCES: &[(&str, &str)] = &[
    (
        "contents without their author",
        "SELECT COUNT(*) FROM contents c LEFT JOIN users u ON u.id = c.author_id WHERE u.id IS NULL",
    ),
    (
        "follows of nobody",
        "SELECT COUNT(*) FROM follows f LEFT JOIN users r ON r.id = f.follower_id \
         LEFT JOIN users a ON a.id = f.author_id WHERE r.id IS NULL OR a.id IS NULL",
    ),
    (
        "contents without counters",
        "SELECT COUNT(*) FROM contents c LEFT JOIN counters k ON k.content_id = c.id \
         WHERE c.removed_at IS NULL AND k.content_id IS NULL",
    ),
    (
        "counters without a content",
        "SELECT COUNT(*) FROM counters k LEFT JOIN contents c ON c.id = k.content_id AND c.removed_at IS NULL \
         WHERE c.id IS NULL",
    ),
];

impl SqlStore {
    /// The file, the tables, what refers to each other, and how much there is.
    pub(super) async fn backup(&self, now_ms: i64) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.dialect == Dialect::Sqlite {
            findings.push(judged("file", self.integrity().await));
        }
        match self.missing_tables().await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => {
                let seen = format!("these tables are missing: {}", missing.join(", "));
                findings.push(Finding::broken("rows", seen, ANOTHER));
                return findings;
            }
            Err(error) => {
                findings.push(judged("rows", Err(error)));
                return findings;
            }
        }
        findings.push(judged("rows", self.references().await));
        findings.push(judged("contents", self.amount(now_ms).await));
        findings
    }

    async fn integrity(&self) -> Result<Finding, StoreError> {
        let rows = self.read(&format!("PRAGMA integrity_check({NAMED})"), []).await?;
        let said: Vec<String> = rows.iter().map(|row| row.get(0)).collect::<Result<_, _>>()?;
        Ok(match said.as_slice() {
            [fine] if fine == "ok" => Finding::fine("file", "SQLite's integrity check finds no damage"),
            damages => {
                let lines = damages.iter().flat_map(|it| it.lines()).filter(|line| !line.starts_with("***"));
                let lines: Vec<&str> = lines.collect();
                Finding::broken("file", format!("it is damaged: {}", lines.join("; ")), ANOTHER)
            }
        })
    }

    async fn missing_tables(&self) -> Result<Vec<&'static str>, StoreError> {
        let sql = match self.dialect {
            Dialect::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table'",
            Dialect::Mysql | Dialect::Tidb => {
                "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = DATABASE()"
            }
        };
        let rows = self.read(sql, []).await?;
        let there: Vec<String> = rows.iter().map(|row| row.get(0)).collect::<Result<_, _>>()?;
        Ok(TABLES.iter().copied().filter(|table| !there.iter().any(|it| it == table)).collect())
    }

    async fn references(&self) -> Result<Finding, StoreError> {
        let mut alone = Vec::new();
        for (what, sql) in REFERENCES {
            match self.number(sql).await? {
                0 => {}
                count => alone.push(format!("{count} {what}")),
            }
        }
        Ok(if alone.is_empty() {
            Finding::fine("rows", "every table is there, and what belongs together is together")
        } else {
            Finding::broken("rows", format!("something is missing: {}", alone.join(", ")), ANOTHER)
        })
    }

    async fn amount(&self, now_ms: i64) -> Result<Finding, StoreError> {
        let users = self.number("SELECT COUNT(*) FROM users").await?;
        let follows = self.number("SELECT COUNT(*) FROM follows WHERE follower_id <> author_id").await?;
        let sql = "SELECT COUNT(*), MAX(publish_time) FROM contents WHERE removed_at IS NULL";
        let row = self.only_row(sql).await?;
        let (contents, newest): (u64, Option<i64>) = (row.count(0)?, row.get(1)?);
        let age =
            newest.map(|newest| format!("; the newest content is {} old", duration(now_ms.saturating_sub(newest))));
        let seen = format!("{contents}, and {users} users with {follows} follows{}", age.unwrap_or_default());
        Ok(Finding::fine("contents", seen))
    }

    async fn number(&self, sql: &str) -> Result<u64, StoreError> {
        self.only_row(sql).await?.count(0)
    }
}

/// In the largest unit of which there are two.
fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::store::{inspection::Verdict, sql::tests::migrated};

    #[test]
    fn an_age_is_told_in_a_unit_that_people_use() {
        let ages: Vec<String> = [-5, 119_999, 120_000, 7_200_000, 172_800_000].into_iter().map(duration).collect();
        assert_eq!(ages, ["0 s", "119 s", "2 min", "2 h", "2 days"]);
    }

    #[tokio::test]
    async fn every_table_is_known_and_a_missing_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
        let rows = store.read(sql, []).await.unwrap();
        let there: Vec<String> = rows.iter().map(|row| row.get(0).unwrap()).collect();
        let mut known = TABLES.to_vec();
        known.sort_unstable();
        assert_eq!(there, known);
        let well = store.backup(0).await;
        assert!(well.iter().all(|finding| finding.verdict == Verdict::Fine), "{well:?}");
        store.write("DROP TABLE subtasks", []).await.unwrap();
        let ill = store.backup(0).await;
        let said = ill.last().unwrap();
        assert!(said.verdict == Verdict::Broken && said.seen.contains("missing: subtasks"), "{ill:?}");
    }
}
