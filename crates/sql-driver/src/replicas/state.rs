//! What a replica says of itself, and what is wrong with it: whether each statement that it runs sees everything up to
//! some commit of the primary's, and nothing else.

use sea_orm::sqlx;

use super::{
    position::Position,
    primary::{Whereabouts, is_off},
};
use crate::{rows::Row, server::connections::ServerConnection};

/// Three statements, whose columns are read by their names: the settings, a row for each server that it replicates
/// from, and the name of MySQL's replication group that it belongs to.
const STATE: &str = "SELECT CAST(@@global.read_only AS CHAR) AS read_only, \
     /*M! CAST(@@global.slave_parallel_threads AS CHAR) AS workers, 'ON' AS gtid_mode, 'ON' AS keeps_order */ \
     /*!80000 CAST(@@global.replica_parallel_workers AS CHAR) AS workers, CAST(@@global.gtid_mode AS CHAR) AS gtid_mode, \
     CAST(@@global.replica_preserve_commit_order AS CHAR) AS keeps_order */ ; \
     SHOW /*M! ALL SLAVES */ /*!80000 REPLICA */ STATUS ; \
     SHOW GLOBAL VARIABLES LIKE 'group\\_replication\\_group\\_name'";

/// Columns that name what a replica leaves out or changes.
const FILTERS: [&str; 7] = [
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Replicate_Rewrite_DB",
];

/// In these modes MariaDB commits in the order of the primary.
const MODES_IN_ORDER: [&str; 4] = ["none", "minimal", "conservative", "optimistic"];

/// Why no statement is read on a replica, whatever it has applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("it holds nothing")]
    Empty,
    /// Members of a group apply what they have agreed upon before the primary has committed it, so that the primary's
    /// position does not hold all that somebody has seen on another member.
    #[error(
        "it is a member of a replication group, which may show a commit before the primary does: name servers that replicate from the primary and belong to no group"
    )]
    GroupMember,
    #[error("it replicates from {0} servers, expected one")]
    Sources(usize),
    #[error("it replicates from another server than store.url")]
    OtherSource,
    #[error("it is not connected to the primary")]
    Disconnected,
    #[error(
        "it does not replicate by global ids: set gtid_mode = ON and SOURCE_AUTO_POSITION = 1, or on MariaDB master_use_gtid = slave_pos"
    )]
    WithoutIds,
    #[error("it takes writes: set read_only = ON")]
    Writable,
    #[error(
        "it does not keep the order of commits: set replica_preserve_commit_order = ON, or on MariaDB slave_parallel_mode = optimistic"
    )]
    OutOfOrder,
    #[error("it applies several GTID domains in parallel, which keeps no order between them: use one")]
    Domains,
    #[error("it leaves out or renames a part: unset {0}")]
    Filters(&'static str),
    #[error("it holds commits that the primary does not have: build it anew from the primary")]
    Ahead,
}

/// What a replica has said.
#[derive(Debug, Default)]
pub(super) struct ReplicaState {
    read_only: bool,
    workers: u32,
    gtid_mode: bool,
    keeps_order: bool,
    /// The replication group that it belongs to; empty if to none.
    group: String,
    sources: Vec<Source>,
}

/// A server that it replicates from.
#[derive(Debug, Default)]
struct Source {
    /// Number and UUID; no UUID on MariaDB.
    ids: [Option<String>; 2],
    is_connected: bool,
    uses_gtid: bool,
    /// `None` on MySQL.
    mode: Option<String>,
    filter: Option<&'static str>,
    /// What it has received, and what it has applied.
    positions: [String; 2],
}

impl ReplicaState {
    pub(super) async fn of(connection: &mut ServerConnection) -> Result<Self, sqlx::Error> {
        let (answers, ended) = connection.all(STATE.to_owned()).await;
        ended?;
        let settings = answers.first().and_then(|(rows, _)| rows.first());
        let text = |name| settings.and_then(|row| row.named(name)).unwrap_or_default();
        Ok(Self {
            read_only: !is_off(&text("read_only")),
            workers: text("workers").parse().unwrap_or(u32::MAX),
            gtid_mode: text("gtid_mode") == "ON",
            keeps_order: !is_off(&text("keeps_order")),
            group: answers.get(2).and_then(|(rows, _)| rows.first()?.named("Value")).unwrap_or_default(),
            sources: answers.get(1).map(|(rows, _)| rows.iter().map(Source::of).collect()).unwrap_or_default(),
        })
    }

    /// What is wrong with its settings.
    pub(super) fn fault(&self, primary: &Whereabouts) -> Option<Unfit> {
        // What a member replicates from its group is no source, and one that it had before may still be named.
        if !self.group.is_empty() && self.sources.iter().all(|source| !source.is_connected) {
            return Some(Unfit::GroupMember);
        }
        let [source] = self.sources.as_slice() else { return Some(Unfit::Sources(self.sources.len())) };
        if !source.ids.iter().flatten().any(|id| *id == primary.server) {
            return Some(Unfit::OtherSource);
        }
        if !self.gtid_mode || !source.uses_gtid {
            return Some(Unfit::WithoutIds);
        }
        if !self.read_only {
            return Some(Unfit::Writable);
        }
        if let Some(filter) = source.filter {
            return Some(Unfit::Filters(filter));
        }
        if self.workers > 0 {
            let is_in_order = source.mode.as_ref().is_none_or(|mode| MODES_IN_ORDER.contains(&mode.as_str()));
            // MySQL has one worker in order.
            if !is_in_order || (self.workers > 1 && !self.keeps_order) {
                return Some(Unfit::OutOfOrder);
            }
            if primary.position.domains() > 1 {
                return Some(Unfit::Domains);
            }
        }
        None
    }

