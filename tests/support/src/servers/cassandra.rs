//! Starts Cassandra nodes out of `scripts/fetch-cassandra.sh`, each on a loopback address of its own: a driver reaches
//! all nodes of a cluster on one port. A node is ready when its own log says that it listens.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tidefeed::store::cassandra::CassandraOptions;
use tokio::time::Instant;

use super::recipe::Recipe;
use super::watchdog::{Watchdog, is_running};
use crate::repository;

/// Written by a node that takes connections.
const READY: &str = "Starting listening for CQL clients";
/// Time limit for a start, on a busy machine.
const READY_WITHIN: Duration = Duration::from_mins(4);

/// One node.
pub struct CassandraNode {
    address: String,
    pid: AtomicU32,
    watchdog: Watchdog,
}

/// Nodes that form one cluster. They end when this value is dropped or this process ends.
pub struct CassandraCluster {
    name: String,
    network: String,
    port: u16,
    nodes: Vec<CassandraNode>,
}

fn recipe() -> Recipe {
    Recipe {
        program: repository().join("target/cassandra/cassandra").display().to_string(),
        within: std::env::temp_dir(),
        prepare: r#"cat >"$folder/cassandra.yaml" <<END
cluster_name: $cluster
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "$seed"}]}]
listen_address: $address
rpc_address: $address
native_transport_port: $port
storage_port: $storage_port
auto_bootstrap: $bootstrap
auto_snapshot: false
commitlog_sync: $sync
commitlog_sync_group_window: 1ms
commitlog_sync_period: 10000ms
commitlog_segment_size: 4MiB
data_file_directories: [$folder/data]
commitlog_directory: $folder/commitlog
saved_caches_directory: $folder/saved_caches
hints_directory: $folder/hints
cdc_raw_directory: $folder/cdc
hints_flush_period: 1s
memtable_heap_space: 24MiB
memtable_offheap_space: 24MiB
key_cache_size: 1MiB
counter_cache_size: 0MiB
file_cache_size: 16MiB
networking_cache_size: 16MiB
concurrent_reads: 8
concurrent_writes: 8
concurrent_compactors: 1
phi_convict_threshold: 6
paxos_variant: v2
END
case $sync in group) sed -i /sync_period/d "$folder/cassandra.yaml" ;; periodic) sed -i /group_window/d "$folder/cassandra.yaml" ;; esac"#,
        serve: r#"exec "$program" "$folder" $options"#,
        remedy: "run scripts/fetch-cassandra.sh, or leave Cassandra out: cargo test -- --skip cassandra",
        ready_within: READY_WITHIN,
    }
}

impl CassandraNode {
    /// Its address on the loopback interface.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of the last start.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Ends the node at once, as `kill -9` does.
    pub async fn kill(&self) -> Result<()> {
        self.watchdog.order("kill").await.map(drop)
    }

