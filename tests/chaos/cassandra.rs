//! Cassandra nodes, each behind lines of its own: no client and no other node reaches it on another way.

use std::time::Duration;

use anyhow::{Result, ensure};
use scylla::{
    client::{execution_profile::ExecutionProfile, session::Session, session_builder::SessionBuilder},
    statement::Consistency,
};

use crate::proxy::Proxy;
use crate::servers::{CassandraCluster, CassandraNode};

/// Where the inboxes of a run of chaos are.
pub const KEYSPACE: &str = "chaos";
/// Nodes, and copies of everything.
const NODES: u8 = 3;
/// How long a request may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Three nodes and their lines.
pub struct Cassandras {
    cluster: CassandraCluster,
    /// Of each node: for clients, and for the other nodes.
    lines: Vec<[Proxy; 2]>,
}

impl Cassandras {
    /// All take connections.
    pub async fn start() -> Result<Self> {
        let mut cluster = CassandraCluster::behind_lines()?;
        let mut lines = Vec::new();
        for node in 0..NODES {
            let [clients, nodes] = cluster.lines(node)?;
            let clients = Proxy::between(clients.announced, clients.own).await?;
            lines.push([clients, Proxy::between(nodes.announced, nodes.own).await?]);
        }
        cluster.begin(NODES).await?;
        Ok(Self { cluster, lines })
    }

    pub fn nodes(&self) -> &[CassandraNode] {
        self.cluster.nodes()
    }

    pub fn cluster(&self) -> &CassandraCluster {
        &self.cluster
    }

    pub fn lines(&self) -> impl Iterator<Item = &Proxy> {
        self.lines.iter().flatten()
    }

    pub async fn replace_by_empty(&mut self, node: usize) -> Result<()> {
        self.cluster.replace_by_empty(node).await
    }

    /// Holds what others send to the node, and its answers to clients; or lets everything pass again.
    pub fn hold(&self, node: usize, held: bool) {
        self.lines[node].iter().for_each(|line| line.hold(held));
    }

    /// Ends every connection to the node.
    pub fn cut(&self, node: usize) {
        self.lines[node].iter().for_each(Proxy::cut);
    }

    /// A session for statements past the service.
    pub async fn session(&self, consistency: Consistency) -> Result<Session> {
        let profile =
            ExecutionProfile::builder().consistency(consistency).request_timeout(Some(PATIENCE)).build().into_handle();
        let builder = SessionBuilder::new().known_nodes(self.cluster.contact_points());
        Ok(builder.default_execution_profile_handle(profile).build().await?)
    }

    /// Whether the only node that runs has this content among its own rows.
    pub async fn survivor_has(&self, keyspace: &str, publish_time: i64) -> Result<bool> {
        let session = self.session(Consistency::One).await?;
        let rows = session.query_unpaged(format!("SELECT publish_time FROM {keyspace}.inbox_rows"), ()).await?;
        let rows = rows.into_rows_result()?;
        for row in rows.rows::<(i64,)>()? {
            if row?.0 == publish_time {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails if a line was not used: then its faults had no effect.
    pub fn lines_are_used(&self) -> Result<()> {
        for line in self.lines() {
            ensure!(line.connections() > 0, "the nodes have found a way around a bad line");
        }
        Ok(())
    }
}