    /// Whether it gets what the primary commits. Before a server sends anything, it compares its history with what the
    /// replica has.
    pub(super) fn is_connected(&self) -> bool {
        self.sources.first().is_some_and(|source| source.is_connected)
    }

    /// What it has, also of what it has not applied yet; `None` if it has nothing.
    pub(super) fn position(&self, primary: &Whereabouts) -> Option<Position> {
        let [received, applied] = &self.sources.first()?.positions;
        Position::joined(&primary.server, received, applied)
    }
}

impl Source {
    fn of(row: &Row) -> Self {
        let either = |names: [&str; 2]| names.into_iter().find_map(|name| row.named(name));
        let uses_gtid = either(["Using_Gtid", "Auto_Position"]).unwrap_or_default();
        Self {
            ids: [either(["Master_Server_Id", "Source_Server_Id"]), row.named("Source_UUID")],
            is_connected: either(["Slave_IO_Running", "Replica_IO_Running"]).as_deref() == Some("Yes"),
            uses_gtid: !matches!(uses_gtid.as_str(), "" | "0" | "No"),
            mode: row.named("Parallel_Mode"),
            filter: FILTERS.into_iter().find(|name| row.named(name).is_some_and(|value| !value.is_empty())),
            positions: [["Gtid_IO_Pos", "Retrieved_Gtid_Set"], ["Gtid_Slave_Pos", "Executed_Gtid_Set"]]
                .map(|names| either(names).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    fn primary(position: &str) -> Whereabouts {
        let position = Position::joined("1", position, "").unwrap();
        Whereabouts { text: position.text(), position, server: "1".to_owned(), connection: 1 }
    }

    /// A MariaDB, four workers in order.
    fn fit() -> ReplicaState {
        let source = Source {
            ids: [Some("1".to_owned()), None],
            is_connected: true,
            uses_gtid: true,
            mode: Some("optimistic".to_owned()),
            filter: None,
            positions: ["0-1-9".to_owned(), "0-1-7".to_owned()],
        };
        let sources = vec![source];
        ReplicaState { read_only: true, workers: 4, gtid_mode: true, keeps_order: true, group: String::new(), sources }
    }

    fn fault(change: impl FnOnce(&mut ReplicaState)) -> Option<Unfit> {
        let mut state = fit();
        change(&mut state);
        state.fault(&primary("0-1-8"))
    }

    #[test]
    fn only_a_replica_that_shows_prefixes_of_the_primarys_commits_is_fit() {
        assert_eq!(fault(|_| {}), None);
        assert_eq!(fault(|it| it.sources.clear()), Some(Unfit::Sources(0)));
        assert_eq!(fault(|it| (it.group, it.sources) = ("g".to_owned(), Vec::new())), Some(Unfit::GroupMember));
        assert_eq!(fault(|it| it.group = "g".to_owned()), None, "a member of another group may replicate from it");
        let left = fault(|it| (it.group, it.sources[0].is_connected) = ("g".to_owned(), false));
        assert_eq!(left, Some(Unfit::GroupMember));
        assert_eq!(fault(|it| it.sources.push(Source::default())), Some(Unfit::Sources(2)));
        assert_eq!(fault(|it| it.sources[0].ids[0] = Some("3".to_owned())), Some(Unfit::OtherSource));
        assert_eq!(fault(|it| it.sources[0].uses_gtid = false), Some(Unfit::WithoutIds));
        assert_eq!(fault(|it| it.gtid_mode = false), Some(Unfit::WithoutIds));
        assert_eq!(fault(|it| it.read_only = false), Some(Unfit::Writable));
        assert_eq!(fault(|it| it.sources[0].filter = Some("Replicate_Do_DB")), Some(Unfit::Filters("Replicate_Do_DB")));
        assert_eq!(fault(|it| it.sources[0].mode = Some("aggressive".to_owned())), Some(Unfit::OutOfOrder));
        let unordered = |workers| fault(|it| (it.workers, it.keeps_order, it.sources[0].mode) = (workers, false, None));
        assert_eq!((unordered(4), unordered(1), unordered(0)), (Some(Unfit::OutOfOrder), None, None));
        assert_eq!(fit().fault(&primary("0-1-8,1-1-3")), Some(Unfit::Domains));
        assert_eq!(ReplicaState { workers: 0, ..fit() }.fault(&primary("0-1-8,1-1-3")), None);
    }

    #[test]
    fn what_was_received_is_what_a_replica_will_show() {
        let held = fit().position(&primary("0-1-8"));
        assert_eq!(held.map(|it| it.text()).as_deref(), Some("0-1-9"));
    }
}