    /// Starts the node with the data in its folder, and waits until it takes connections. Kills a running one first.
    pub async fn restart(&self) -> Result<()> {
        self.kill().await?;
        let log = self.watchdog.folder().join("log");
        let written = std::fs::metadata(&log).map_or(0, |log| log.len());
        let pid = self.watchdog.order("start").await?;
        self.pid.store(pid.parse().with_context(|| format!("not a process id: {pid:?}"))?, Ordering::Relaxed);
        let deadline = Instant::now() + READY_WITHIN;
        while !says(&log, written, READY) {
            ensure!(is_running(self.pid()), "a Cassandra has ended:\n{}", self.watchdog.last_words());
            ensure!(Instant::now() < deadline, "a Cassandra did not start:\n{}", self.watchdog.last_words());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Stops the process as a debugger does: it keeps its connections and answers nothing.
    pub fn freeze(&self) -> Result<()> {
        self.signal("-STOP")
    }

    /// Lets a frozen node go on.
    pub fn thaw(&self) -> Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let sent = std::process::Command::new("kill").args([signal, &self.pid().to_string()]).status()?;
        ensure!(sent.success(), "kill {signal} has failed");
        Ok(())
    }
}

fn says(log: &Path, from: u64, words: &str) -> bool {
    let log = std::fs::read(log).unwrap_or_default();
    let from = usize::try_from(from).unwrap_or_default().min(log.len());
    String::from_utf8_lossy(&log[from..]).contains(words)
}

impl CassandraCluster {
    /// Starts so many nodes. `sync` is their `commitlog_sync`: "group" or "periodic".
    pub async fn start(nodes: u8, sync: &str) -> Result<Self> {
        let (network, port) = free_network()?;
        let name = format!("tidefeed-{}", network.replace('.', "-"));
        let mut cluster = Self { name, network, port, nodes: Vec::new() };
        for number in 1..=nodes {
            cluster.nodes.push(cluster.prepare(number, sync, "").await?);
        }
        // The first one is the seed of the others.
        let (first, others) = cluster.nodes.split_first().context("a cluster has nodes")?;
        first.restart().await?;
        for node in others {
            node.restart().await?;
        }
        Ok(cluster)
    }

    /// A node whose folder is empty.
    async fn prepare(&self, number: u8, sync: &str, options: &str) -> Result<CassandraNode> {
        let address = format!("{}.{number}", self.network);
        let variables = [
            ("cluster", self.name.as_str()),
            ("seed", &format!("{}.1", self.network)),
            ("address", &address),
            ("port", &self.port.to_string()),
            ("storage_port", &(self.port + 10_000).to_string()),
            ("bootstrap", if options.is_empty() { "false" } else { "true" }),
            ("sync", sync),
            ("options", options),
        ];
        let recipe = recipe();
        let watchdog = Watchdog::with(&recipe, &variables)?;
        let found = watchdog.order("find").await?;
        ensure!(found == "found", "Cassandra is not on this machine: {}", recipe.remedy);
        let prepared = watchdog.order("prepare").await?;
        ensure!(prepared == "prepared", "Cassandra could not be prepared:\n{}", watchdog.last_words());
        Ok(CassandraNode { address, pid: AtomicU32::new(0), watchdog })
    }

    /// Kills a node and starts an empty one in its place, with the tokens of the former and what the others stream to
    /// it.
    pub async fn replace_by_empty(&mut self, node: usize) -> Result<()> {
        let former = self.nodes.get(node).context("no such node")?;
        former.kill().await?;
        let options = format!("-Dcassandra.replace_address_first_boot={}", former.address);
        let fresh = self.prepare(u8::try_from(node + 1)?, "group", &options).await?;
        // The others must have noticed that the former is gone.
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

    /// For a keyspace of the test's own, with this many copies.
    pub fn fresh_keyspace(&self, replication: u32) -> CassandraOptions {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        CassandraOptions {
            contact_points: self.contact_points(),
            keyspace: format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            replication,
            datacenter: String::new(),
            user: String::new(),
            password: String::new(),
            timeout: Duration::from_mins(1),
        }
    }

    /// `address:port` of every node.
    pub fn contact_points(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("{}:{}", node.address, self.port)).collect()
    }
}

/// The first three bytes of addresses that nobody listens on, and a port. Below the ports of outgoing connections, as
/// those of the other servers.
fn free_network() -> Result<(String, u16)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const PORT: u16 = 9_342;
    let first = std::process::id().wrapping_mul(8);
    for _ in 0..1_000 {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (200 * 250);
        let network = format!("127.{}.{}", 20 + number / 250, 1 + number % 250);
        let is_free = |port| (1..=3).all(|last| TcpListener::bind((format!("{network}.{last}"), port)).is_ok());
        if is_free(PORT) && is_free(PORT + 10_000) {
            return Ok((network, PORT));
        }
    }
    bail!("no loopback network is free")
}
