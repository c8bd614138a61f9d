//! The servers of a run: real ones, each behind a proxy that breaks connections, and the nodes that use them.

use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use sea_orm::DatabaseConnection;
use tokio::time::{Instant, sleep};

use crate::binary::{CommandLine, process::Node};
use crate::cassandra::{Cassandras, KEYSPACE};
use crate::cluster_lines::announce;
use crate::disk::{self, Disk};
use crate::proxy::Proxy;
use crate::replica::{Replica, replicated};
use crate::servers::{EmptyDatabase, Kind, Recipe, RedisCluster, Server, connect_sql};

/// Two nodes, or one where the database is a file.
const NODES: usize = 2;
const LIMIT: Duration = Duration::from_mins(3);
/// How long nodes of two settings run beside each other.
const BETWEEN_NODES: Duration = Duration::from_secs(2);
/// How long a node may take a key that was revoked, as in [`SETTINGS`].
pub const REVOCATION: Duration = Duration::from_secs(2);

/// So small and so quick that in a short time everything turns: chains of subtasks, pulled authors, trimming, leases,
/// redelivery.
const SETTINGS: &[(&str, &str)] = &[
    ("SERVER__LISTEN", "127.0.0.1:0"),
    ("SERVER__REQUEST_TIMEOUT_MS", "4000"),
    ("SERVER__DRAIN_MS", "1000"),
    ("AUTH__REVOCATION_S", "2"),
    ("STORE__MAX_CONNECTIONS", "8"),
    ("STORE__ACQUIRE_TIMEOUT_MS", "1000"),
    ("STORE__STATEMENT_TIMEOUT_MS", "1500"),
    ("STORE__MIGRATE_AT_START", "false"),
    ("REDIS__REDELIVERY_MS", "2500"),
    ("REDIS__COMMAND_TIMEOUT_MS", "300"),
    ("REDIS__STREAM_MAX_LEN", "1000"),
    ("CASSANDRA__TIMEOUT_MS", "1000"),
    ("OUTBOX_CACHE__CAPACITY", "20"),
    ("DELIVERY__PUSH_THRESHOLD", "5"),
    ("DELIVERY__ACTIVE_DAYS", "0"),
    ("DELIVERY__DORMANT_DAYS", "1"),
    ("DELIVERY__SUBTASK_SIZE", "3"),
    ("DELIVERY__BATCH_SIZE", "2"),
    ("DELIVERY__EXECUTORS", "2"),
    ("DELIVERY__LEASE_MS", "2000"),
    ("INBOX__KEEP", "20"),
    ("INBOX__EXTEND_STEP", "20"),
    ("UPKEEP__SWEEP_MS", "100"),
    ("UPKEEP__TRIM_MS", "200"),
    ("UPKEEP__RELATION_WORKERS", "1"),
    // What a killed node has not announced must be found soon.
    ("LIVE__CHECK_MS", "3000"),
    // An audit would mend what clients are here to find.
    ("AUDIT__EVERY_MS", "0"),
    ("LOG__FORMAT", "json"),
    ("LOG__FILTER", "warn,tidefeed::cli=info"),
];

/// The engine of the primary store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrimaryStore {
    Sqlite,
    MariaDb,
    Mysql,
    /// With a replica, on which the nodes read.
    MariaDbReplicated,
    /// As [`Self::MariaDbReplicated`].
    MysqlReplicated,
}

/// What the nodes share besides SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedisSetup {
    Nothing,
    Redis,
    Cluster,
    /// One Redis, which also holds the inboxes of active readers.
    RedisInboxes,
    /// As [`Self::RedisInboxes`], in a Redis Cluster.
    ClusterInboxes,
    /// One Redis, and three Cassandra nodes with the inboxes of active readers.
    CassandraInboxes,
}

impl RedisSetup {
    const fn is_cluster(self) -> bool {
        matches!(self, Self::Cluster | Self::ClusterInboxes)
    }

    /// Where the inboxes of active readers lie, as the configuration names it.
    const fn inbox_store(self) -> &'static str {
        match self {
            Self::Nothing | Self::Redis | Self::Cluster => "sql",
            Self::RedisInboxes | Self::ClusterInboxes => "redis",
            Self::CassandraInboxes => "cassandra",
        }
    }

    /// Whether inboxes lie outside SQL.
    pub fn holds_inboxes(self) -> bool {
        self.inbox_store() != "sql"
    }
}

impl PrimaryStore {
    /// Room for its files, with some to spare, and little enough to be filled at once. A server that logs its changes
    /// for a replica has more files with every round.
    const fn room(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => Some("64m"),
            Self::MariaDb => Some("160m"),
            Self::Mysql => Some("256m"),
            Self::MariaDbReplicated | Self::MysqlReplicated => None,
        }
    }
}

