//! Checks a TiDB server: its version, and the settings that would break what pages rest on (docs/operations.md#tidb).

use super::{ENGINE, judged, release};
use crate::store::{StoreError, inspection::Finding, sql::SqlStore};

/// The oldest version (major, minor) whose statements and isolation are known to suffice.
const OLDEST: (u32, u32) = (8, 5);
/// The version (major, minor) on which `make test-tidb` has run.
const TESTED: (u32, u32) = (9, 0);
/// Variables, what they say while reads show all that is committed and locks hold, and why they must.
const SETTINGS: [(&str, &[&str], &str); 8] = [
    ("tidb_guarantee_linearizability", &["1"], "a page might miss what was published before it was asked for"),
    ("tidb_read_staleness", &["0", ""], "every page would be old"),
    ("tidb_snapshot", &[""], "every page would be old"),
    ("tidb_low_resolution_tso", &["0"], "every page would be up to two seconds old"),
    ("tidb_replica_read", &["leader", "prefer-leader"], "only leaders were tested to show all that is committed"),
    ("tidb_enable_prepared_plan_cache", &["0"], "plans that were kept have given wrong rows"),
    ("tidb_txn_mode", &["pessimistic"], "changes that meet would both be made"),
    ("tidb_constraint_check_in_place_pessimistic", &["1"], "a key that is taken would be noticed too late"),
];

impl SqlStore {
    pub(super) async fn inspect_tidb(&self, version: &str) -> Vec<Finding> {
        let mut findings =
            vec![tidb_version(version), judged("isolation", self.isolation("transaction_isolation").await)];
        findings.push(judged("settings", self.tidb_settings().await));
        findings.push(judged("commits", self.tidb_commits().await));
        findings
    }

    async fn tidb_settings(&self) -> Result<Finding, StoreError> {
        let asked = SETTINGS.map(|(variable, ..)| format!("CONCAT('', @@session.{variable})")).join(", ");
        let row = self.only_row(&format!("SELECT {asked}")).await?;
        let mut wrong = Vec::new();
        for (place, (variable, right, why)) in SETTINGS.into_iter().enumerate() {
            let value = row.get::<Option<String>>(place)?.unwrap_or_default().to_ascii_lowercase();
            if !right.contains(&value.as_str()) {
                wrong.push(format!("{variable} is {value:?}: {why}"));
            }
        }
        let remedy = "SET GLOBAL the variables back to their defaults, and restart the nodes of Tidefeed";
        Ok(if wrong.is_empty() {
            Finding::fine("settings", "reads show all that is committed, and locks hold")
        } else {
            Finding::broken("settings", wrong.join("; "), remedy)
        })
    }

    /// The store that TiDB has for trying things out loses updates that commit in one step, or before they are
    /// acknowledged by a second one.
    async fn tidb_commits(&self) -> Result<Finding, StoreError> {
        let sql = "SELECT CAST(@@global.tidb_enable_async_commit AS SIGNED), CAST(@@global.tidb_enable_1pc AS SIGNED), \
                   (SELECT COUNT(*) FROM information_schema.cluster_info WHERE type = 'tikv' AND version <> '')";
        let row = self.only_row(sql).await?;
        let (short, stores): (bool, i64) = (row.get::<i64>(0)? + row.get::<i64>(1)? > 0, row.get(2)?);
        let remedy = "keep the data in TiKV; to try things out, SET GLOBAL tidb_enable_async_commit = 0 and \
                      tidb_enable_1pc = 0";
        Ok(match (short, stores) {
            (true, 0) => {
                Finding::broken("commits", "they are shortened, and the store is not TiKV: it loses updates", remedy)
            }
            (false, 0) => {
                Finding::doubtful("commits", "the store is not TiKV: it keeps one copy of everything", remedy)
            }
            (_, stores) => Finding::fine("commits", format!("TiKV on {stores} nodes")),
        })
    }
}

/// `text` as in `8.0.11-TiDB-v8.5.3`.
fn tidb_version(text: &str) -> Finding {
    let (_, version) = text.split_once("-TiDB-v").unwrap_or_default();
    let seen = format!("TiDB {version}");
    match release(version) {
        Some(release) if release < OLDEST => {
            Finding::broken(ENGINE, seen, "TiDB 8.5 is the oldest that Tidefeed works with: upgrade the servers")
        }
        Some(TESTED) => Finding::fine(ENGINE, seen),
        _ => Finding::doubtful(
            ENGINE,
            if version.is_empty() { text.to_owned() } else { seen },
            "this version was not tested with Tidefeed: run `make test-tidb` on it, as docs/operations.md says",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::inspection::Verdict;

    #[test]
    fn versions_that_are_too_old_are_broken_and_untested_ones_doubtful() {
        for (text, verdict) in [
            ("8.0.11-TiDB-v9.0.0-alpha-99702a91e2", Verdict::Fine),
            ("8.0.11-TiDB-v8.5.3", Verdict::Doubtful),
            ("8.0.11-TiDB-v7.5.1", Verdict::Broken),
            ("8.0.11-TiDB-v11.0.0", Verdict::Doubtful),
            ("8.0.11-TiDB-None", Verdict::Doubtful),
        ] {
            assert_eq!(tidb_version(text).verdict, verdict, "{text}");
        }
    }
}
