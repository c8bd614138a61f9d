//! Starts a private Cassandra node on loopback ports.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use tokio::{
    net::TcpStream,
    time::{Duration, sleep},
};

use crate::{
    node::{Settings, set},
    servers::{Server, free_port},
};

const KEYSPACE: &str = "tidefeed";
/// Time between two looks whether the node takes connections.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A node with its files. It ends when this value is dropped.
pub struct Cassandra {
    server: Server,
    program: PathBuf,
    folder: PathBuf,
}

impl Cassandra {
    /// `None` where `scripts/fetch-cassandra.sh` has not run.
    pub async fn start(folder: &Path) -> Result<Option<Self>> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/cassandra/cassandra");
        if !program.is_file() {
            return Ok(None);
        }
        let folder = folder.join("cassandra");
        fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        let port = free_port()?;
        fs::write(folder.join("cassandra.yaml"), configuration(&folder, port, free_port()?))?;
        Ok(Some(Self { server: serve(&program, &folder, port).await?, program, folder }))
    }

    /// Settings of a node of Tidefeed that keeps inboxes in it.
    pub fn settings(&self) -> Settings {
        vec![
            set("inbox.store", &"cassandra"),
            set("cassandra.contact_points", &format!("127.0.0.1:{}", self.server.port)),
            set("cassandra.keyspace", &KEYSPACE),
            set("cassandra.replication", &1),
        ]
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.server.pid
    }

    /// Bytes of its tables on disk. Restarts it: a start writes what the commit log holds into tables.
    pub async fn bytes(self) -> Result<(Self, u64)> {
        let Self { server, program, folder } = self;
        let port = server.port;
        server.stop().await?;
        let server = serve(&program, &folder, port).await?;
        let bytes = bytes_within(&folder.join("data").join(KEYSPACE))?;
        Ok((Self { server, program, folder }, bytes))
    }

    /// Ends it.
    pub async fn stop(self) -> Result<()> {
        self.server.stop().await
    }
}

async fn serve(program: &Path, folder: &Path, port: u16) -> Result<Server> {
    let log = folder.join("log");
    let mut server = Server::start(Command::new(program).arg(folder), port, &log)?;
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        server.check().with_context(|| format!("Cassandra: {}", log.display()))?;
        sleep(POLL_INTERVAL).await;
    }
    Ok(server)
}

/// As `tidefeed doctor` wants it: a write is on disk before it is acknowledged.
fn configuration(folder: &Path, port: u16, storage_port: u16) -> String {
    format!(
        "cluster_name: bench
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider: [{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{{seeds: '127.0.0.1:{storage_port}'}}]}}]
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: {port}
storage_port: {storage_port}
auto_snapshot: false
commitlog_sync: group
commitlog_sync_group_window: 1ms
data_file_directories: [{folder}/data]
commitlog_directory: {folder}/commitlog
saved_caches_directory: {folder}/saved_caches
hints_directory: {folder}/hints
cdc_raw_directory: {folder}/cdc
memtable_heap_space: 64MiB
memtable_offheap_space: 64MiB
paxos_variant: v2
",
        folder = folder.display()
    )
}

fn bytes_within(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let of = entry.metadata()?;
        bytes += if of.is_dir() { bytes_within(&entry.path())? } else { of.len() };
    }
    Ok(bytes)
}