/// A setting that nodes get while clients work.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Each node is ended and started in turn.
    OneByOne((&'a str, &'a str)),
    /// All nodes are ended, this command runs, and all are started.
    AllAtOnce((&'a str, &'a str), &'a [&'a str]),
}

enum Redis {
    None,
    One(Server),
    Cluster(RedisCluster),
}

/// Servers, lines and nodes of one run; all end with it.
pub struct Deployment {
    pub setup: RedisSetup,
    nodes: Vec<Option<Node>>,
    /// Of each node.
    command_lines: Vec<CommandLine>,
    pub sql: Option<(Server, Proxy)>,
    pub replica: Option<Replica>,
    redis: Redis,
    /// A single Redis that holds inboxes has one beside it, which may take its place.
    beside: Option<Server>,
    /// Of each node to a single Redis; or to each master of a cluster, for all nodes.
    redis_lines: Vec<Proxy>,
    pub cassandras: Option<Cassandras>,
    _database: EmptyDatabase,
    /// Past the bad line.
    database_url: String,
    /// The same for nodes: behind the bad line.
    url: String,
    /// Lines that nodes wrote and that are no log: a panic's, for instance.
    pub odd_lines: Vec<String>,
    /// What the database's files lie on; the last to go.
    pub disk: Option<Disk>,
}

impl Deployment {
    /// Everything runs; the tables are there.
    pub async fn start(primary_store: PrimaryStore, setup: RedisSetup) -> Result<(Self, Vec<String>)> {
        let disk = match primary_store.room().filter(|_| !disk::is_left_out()) {
            Some(room) => Some(Disk::of(room).await?),
            None => None,
        };
        let files = disk.as_ref().map_or_else(std::env::temp_dir, |disk| disk.folder().to_owned());
        let ((sql, replica), redis) = tokio::try_join!(sql_server(primary_store, files.clone()), redis(setup))?;
        let database = match &sql {
            Some((server, _)) => EmptyDatabase::on(server).await?,
            None => EmptyDatabase::sqlite_in(&files)?,
        };
        let nodes = if setup == RedisSetup::Nothing { 1 } else { NODES };
        let redis_lines = redis_lines(&redis, nodes).await?;
        let beside = if setup == RedisSetup::RedisInboxes { Some(Server::start(Kind::Redis).await?) } else { None };
        let url = match &sql {
            Some((server, line)) => database.url.replace(&port(server.port()), &port(line.port())),
            None => database.url.clone(),
        };
        let former = std::env::var_os("FORMER_NODES").map(PathBuf::from);
        let mut tables = CommandLine::on(&url)?;
        tables.binary.clone_from(&former);
        tables.done(&["migrate"]).await?;
        let cassandras = if setup == RedisSetup::CassandraInboxes { Some(Cassandras::start().await?) } else { None };
        let lines_of =
            |node| if setup.is_cluster() { &redis_lines[..] } else { redis_lines.get(node..=node).unwrap_or(&[]) };
        let replica_url = replica.as_ref().map(|replica| replica.url(&url)).transpose()?;
        let command_lines = (0..nodes).map(|node| {
            let mut it = command_line(&url, setup, lines_of(node), cassandras.as_ref())?;
            it.binary = former.clone().filter(|_| node > 0);
            Ok(match &replica_url {
                Some(url) => it.with("TIDEFEED__STORE__REPLICAS", &format!("[\"{url}\"]")),
                None => it,
            })
        });
        let mut deployment = Self {
            setup,
            command_lines: command_lines.collect::<Result<_>>()?,
            nodes: (0..nodes).map(|_| None).collect(),
            sql,
            replica,
            redis,
            beside,
            redis_lines,
            cassandras,
            database_url: database.url.clone(),
            _database: database,
            url,
            odd_lines: Vec::new(),
            disk,
        };
        let addresses = deployment.start_nodes(tables).await?;
        Ok((deployment, addresses))
    }

    /// Nodes of a former version run when this one migrates the tables.
    async fn start_nodes(&mut self, mut tables: CommandLine) -> Result<Vec<String>> {
        let mut addresses = Vec::new();
        for node in 1..self.nodes.len() {
            addresses.push(self.start_node(node).await?);
        }
        if tables.binary.take().is_some() {
            tables.done(&["migrate"]).await?;
        }
        addresses.insert(0, self.start_node(0).await?);
        Ok(addresses)
    }

    pub fn redis_servers(&self) -> &[Server] {
        self.redis.servers()
    }

    /// The lines to the Redis of this index.
    pub fn redis_lines(&self, server: usize) -> &[Proxy] {
        if self.setup.is_cluster() { slice::from_ref(&self.redis_lines[server]) } else { &self.redis_lines }
    }

