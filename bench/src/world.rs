//! Seeds worlds once, keeps them, and copies one for each run, because a run changes its world.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use sqlx::AssertSqlSafe;

use crate::{
    database::{self, Database, NAME},
    figure::line,
    node::{self, Settings, set},
    options::Options,
    servers::{self, Server},
};

/// Maximum age of a kept world. In older ones readers no longer count as active.
const FRESH: Duration = Duration::from_hours(24);
/// Contents of each user, on average; in a small world enough for deep pages.
const CONTENTS: (usize, usize) = (5, 20);
/// Statement timeout (ms) while a world is seeded.
const PATIENCE_MS: u32 = 200_000;
/// Who may only read, on replicas.
const READER: &str = "bench_reader";
/// Settings of a MariaDB that has replicas, as docs/operations.md wants them.
const LOGGING: [&str; 4] = ["--server-id=1", "--log-bin=log", "--binlog-format=ROW", "--sync-binlog=1"];
/// Settings of one that follows it.
const FOLLOWING: [&str; 5] = [
    "--log-bin=log",
    "--binlog-format=ROW",
    "--read-only=ON",
    "--slave-parallel-threads=4",
    "--slave-parallel-mode=optimistic",
];
/// Signs the tokens of all nodes.
const SECRET: &str = "a secret of the benchmarks alone, which guards nothing";

/// The engine in which a node keeps its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    MariaDb,
}

impl Engine {
    /// The name in rows and folders.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::MariaDb => "mariadb",
        }
    }
}

/// The store behind a node, and the servers that it needs.
pub struct Store {
    pub engine: Engine,
    folder: PathBuf,
    buffer_mib: usize,
    mariadb: Option<Server>,
    replicas: Vec<Server>,
    redis: Option<Server>,
}

impl Store {
    /// Starts what the engine needs on the files of `folder`.
    pub async fn open(engine: Engine, folder: &Path, options: &Options) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let buffer_mib = options.size(1024, 128);
        let (mariadb, redis) = match engine {
            Engine::Sqlite => (None, None),
            Engine::MariaDb => {
                (Some(servers::mariadb(&folder, buffer_mib, &[]).await?), Some(servers::redis(&folder).await?))
            }
        };
        Ok(Self { engine, folder, buffer_mib, mariadb, replicas: Vec::new(), redis })
    }

    /// Restarts MariaDB with as many replicas, which are copies of it and follow it from now on; 0: without.
    pub async fn replicate(&mut self, count: u32) -> Result<()> {
        for server in self.replicas.drain(..).chain(self.mariadb.take()) {
            server.stop().await?;
        }
        let mut copies = Vec::new();
        for number in 1..=count {
            let copy = self.folder.join(format!("replica-{number}"));
            fs::create_dir_all(&copy)?;
            copy_folder(&self.folder.join("tables"), &copy)?;
            copies.push(copy);
        }
        let logging = if count == 0 { &[][..] } else { &LOGGING };
        let logging: Vec<String> = logging.iter().map(ToString::to_string).collect();
        let primary = servers::mariadb(&self.folder, self.buffer_mib, &logging).await?;
        if count > 0 {
            let mut connection = database::connect(primary.port, None).await?;
            for sql in [
                format!("CREATE USER IF NOT EXISTS {READER}@'127.0.0.1'"),
                format!("GRANT SELECT, REPLICA MONITOR ON *.* TO {READER}@'127.0.0.1'"),
            ] {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
            }
        }
        for (copy, number) in copies.iter().zip(2..) {
            let of_replica = FOLLOWING.iter().map(ToString::to_string).chain([format!("--server-id={number}")]);
            let replica = servers::mariadb(copy, self.buffer_mib, &of_replica.collect::<Vec<_>>()).await?;
            let follow = format!(
                "CHANGE MASTER TO master_host = '127.0.0.1', master_port = {}, master_user = 'root', \
                 master_use_gtid = slave_pos; START SLAVE",
                primary.port
            );
            let mut connection = database::connect(replica.port, None).await?;
            sqlx::raw_sql(AssertSqlSafe(follow)).execute(&mut connection).await?;
            self.replicas.push(replica);
        }
        self.mariadb = Some(primary);
        Ok(())
    }

    /// The setting that lets a node read on the first replicas.
    pub fn reading_on(&self, replicas: usize) -> Settings {
        let urls = self.replicas.iter().take(replicas);
        let urls = urls.map(|server| format!("mysql://{READER}@127.0.0.1:{}/{NAME}", server.port));
        let urls = urls.collect::<Vec<_>>().join(",");
        if urls.is_empty() { Vec::new() } else { vec![set("store.replicas", &urls)] }
    }

    /// The processes of the replicas.
    pub fn replica_pids(&self) -> Vec<u32> {
        self.replicas.iter().map(|server| server.pid).collect()
    }

    /// Configuration of a node on this store. It turns off rate limits and limits per address, because every client is
    /// on this machine.
    pub fn settings(&self) -> Settings {
        let url = match &self.mariadb {
            Some(server) => format!("mysql://root@127.0.0.1:{}/{NAME}", server.port),
            None => format!("sqlite://{}", self.sqlite_file().display()),
        };
        let redis = self.redis.as_ref().map(|server| set("redis.url", &format!("redis://127.0.0.1:{}/", server.port)));
        let fixed = [
            set("store.url", &url),
            set("auth.secret", &SECRET),
            set("auth.registrations_per_hour", &0),
            set("rate_limit.enabled", &false),
            set("server.max_connections_per_address", &0),
            set("server.max_incoming_bytes_per_address", &0),
            set("server.max_unsent_bytes_per_client", &0),
            set("websocket.max_sockets", &200_000),
            set("websocket.max_sockets_per_client", &0),
            set("log.filter", &"warn"),
        ];
        fixed.into_iter().chain(redis).collect()
    }

    /// A connection of the bench's own.
    pub async fn database(&self) -> Result<Database> {
        match &self.mariadb {
            Some(server) => Database::mariadb(server.port).await,
            None => Database::sqlite(&self.sqlite_file()),
        }
    }

    /// The port of MariaDB, if there is one.
    pub fn mariadb_port(&self) -> Option<u16> {
        self.mariadb.as_ref().map(|server| server.port)
    }

    /// The port of Redis, if there is one.
    pub fn redis_port(&self) -> Option<u16> {
        self.redis.as_ref().map(|server| server.port)
    }

    /// Restarts Redis, which has nothing then.
    pub async fn empty_redis(&mut self) -> Result<()> {
        let redis = self.redis.take().context("there is no Redis")?;
        let port = redis.port;
        redis.stop().await?;
        self.redis = Some(servers::redis_at(&self.folder, port).await?);
        Ok(())
    }

    /// The processes of the servers: MariaDB, Redis.
    pub fn pids(&self) -> Vec<u32> {
        self.mariadb.iter().chain(&self.redis).map(|server| server.pid).collect()
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends the servers, so that the files can be copied.
    pub async fn close(self) -> Result<()> {
        for server in self.replicas.into_iter().chain(self.mariadb).chain(self.redis) {
            server.stop().await?;
        }
        Ok(())
    }

    fn sqlite_file(&self) -> PathBuf {
        self.folder.join("tidefeed.db")
    }
}

