//! Gives out key prefixes, makes a cluster of three masters, and checks which Redis answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, InfoDict};
use tokio::process::Command;
use tokio::time::Instant;

use super::recipe::{Kind, Recipe};
use super::server::Server;

/// A key prefix on the shared Redis, for one test only.
pub struct FreshKeys {
    /// The URL, as `redis.url` takes it.
    pub url: String,
    /// The prefix of every key.
    pub prefix: String,
}

impl FreshKeys {
    /// A prefix that this process has not given out before.
    pub fn on(server: &Server) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { url: server.url(), prefix: format!("t{}:", NEXT.fetch_add(1, Ordering::Relaxed)) }
    }
}

/// Three masters that share the slots, without replicas.
pub struct RedisCluster {
    nodes: Vec<Server>,
}

impl RedisCluster {
    /// Starts the three and waits until each reports a complete cluster. If they do not find each other, it starts
    /// three others.
    pub async fn start() -> Result<Self> {
        Self::start_from(&Kind::RedisNode.recipe()).await
    }

    /// Like [`RedisCluster::start`], with the caller's recipe of a node.
    pub async fn start_from(recipe: &Recipe) -> Result<Self> {
        match Self::start_once(recipe).await {
            Err(_) => Self::start_once(recipe).await,
            started => started,
        }
    }

    async fn start_once(recipe: &Recipe) -> Result<Self> {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            nodes.push(Server::start_from(Kind::RedisNode, recipe).await?);
        }
        let cluster = Self { nodes };
        cluster.join().await?;
        for node in &cluster.nodes {
            wait_until_whole(node).await?;
        }
        Ok(cluster)
    }

    /// Every node's address.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Server::url).collect()
    }

    /// The masters, so that a test can kill one.
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    async fn join(&self) -> Result<()> {
        let addresses = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port()));
        let output = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "0", "--cluster-yes"])
            .kill_on_drop(true)
            .output()
            .await
            .context("`redis-cli` is missing: run scripts/install-servers.sh.")?;
        ensure!(output.status.success(), "The cluster could not be made:\n{}", String::from_utf8_lossy(&output.stdout));
        Ok(())
    }
}

async fn wait_until_whole(node: &Server) -> Result<()> {
    let deadline = Instant::now() + Duration::from_mins(2);
    let mut connection = connect(&node.url()).await?;
    loop {
        let state: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await?;
        if state.contains("cluster_state:ok") {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "The cluster did not become whole:\n{state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One connection of the test's own.
pub async fn connect(url: &str) -> Result<MultiplexedConnection> {
    let limit = Some(Duration::from_mins(1));
    let limits = AsyncConnectionConfig::new().set_connection_timeout(limit).set_response_timeout(limit);
    let connection = redis::Client::open(url)?.get_multiplexed_async_connection_with_config(&limits).await;
    connection.with_context(|| format!("{url} does not answer."))
}

/// The process id of the Redis behind this address.
pub async fn process_id(url: &str) -> Result<u32> {
    let mut connection = connect(url).await?;
    let info: InfoDict = redis::cmd("INFO").arg("server").query_async(&mut connection).await?;
    info.get("process_id").context("The server named no process id.")
}
