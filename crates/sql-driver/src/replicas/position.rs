//! Where a server is in the history of commits, in its words: MySQL names a set of transactions, MariaDB the last one
//! of each domain.

use std::{collections::BTreeMap, fmt::Write as _};

/// Asks a server for its position, its identity, whether it logs all commits under global ids, and whether it is
/// read-only. On MySQL what is being committed is read first: it moves from there to what is executed, and is visible
/// to readers, and perhaps on replicas, before. MariaDB has it in the log before anybody sees it. A MariaDB that was a
/// replica and has written nothing yet has its position among what it has applied. `/*M!` is read by MariaDB only,
/// `/*!80000` by MySQL only.
pub(super) const QUESTION: &str = "SELECT \
     /*M! CAST(@@global.gtid_binlog_pos AS CHAR), CAST(@@global.gtid_current_pos AS CHAR), \
     CAST(@@global.server_id AS CHAR), IF(@@global.log_bin, 'ON', 'OFF') */ \
     /*!80000 CAST(@@global.gtid_owned AS CHAR), CAST(@@global.gtid_executed AS CHAR), \
     CAST(@@global.server_uuid AS CHAR), CAST(@@global.gtid_mode AS CHAR) */ \
     , CAST(@@global.read_only AS CHAR)";

/// A position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// MySQL: a set of global transaction ids.
    Set(String),
    /// MariaDB: of each domain, the server and the number of its last transaction.
    Last(BTreeMap<u32, (u32, u64)>),
}

impl Position {
    /// Everything in two positions of the server with this identity: the number of a MariaDB, or the UUID of a MySQL.
    /// `None` if there is nothing in them, or if they cannot be read.
    pub(super) fn joined(server: &str, first: &str, second: &str) -> Option<Self> {
        if server.parse::<u32>().is_err() {
            let sets = [without_owners(first), without_owners(second)];
            let sets: Vec<&str> = sets.iter().map(String::as_str).filter(|set| !set.is_empty()).collect();
            return (!sets.is_empty()).then(|| Self::Set(sets.join(",")));
        }
        let mut last = BTreeMap::new();
        for id in [first, second].into_iter().flat_map(|text| text.split(',')).filter(|id| !id.is_empty()) {
            let (domain, server, number) = last_of_domain(id)?;
            let known = last.entry(domain).or_insert((server, number));
            if known.1 < number {
                *known = (server, number);
            }
        }
        (!last.is_empty()).then_some(Self::Last(last))
    }

    /// As a server takes it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Set(set) => set.clone(),
            Self::Last(domains) => {
                let mut text = String::new();
                for (domain, (server, number)) in domains {
                    let comma = if text.is_empty() { "" } else { "," };
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{comma}{domain}-{server}-{number}");
                }
                text
            }
        }
    }

    /// Whether every number of `other` is one that this position has reached; `None` for sets, which servers compare.
    pub(super) fn reaches(&self, other: &Self) -> Option<bool> {
        let (Self::Last(own), Self::Last(others)) = (self, other) else { return None };
        Some(others.iter().all(|(domain, (_, number))| own.get(domain).is_some_and(|own| own.1 >= *number)))
    }

    /// The number of domains; one on MySQL.
    pub(super) fn domains(&self) -> usize {
        if let Self::Last(domains) = self { domains.len() } else { 1 }
    }
}

/// A set without white space, and without the `#` and number of the thread that owns a transaction.
fn without_owners(set: &str) -> String {
    let mut is_owner = false;
    set.chars()
        .filter(|sign| {
            is_owner = match sign {
                '#' => true,
                ':' | ',' => false,
                _ => is_owner,
            };
            !is_owner && !sign.is_whitespace()
        })
        .collect()
}

/// `domain-server-number`.
fn last_of_domain(id: &str) -> Option<(u32, u32, u64)> {
    let mut parts = id.trim().split('-');
    let (domain, server) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let number = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((domain, server, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn joined(server: &str, first: &str, second: &str) -> Option<String> {
        Position::joined(server, first, second).map(|it| it.text())
    }

    #[test]
    fn what_is_being_committed_belongs_to_a_position() {
        let owned = format!("{UUID}:6#12:8#13");
        let executed = format!("{UUID}:1-5:7,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:1");
        let all = format!("{UUID}:6:8,{UUID}:1-5:7,4e11fa47-71ca-11e1-9e33-c80aa9429562:1");
        assert_eq!(joined(UUID, &owned, &executed), Some(all));
        assert_eq!(joined(UUID, "", &format!("{UUID}:1")), Some(format!("{UUID}:1")));
        assert_eq!(joined(UUID, "", ""), None, "a server without ids has no position");
    }

    #[test]
    fn of_each_domain_the_later_transaction_counts() {
        assert_eq!(joined("2", "0-2-7", "0-1-5,3-1-9"), Some("0-2-7,3-1-9".to_owned()));
        assert_eq!(joined("2", "", "0-1-5"), Some("0-1-5".to_owned()), "a replica that was promoted");
        assert_eq!(joined("2", "", ""), None);
        assert_eq!(joined("2", "0-1", ""), None, "half an id");
    }

    #[test]
    fn a_position_reaches_only_what_it_has_of_every_domain() {
        let at = |text| Position::joined("1", text, "");
        let reaches = |one, other| at(one).zip(at(other)).and_then(|(one, other)| one.reaches(&other));
        assert_eq!(reaches("0-1-7", "0-1-7"), Some(true));
        assert_eq!(reaches("0-1-7", "0-1-8"), Some(false), "it is ahead");
        assert_eq!(reaches("0-1-7", "0-1-6,2-1-1"), Some(false), "a domain is unknown");
    }
}
