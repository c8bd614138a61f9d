//! Starts Cassandra nodes installed by `scripts/fetch-cassandra.sh`, each on its own loopback address, because a
//! driver reaches all nodes of a cluster on one port. A node is ready when its log says that it listens.

mod node;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tidefeed::store::cassandra::CassandraOptions;
use tokio::time::Instant;

pub use self::node::CassandraNode;
use self::node::{READY_WITHIN, Setup};

/// The port for clients. It is below the ports of outgoing connections, as those of the other servers.
const PORT: u16 = 9_342;
/// The port for other nodes.
const STORAGE_PORT: u16 = 19_342;
/// How long a node that is not the first waits for the others, on a busy machine.
const RING_DELAY_MS: u32 = 12_000;
/// The last byte of the first node's address, and of the first proxy's.
const FIRST: (u8, u8) = (1, 11);

/// Nodes that form one cluster. They end when this value is dropped or this process ends.
pub struct CassandraCluster {
    name: String,
    network: String,
    sync: String,
    is_behind_lines: bool,
    asks_for_names: bool,
    tls: Option<PathBuf>,
    nodes: Vec<CassandraNode>,
}

/// Where a proxy before a node must listen, and where it leads.
#[derive(Debug, Clone, Copy)]
pub struct CassandraLine {
    /// The address that the node tells others.
    pub announced: SocketAddr,
    /// Where the node listens.
    pub own: SocketAddr,
}

impl CassandraCluster {
    /// Starts `nodes` nodes. `sync` is their `commitlog_sync`: "group" or "periodic".
    pub async fn start(nodes: u8, sync: &str) -> Result<Self> {
        let mut cluster = Self::on_free_network(sync, false)?;
        cluster.begin(nodes).await?;
        Ok(cluster)
    }

    /// One node that asks clients for name and password, and checks their rights. Its first user, `cassandra` with the
    /// same password, may do everything.
    pub async fn with_users() -> Result<Self> {
        let mut cluster = Self { asks_for_names: true, ..Self::on_free_network("periodic", false)? };
        cluster.begin(1).await?;
        Ok(cluster)
    }

    /// One node that speaks TLS alone and asks for certificates. `files` is given its IP address and names a folder
    /// with `keystore.pem` (key and certificate) and `authority.pem`.
    pub async fn over_tls(files: impl FnOnce(&str) -> Result<PathBuf>) -> Result<Self> {
        let mut cluster = Self::on_free_network("periodic", false)?;
        cluster.tls = Some(files(&cluster.own(0))?);
        cluster.begin(1).await?;
        Ok(cluster)
    }

    /// A cluster whose nodes begin when there are lines before them, and are reached through these alone, by clients
    /// and by each other.
    pub fn behind_lines() -> Result<Self> {
        Self::on_free_network("group", true)
    }

    fn on_free_network(sync: &str, is_behind_lines: bool) -> Result<Self> {
        let network = free_network()?;
        let name = format!("tidefeed-{}", network.replace('.', "-"));
        Ok(Self {
            name,
            network,
            sync: sync.to_owned(),
            is_behind_lines,
            asks_for_names: false,
            tls: None,
            nodes: Vec::new(),
        })
    }

    /// The proxies that the node at this index needs: for clients, and for the other nodes.
    pub fn lines(&self, node: u8) -> Result<[CassandraLine; 2]> {
        let line = |port| {
            let at = |address: String| format!("{address}:{port}").parse();
            Ok::<_, anyhow::Error>(CassandraLine { announced: at(self.announced(node))?, own: at(self.own(node))? })
        };
        Ok([line(PORT)?, line(STORAGE_PORT)?])
    }

    /// Starts `nodes` nodes.
    pub async fn begin(&mut self, nodes: u8) -> Result<()> {
        for node in 0..nodes {
            let prepared = self.prepare(node, None).await?;
            // The first one is the seed of the others.
            prepared.restart().await?;
            self.nodes.push(prepared);
        }
        Ok(())
    }

    fn own(&self, node: u8) -> String {
        format!("{}.{}", self.network, FIRST.0 + node)
    }

    fn announced(&self, node: u8) -> String {
        if self.is_behind_lines { format!("{}.{}", self.network, FIRST.1 + node) } else { self.own(node) }
    }

    async fn prepare(&self, node: u8, replaces: Option<&str>) -> Result<CassandraNode> {
        let setup = Setup {
            cluster: &self.name,
            seed: &self.announced(0),
            own_address: &self.own(node),
            address: &self.announced(node),
            sync: &self.sync,
            asks_for_names: self.asks_for_names,
            tls: self.tls.as_deref(),
            ring_delay_ms: if node == 0 { 1 } else { RING_DELAY_MS },
            replaces,
        };
        CassandraNode::prepare(&setup).await
    }

    /// Kills a node and starts an empty one in its place, with the former node's tokens and the data that the others
    /// stream to it.
    pub async fn replace_by_empty(&mut self, node: usize) -> Result<()> {
        let former = self.nodes.get(node).context("no such node")?;
        former.kill().await?;
        let fresh = self.prepare(u8::try_from(node)?, Some(former.address())).await?;
        // The others must have noticed that the former node is gone.
        let deadline = Instant::now() + READY_WITHIN;
        while let Err(error) = fresh.restart().await {
            ensure!(Instant::now() < deadline, "{error:#}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.nodes[node] = fresh;
        Ok(())
    }

    /// The nodes in the order of their addresses.
    pub fn nodes(&self) -> &[CassandraNode] {
        &self.nodes
    }

    /// Options for a keyspace of the test's own, with this many copies.
    pub fn fresh_keyspace(&self, replication: u32) -> CassandraOptions {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        CassandraOptions {
            contact_points: self.contact_points(),
            keyspace: format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            replication,
            datacenter: String::new(),
            user: String::new(),
            password: String::new(),
            certificates: None,
            timeout: Duration::from_mins(1),
        }
    }

    /// `address:port` of every node.
    pub fn contact_points(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("{}:{PORT}", node.address())).collect()
    }
}

/// The first three bytes of addresses on which nothing listens.
fn free_network() -> Result<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(8);
    for _ in 0..1_000 {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (200 * 250);
        let network = format!("127.{}.{}", 20 + number / 250, 1 + number % 250);
        let last = [FIRST.0, FIRST.1].into_iter().flat_map(|first| first..first + 3);
        let mut addresses = last.flat_map(|last| [(last, PORT), (last, STORAGE_PORT)]);
        if addresses.all(|(last, port)| TcpListener::bind((format!("{network}.{last}"), port)).is_ok()) {
            return Ok(network);
        }
    }
    bail!("no loopback network is free")
}