/// Copies a folder into one that is there, or else to that path.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").args(["-r", "--reflink=auto"]).arg(from).arg(to).status()?;
    ensure!(copied.success(), "{} cannot be copied.", from.display());
    Ok(())
}

/// Where the seeded world of an engine is kept.
pub struct Kept<'a> {
    engine: Engine,
    options: &'a Options,
    folder: PathBuf,
}

impl<'a> Kept<'a> {
    /// The world of as many users as the options ask for.
    pub fn of(engine: Engine, options: &'a Options) -> Self {
        let folder = options.folder.join(format!("world-{}-{}", engine.name(), options.users()));
        Self { engine, options, folder }
    }

    /// Whether there is a complete one that is young enough.
    pub fn is_fresh(&self) -> bool {
        let marked = fs::metadata(self.mark()).and_then(|file| file.modified());
        let age = marked.ok().and_then(|it| it.elapsed().ok());
        !self.options.fresh && age.is_some_and(|age| age <= FRESH)
    }

    /// Marks it as complete.
    pub fn complete(&self) -> Result<()> {
        Ok(fs::write(self.mark(), "")?)
    }

    fn mark(&self) -> PathBuf {
        self.folder.join("complete")
    }

    /// A copy of it, for one run.
    pub async fn copy(&self, into: &Path) -> Result<Store> {
        copy_folder(&self.folder, into)?;
        Store::open(self.engine, into, self.options).await
    }

    /// Seeds it anew.
    pub async fn seed(&self) -> Result<Store> {
        let Self { engine, options, folder } = self;
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let users = options.users();
        line(&format!("<!-- seeding {users} users on {} -->", engine.name()))?;
        let store = Store::open(*engine, folder, options).await?;
        if let Some(port) = store.mariadb_port() {
            let mut connection = database::connect(port, None).await?;
            let create = format!("CREATE DATABASE {NAME} CHARACTER SET utf8mb4");
            sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut connection).await?;
        }
        // A busy machine must not abort the seeding, so statements get a long timeout.
        let patient = [
            set("store.statement_timeout_ms", &PATIENCE_MS),
            set("delivery.lease_ms", &(PATIENCE_MS + 1)),
            set("redis.redelivery_ms", &(PATIENCE_MS + 2)),
        ];
        let settings = store.settings().into_iter().chain(patient).collect();
        let log = folder.join("seed.log");
        node::run(&options.tidefeed, &["migrate"], &settings, &log)?;
        let (users, contents) = (users.to_string(), options.size(CONTENTS.0, CONTENTS.1).to_string());
        let of = ["seed", "--users", &users, "--contents-per-user", &contents];
        node::run(&options.tidefeed, &of, &settings, &log)?;
        let mut database = store.database().await?;
        arrive(&mut database).await?;
        database.close().await?;
        Ok(store)
    }
}

/// Marks all readers as just seen, so that deliveries include them. Their inboxes claim what is published from now on,
/// which is nothing yet. (The seeder marks readers as never seen, and deliveries skip those.)
async fn arrive(database: &mut Database) -> Result<()> {
    let now_ms = now_ms()?;
    let later = database.number(&format!("SELECT COUNT(*) FROM contents WHERE publish_time >= {now_ms}")).await?;
    ensure!(later == 0, "{later} contents lie in the future.");
    let claim = format!(
        "UPDATE inbox_states SET floor_time = {now_ms}, floor_content = 1, rev = rev + 1, last_seen = {now_ms}"
    );
    database.execute(&claim).await?;
    Ok(())
}

/// Milliseconds UTC.
pub fn now_ms() -> Result<i64> {
    #[expect(clippy::disallowed_methods, reason = "worlds end now")]
    let now = SystemTime::now();
    Ok(i64::try_from(now.duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?)
}