    /// The single Redis, and the one beside it.
    pub fn redis_and_beside(&self) -> Result<(&Server, &Server)> {
        match (&self.redis, &self.beside) {
            (Redis::One(server), Some(beside)) => Ok((server, beside)),
            _ => bail!("there is no Redis beside another"),
        }
    }

    /// From now on all nodes use the Redis beside the one that they have used, and that one is beside it.
    pub fn change_redis(&mut self) {
        if let (Redis::One(server), Some(beside)) = (&mut self.redis, &mut self.beside) {
            std::mem::swap(server, beside);
            self.redis_lines.iter().for_each(|line| line.lead_to(server.port()));
        }
    }

    /// The replica takes the primary's place, and the primary its.
    pub async fn promote_replica(&mut self) -> Result<()> {
        let (Some((primary, line)), Some(replica)) = (&mut self.sql, &mut self.replica) else {
            bail!("there is no replica");
        };
        let before = port(primary.port());
        replica.promote(primary, line).await?;
        self.database_url = self.database_url.replace(&before, &port(primary.port()));
        Ok(())
    }

    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes of this version come first. One of a former version refuses the tables once it starts anew.
    pub fn nodes_of_this_version(&self) -> usize {
        self.command_lines.iter().take_while(|it| it.binary.is_none()).count()
    }

    /// Ends the nodes of a former version as an operator does, and starts this one in their place. `moved` learns where
    /// each is then.
    pub async fn replace_former_nodes(&mut self, mut moved: impl FnMut(usize, String)) -> Result<()> {
        for node in self.nodes_of_this_version()..self.nodes.len() {
            self.end_node(node).await?;
            self.command_lines[node].binary = None;
            moved(node, self.start_node(node).await?);
        }
        Ok(())
    }

    /// Where the database is, past the bad line.
    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    /// A connection past the bad line.
    pub async fn database(&self) -> Result<DatabaseConnection> {
        connect_sql(&self.database_url).await
    }

    /// Starts the node and returns its address once it listens. Its time-outs are so short that it may give up on a
    /// busy machine; then this starts it again, as a supervisor would.
    pub async fn start_node(&mut self, number: usize) -> Result<String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let mut node = Node::start(&self.command_lines[number], &["serve"])?;
            match node.said("Serving the API.").await {
                Ok(said) => {
                    self.nodes[number] = Some(node);
                    return said["address"].as_str().map(str::to_owned).with_context(|| format!("no address: {said}"));
                }
                Err(error) if Instant::now() > deadline => return Err(error),
                // It logged the reason and exited with 1; a panic exits with another code.
                Err(_) if node.code().await? == Some(1) => {}
                Err(_) => self.keep_odd_lines(&node),
            }
        }
    }

    /// The binary beside the nodes, behind the same bad lines, in a folder of its own.
    pub fn beside_nodes(&self) -> Result<CommandLine> {
        let lines =
            if self.setup.is_cluster() { &self.redis_lines[..] } else { self.redis_lines.get(..1).unwrap_or(&[]) };
        command_line(&self.url, self.setup, lines, self.cassandras.as_ref())
    }

    /// The value that a variable has for the first node.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.command_lines[0].setting(name).map(str::to_owned)
    }

    /// Ends nodes as an operator does, and starts them with another setting. `moved` learns where each is then.
    pub async fn change(&mut self, change: Change<'_>, mut moved: impl FnMut(usize, String)) -> Result<()> {
        let (Change::OneByOne((name, value)) | Change::AllAtOnce((name, value), _)) = change;
        self.command_lines = self.command_lines.drain(..).map(|it| it.with(name, value)).collect();
        match change {
            Change::OneByOne(_) => {
                for node in 0..self.nodes.len() {
                    self.end_node(node).await?;
                    moved(node, self.start_node(node).await?);
                    sleep(BETWEEN_NODES).await;
                }
            }
            Change::AllAtOnce(_, command) => {
                for node in 0..self.nodes.len() {
                    self.end_node(node).await?;
                }
                self.command(command).await?;
                for node in 0..self.nodes.len() {
                    moved(node, self.start_node(node).await?);
                }
            }
        }
        Ok(())
    }

    async fn end_node(&mut self, number: usize) -> Result<()> {
        let mut node = self.nodes[number].take().context("this node does not run")?;
        node.signal("TERM").await?;
        let code = node.code().await?;
        self.keep_odd_lines(&node);
        ensure!(code == Some(0), "node {number} has ended with {code:?}");
        Ok(())
    }

    /// Runs a command of the binary beside the nodes.
    pub async fn command(&self, arguments: &[&str]) -> Result<()> {
        self.command_lines[0].done(arguments).await.map(drop)
    }

    /// `kill -9`.
    pub async fn kill_node(&mut self, number: usize) -> Result<()> {
        let node = self.nodes[number].take().context("this node does not run")?;
        self.keep_odd_lines(&node);
        node.crash().await
    }

    /// Fails if a proxy had no connection: then its faults had no effect.
    pub fn lines_are_used(&self) -> Result<()> {
        let of_replica = self.replica.iter().flat_map(Replica::lines);
        for line in self.redis_lines.iter().chain(self.sql.as_ref().map(|(_, line)| line)).chain(of_replica) {
            ensure!(line.connections() > 0, "the nodes have found a way around a bad line");
        }
        self.cassandras.as_ref().map_or(Ok(()), Cassandras::lines_are_used)
    }

    /// The last log lines of a node, for a failure's message.
    pub fn last_words(&self, number: usize) -> String {
        let log = self.nodes[number].as_ref().map(Node::log).unwrap_or_default();
        log[log.len().saturating_sub(8)..].join("\n")
    }

    /// Collects lines that are no log records.
    pub fn read_logs(&mut self) {
        for number in 0..self.nodes.len() {
            if let Some(node) = self.nodes[number].take() {
                self.keep_odd_lines(&node);
                self.nodes[number] = Some(node);
            }
        }
    }

    fn keep_odd_lines(&mut self, node: &Node) {
        let odd = node.log().into_iter().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err());
        self.odd_lines.extend(odd);
    }
}

