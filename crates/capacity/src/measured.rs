//! What one of each operation costs, as `make costs` has measured it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file that `make costs` writes.
const FILE: &str = include_str!("../measured.json");

/// All that was measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The day, as YYYY-MM-DD.
    pub day: String,
    /// The commit, shortened.
    pub commit: String,
    /// The processor.
    pub machine: String,
    /// Users of the world in which it was measured.
    pub users: u64,
    /// SQLite, within the node.
    pub sqlite: Engine,
    /// MariaDB, with outboxes and queues in Redis.
    pub mariadb: Engine,
    /// The same with inboxes in Redis.
    pub mariadb_redis_inboxes: OutsideInboxes,
    /// The same with inboxes in Cassandra, one copy.
    pub mariadb_cassandra_inboxes: OutsideInboxes,
    /// The same with inboxes in SQL and reads on one replica.
    pub mariadb_replica: Replica,
    /// The same with inboxes in Cassandra and reads on one replica.
    pub mariadb_cassandra_replica: Replica,
    /// Subscribers.
    pub live: Live,
}

/// Costs where all rows lie in SQL.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// What operations cost.
    pub operations: Operations,
    /// By name; tables that do not grow with the service are left out.
    pub tables: BTreeMap<String, Table>,
    /// Mean length of the texts of contents.
    pub text_bytes: f64,
}

/// Costs where inboxes lie outside SQL.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutsideInboxes {
    /// What operations cost.
    pub operations: Operations,
    /// Bytes of an inbox.
    pub inbox_bytes: f64,
}

/// Costs where a replica serves reads.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    /// What operations cost.
    pub operations: Operations,
}

/// Costs of one of each.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    /// A page of 20 of an active reader whom the node does not know yet.
    pub first_page: Cost,
    /// A page of 20 of an active reader whom the node remembers.
    pub page: Cost,
    /// A like, or its undoing.
    pub like: Cost,
    /// A follow, or its undoing, with what it brings into the inbox.
    pub follow: Cost,
    /// A publish, delivered to next to nobody.
    pub publish: Cost,
    /// What each follower to whom it is delivered adds to a publish.
    pub delivery: Cost,
}

/// Processor time of one operation, in microseconds by server, and what MariaDB was asked.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Of the node; with SQLite, the store's as well.
    pub node_us: f64,
    /// Of MariaDB, the primary.
    pub sql_us: f64,
    /// Of Redis.
    pub redis_us: f64,
    /// Of Cassandra, one copy.
    pub cassandra_us: f64,
    /// Of the replica.
    pub replica_us: f64,
    /// Statements sent to the primary, with those of background work.
    pub statements: f64,
    /// Round trips to the primary, with those of background work.
    pub trips: f64,
}

/// A table.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Bytes of a row with its index entries and its part of half-empty pages.
    pub bytes_of_row: f64,
    /// Rows that operations leave.
    pub rows: Rows,
}

/// Rows that one of each operation leaves in a table.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// A registration.
    pub user: f64,
    /// A publish.
    pub publish: f64,
    /// A follow.
    pub follow: f64,
    /// A like.
    pub like: f64,
}

/// Subscribers.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// A node's memory without sockets.
    pub node_bytes: f64,
    /// The node's memory for a socket with a subscription.
    pub socket_bytes: f64,
    /// The node's processor time for an event on one of them, in microseconds.
    pub event_us: f64,
}

impl Operations {
    /// Each with its name.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, Cost); 6] {
        [
            ("first page of a visit", self.first_page),
            ("other page", self.page),
            ("like", self.like),
            ("follow", self.follow),
            ("publish", self.publish),
            ("delivery to one more", self.delivery),
        ]
    }
}

impl Measured {
    /// The costs by where the rows lie.
    #[must_use]
    pub const fn all_operations(&self) -> [(&'static str, &Operations); 6] {
        [
            ("SQLite", &self.sqlite.operations),
            ("MariaDB, Redis", &self.mariadb.operations),
            ("the same, inboxes in Redis", &self.mariadb_redis_inboxes.operations),
            ("the same, inboxes in Cassandra", &self.mariadb_cassandra_inboxes.operations),
            ("MariaDB, Redis, one replica", &self.mariadb_replica.operations),
            ("one replica, inboxes in Cassandra", &self.mariadb_cassandra_replica.operations),
        ]
    }

    /// What this version has brought along.
    ///
    /// # Errors
    ///
    /// The file has another form; a test says so before anybody else.
    pub fn own() -> Result<Self, serde_json::Error> {
        serde_json::from_str(FILE)
    }
}
