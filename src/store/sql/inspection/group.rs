//! Checks a MySQL server that belongs to a replication group (MySQL 9 reference manual, section "Group Replication
//! System Variables").

use std::collections::BTreeMap;

use crate::store::{StoreError, inspection::Finding, sql::SqlStore};

pub(super) const SUBJECT: &str = "replication group";
/// Begins the names of its variables.
const PREFIX: &str = "group_replication_";

impl SqlStore {
    /// `None` if no group is named on the server.
    pub(super) async fn replication_group(&self) -> Result<Option<Finding>, StoreError> {
        let mut variables = BTreeMap::new();
        for row in self.read(r"SHOW GLOBAL VARIABLES LIKE 'group\_replication\_%'", []).await? {
            let name: String = row.get(0)?;
            variables.insert(name.trim_start_matches(PREFIX).to_owned(), row.get::<String>(1)?);
        }
        Ok(judge(|name| variables.get(name).map(String::as_str).unwrap_or_default()))
    }
}

/// `value` of a variable by its name without [`PREFIX`]; empty if there is none.
fn judge<'a>(value: impl Fn(&str) -> &'a str) -> Option<Finding> {
    if value("group_name").is_empty() {
        return None;
    }
    let mut wrong = Vec::new();
    if value("single_primary_mode") != "ON" {
        wrong.push("several members take writes: locks do not hold between them");
    }
    // Servers before 8.0.14, which lack the variable, act so.
    if matches!(value("consistency"), "" | "EVENTUAL") {
        wrong.push(
            "group_replication_consistency is EVENTUAL: after a fail-over pages would lack what was acknowledged",
        );
    }
    let remedy = "use single-primary mode, and SET PERSIST group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER' \
                  on every member";
    Some(if wrong.is_empty() {
        let seen =
            "one member takes writes, and this one first applies what was acknowledged: see that others are set alike";
        Finding::fine(SUBJECT, seen)
    } else {
        Finding::broken(SUBJECT, wrong.join("; "), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::inspection::Verdict;

    #[test]
    fn only_a_group_with_one_primary_that_waits_is_fine() {
        let verdict = |name, mode, consistency| {
            let value = |variable: &str| match variable {
                "group_name" => name,
                "single_primary_mode" => mode,
                _ => consistency,
            };
            judge(value).map(|finding| finding.verdict)
        };
        assert_eq!(verdict("", "", ""), None, "no group");
        assert_eq!(verdict("d3b07384", "ON", "BEFORE_ON_PRIMARY_FAILOVER"), Some(Verdict::Fine));
        assert_eq!(verdict("d3b07384", "ON", "EVENTUAL"), Some(Verdict::Broken));
        assert_eq!(verdict("d3b07384", "ON", ""), Some(Verdict::Broken));
        assert_eq!(verdict("d3b07384", "OFF", "BEFORE_AND_AFTER"), Some(Verdict::Broken));
    }
}