impl Redis {
    fn servers(&self) -> &[Server] {
        match self {
            Self::None => &[],
            Self::One(server) => slice::from_ref(server),
            Self::Cluster(cluster) => cluster.nodes(),
        }
    }
}

async fn sql_server(
    primary_store: PrimaryStore,
    within: PathBuf,
) -> Result<(Option<(Server, Proxy)>, Option<Replica>)> {
    let (kind, is_replicated) = match primary_store {
        PrimaryStore::Sqlite => return Ok((None, None)),
        PrimaryStore::MariaDb => (Kind::MariaDb, false),
        PrimaryStore::Mysql => (Kind::Mysql, false),
        PrimaryStore::MariaDbReplicated => (Kind::MariaDb, true),
        PrimaryStore::MysqlReplicated => (Kind::Mysql, true),
    };
    let (server, replica) = if is_replicated {
        let (server, replica) = Box::pin(replicated(kind, within)).await?;
        (server, Some(replica))
    } else {
        (Server::start_from(kind, &Recipe { within, ..kind.recipe() }).await?, None)
    };
    let line = Proxy::before(server.port()).await?;
    Ok((Some((server, line)), replica))
}

async fn redis(setup: RedisSetup) -> Result<Redis> {
    Ok(match setup {
        RedisSetup::Nothing => Redis::None,
        RedisSetup::Redis | RedisSetup::RedisInboxes | RedisSetup::CassandraInboxes => {
            Redis::One(Server::start(Kind::Redis).await?)
        }
        RedisSetup::Cluster | RedisSetup::ClusterInboxes => Redis::Cluster(RedisCluster::start().await?),
    })
}

async fn redis_lines(redis: &Redis, nodes: usize) -> Result<Vec<Proxy>> {
    let mut lines = Vec::new();
    match redis {
        Redis::None => {}
        Redis::One(server) => {
            for _ in 0..nodes {
                lines.push(Proxy::before(server.port()).await?);
            }
        }
        Redis::Cluster(cluster) => {
            for server in cluster.nodes() {
                lines.push(Proxy::before(server.port()).await?);
            }
            announce(cluster.nodes(), &lines).await?;
        }
    }
    Ok(lines)
}

fn command_line(
    database: &str,
    setup: RedisSetup,
    redis_lines: &[Proxy],
    cassandras: Option<&Cassandras>,
) -> Result<CommandLine> {
    let mut it = CommandLine::on(database)?;
    for (key, value) in SETTINGS {
        it = it.with(&format!("TIDEFEED__{key}"), value);
    }
    let listed = |quoted: Vec<String>| format!("[{}]", quoted.join(", "));
    let urls = redis_lines.iter().map(|line| format!("\"redis://127.0.0.1:{}/\"", line.port())).collect();
    it = it.with("TIDEFEED__REDIS__URLS", &listed(urls));
    if let Some(cassandras) = cassandras {
        let points = cassandras.cluster().contact_points();
        let points = points.iter().map(|point| format!("\"{point}\"")).collect();
        it = it.with("TIDEFEED__CASSANDRA__CONTACT_POINTS", &listed(points));
        it = it.with("TIDEFEED__CASSANDRA__KEYSPACE", KEYSPACE);
    }
    let it = it.with("TIDEFEED__INBOX__STORE", setup.inbox_store());
    Ok(it.with("TIDEFEED__REDIS__CLUSTER", if setup.is_cluster() { "true" } else { "false" }))
}

fn port(number: u16) -> String {
    format!(":{number}/")
}
