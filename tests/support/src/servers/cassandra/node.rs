//! One Cassandra node: its configuration and its process.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::Instant;

use super::super::recipe::Recipe;
use super::super::tags;
use super::super::watchdog::{Watchdog, is_running};
use super::{PORT, STORAGE_PORT};
use crate::repository;

/// Logged by a node that is about to take connections.
const READY: &str = "Starting listening for CQL clients";
/// Time limit for a start, on a busy machine.
pub(super) const READY_WITHIN: Duration = Duration::from_mins(4);

/// Lines of the log that explain why a node ended.
const COMPLAINTS: usize = 8;

/// The configuration of a node.
pub(super) struct Setup<'a> {
    /// The cluster's name.
    pub(super) cluster: &'a str,
    /// The address of the node that others ask for the cluster.
    pub(super) seed: &'a str,
    /// The address on which it listens.
    pub(super) own_address: &'a str,
    /// The address at which others and clients reach it.
    pub(super) address: &'a str,
    /// Its `commitlog_sync`.
    pub(super) sync: &'a str,
    /// Whether it asks clients who they are, and what they may.
    pub(super) asks_for_names: bool,
    /// The folder of its certificates, if it speaks TLS.
    pub(super) tls: Option<&'a Path>,
    /// How long it waits for an answer of the others when it starts. The first one goes on alone.
    pub(super) ring_delay_ms: u32,
    /// The address of a lost node that it replaces: it fetches its part of the data from the others.
    pub(super) replaces: Option<&'a str>,
}

/// One node.
pub struct CassandraNode {
    address: String,
    /// The address at which it takes connections itself.
    own_address: String,
    pid: AtomicU32,
    watchdog: Watchdog,
}

/// Writes the configuration.
const PREPARE: &str = r#"cat >"$folder/cassandra.yaml" <<END
cluster_name: $cluster
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "$seed"}]}]
listen_address: $own_address
broadcast_address: $address
rpc_address: $own_address
broadcast_rpc_address: $address
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
case $sync in group) sed -i /sync_period/d "$folder/cassandra.yaml" ;; periodic) sed -i /group_window/d "$folder/cassandra.yaml" ;; esac
case $names in true) cat >>"$folder/cassandra.yaml" <<END
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
role_manager: CassandraRoleManager
END
;; esac
case $tls in ?*) cat >>"$folder/cassandra.yaml" <<END
client_encryption_options:
  enabled: true
  optional: false
  require_client_auth: true
  ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}
  keystore: $tls/keystore.pem
  truststore: $tls/authority.pem
END
;; esac"#;

fn recipe() -> Recipe {
    Recipe {
        program: repository().join("target/cassandra/cassandra").display().to_string(),
        within: std::env::temp_dir(),
        prepare: PREPARE,
        serve: r#"exec "$program" "$folder" $options"#,
        more: String::new(),
        remedy: "run scripts/fetch-cassandra.sh, or leave Cassandra out: cargo test -- --skip ::cassandra::",
        ready_within: READY_WITHIN,
    }
}

impl CassandraNode {
    /// A node with an empty folder.
    pub(super) async fn prepare(setup: &Setup<'_>) -> Result<Self> {
        let replaces = setup.replaces.map(|lost| format!(" -Dcassandra.replace_address_first_boot={lost}"));
        let options = format!(
            "-Dcassandra.superuser_setup_delay_ms=0 -Dcassandra.ring_delay_ms={}{}",
            setup.ring_delay_ms,
            replaces.unwrap_or_default()
        );
        let tls = setup.tls.map(|folder| folder.display().to_string()).unwrap_or_default();
        let variables = [
            ("cluster", setup.cluster),
            ("seed", setup.seed),
            ("own_address", setup.own_address),
            ("address", setup.address),
            ("port", &PORT.to_string()),
            ("storage_port", &STORAGE_PORT.to_string()),
            ("bootstrap", if setup.replaces.is_some() { "true" } else { "false" }),
            ("sync", setup.sync),
            ("names", if setup.asks_for_names { "true" } else { "false" }),
            ("tls", &tls),
            ("options", &options),
        ];
        tags::require(tags::CASSANDRA)?;
        let recipe = recipe();
        let watchdog = Watchdog::with(&recipe, &variables)?;
        let found = watchdog.order("find").await?;
        ensure!(found == "found", "Cassandra is not on this machine: {}", recipe.remedy);
        let prepared = watchdog.order("prepare").await?;
        ensure!(prepared == "prepared", "Cassandra could not be prepared:\n{}", watchdog.last_words());
        let [address, own_address] = [setup.address, setup.own_address].map(str::to_owned);
        Ok(Self { address, own_address, pid: AtomicU32::new(0), watchdog })
    }

    /// The address at which others and clients reach it, on the loopback interface.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The process id of the last start.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Files of hints that it keeps for nodes that were away. It removes each once the other node has taken it.
    pub fn files_of_hints(&self) -> Result<usize> {
        let files = std::fs::read_dir(self.watchdog.folder().join("hints"))?.collect::<Result<Vec<_>, _>>()?;
        Ok(files.iter().filter(|file| file.path().extension().is_some_and(|it| it == "hints")).count())
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
        while !says(&log, written, READY) || !self.takes_connections().await {
            ensure!(is_running(self.pid()), "a Cassandra has ended:\n{}", complaints(&log, written));
            ensure!(Instant::now() < deadline, "a Cassandra did not start:\n{}", self.watchdog.last_words());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn takes_connections(&self) -> bool {
        tokio::net::TcpStream::connect((self.own_address.as_str(), PORT)).await.is_ok()
    }

    /// Stops the process as a debugger does: it keeps its connections and answers nothing.
    pub fn freeze(&self) -> Result<()> {
        self.signal("-STOP")
    }

    /// Lets a frozen node continue.
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
    written(log, from).contains(words)
}

/// The first lines that name an error. The last ones are those of the shutdown.
fn complaints(log: &Path, from: u64) -> String {
    let log = written(log, from);
    let lines = log.lines().filter(|line| line.starts_with("ERROR") || line.contains("Exception"));
    lines.take(COMPLAINTS).collect::<Vec<_>>().join("\n")
}

fn written(log: &Path, from: u64) -> String {
    let log = std::fs::read(log).unwrap_or_default();
    let from = usize::try_from(from).unwrap_or_default().min(log.len());
    String::from_utf8_lossy(&log[from..]).into_owned()
}
