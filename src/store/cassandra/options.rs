//! How a Cassandra is reached.

use std::time::Duration;

use certificates::CertificateFiles;

/// How Cassandra is reached.
#[derive(Clone)]
pub struct CassandraOptions {
    /// `host:port` of at least one node; the others are found through it.
    pub contact_points: Vec<String>,
    /// Where the tables are; created if missing.
    pub keyspace: String,
    /// Copies of each inbox, if the keyspace is created.
    pub replication: u32,
    /// Nodes of this datacenter are asked first; empty: all are alike.
    pub datacenter: String,
    /// Empty: no authentication.
    pub user: String,
    /// Of the user.
    pub password: String,
    /// Connections use TLS, with these.
    pub certificates: Option<CertificateFiles>,
    /// How long a request may take.
    pub timeout: Duration,
}
