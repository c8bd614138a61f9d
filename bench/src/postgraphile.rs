//! Runs the peer: PostGraphile 5 on a private PostgreSQL with the same graph (`bench/postgraphile/`).

use std::{
    fs,
    io::Write as _,
    net::SocketAddr,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, request},
    database::Database,
    processes,
    servers::{Server, free_port},
};

/// Folder of the PostGraphile package, relative to the repository, where `cargo run` and the scripts start.
const PACKAGE: &str = "bench/postgraphile";
const REMEDY: &str = "run scripts/bench.sh, which installs PostgreSQL and the npm package";
const PATIENCE: Duration = Duration::from_mins(10);
const SEPARATOR: char = '\u{1f}';
/// The page that [`crate::people::PAGE`] asks of Tidefeed, as PostGraphile spells it. The reader is an argument: there
/// is no sign-in, which favours PostGraphile.
const PAGE: &str = "query Page($reader: BigInt!, $first: Int!) { timeline(reader: $reader, first: $first) { \
    edges { cursor node { id kind text publishTime media replies likes reposts \
    userByAuthorId { id handle name avatarUrl } } } pageInfo { hasNextPage endCursor } } }";
/// The copied tables, with their columns in `schema.sql`.
const TABLES: [(&str, &str); 3] = [
    ("users", "id, handle, name, COALESCE(avatar_url, '') FROM users"),
    (
        "contents",
        "c.id, c.author_id, c.kind, c.text, c.media, c.publish_time, k.replies, k.likes, k.reposts \
         FROM contents c JOIN counters k ON k.content_id = c.id WHERE c.removed_at IS NULL",
    ),
    ("follows", "follower_id, author_id FROM follows"),
];

/// Both servers. They end when this value is dropped.
pub struct Peer {
    pub address: SocketAddr,
    postgraphile: Server,
    postgres: Server,
    folder: Folder,
}

/// The servers' folder. It is removed when this value is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Whatever cannot be removed stays in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A page of this reader.
pub fn page(reader: i64, first: usize) -> Vec<u8> {
    request(None, PAGE, &json!({ "reader": reader.to_string(), "first": first }))
}

/// The texts of a page, in order.
pub fn texts(answer: &Value) -> Vec<&str> {
    let edges = answer["timeline"]["edges"].as_array();
    edges.into_iter().flatten().filter_map(|edge| edge["node"]["text"].as_str()).collect()
}

impl Peer {
    /// Copies the world into a new PostgreSQL, and serves it.
    pub async fn open(world: &mut Database) -> Result<Self> {
        let kept = Folder(std::env::temp_dir().join(format!("tidefeed-bench-{}", std::process::id())));
        let folder = kept.0.as_path();
        fs::create_dir_all(folder)?;
        for (table, columns) in TABLES {
            copy(world, table, columns, folder).await?;
        }
        let postgres = postgres(folder).await?;
        fill(folder, postgres.port)?;
        let port = free_port()?;
        let mut command = Command::new("node_modules/.bin/node");
        command.current_dir(PACKAGE).arg("node_modules/postgraphile/dist/cli-run.js");
        command.env("NODE_ENV", "production").env("GRAPHILE_ENV", "production").env("PORT", port.to_string());
        command.env("DATABASE_URL", format!("postgres://postgres@127.0.0.1:{}/bench", postgres.port));
        let postgraphile = Server::start(&mut command, port, &folder.join("postgraphile.log")).context(REMEDY)?;
        let mut peer = Self { address: SocketAddr::from(([127, 0, 0, 1], port)), postgraphile, postgres, folder: kept };
        peer.wait().await?;
        Ok(peer)
    }

    /// Its processes now: PostGraphile, PostgreSQL and its connections.
    pub fn pids(&self) -> Result<Vec<u32>> {
        let mut pids = vec![self.postgraphile.pid, self.postgres.pid];
        pids.extend(processes::children(self.postgres.pid)?);
        Ok(pids)
    }

    /// Ends both.
    pub async fn close(self) -> Result<()> {
        self.postgraphile.stop().await?;
        self.postgres.stop().await
    }

    async fn wait(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Ok(mut client) = Client::to(self.address).await
                && client.data(None, "{ __typename }", json!({})).await.is_ok()
            {
                return Ok(());
            }
            self.postgraphile
                .check()
                .with_context(|| format!("PostGraphile: {}; {REMEDY}", self.folder.0.display()))?;
            ensure!(Instant::now() < deadline, "PostGraphile does not answer.");
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Writes a table as PostgreSQL's COPY reads it.
async fn copy(world: &mut Database, table: &str, columns: &str, folder: &Path) -> Result<()> {
    let (columns, from) = columns.split_once(" FROM ").context("The selection has to read `columns FROM tables`.")?;
    let rows = world.texts(&format!("SELECT CONCAT_WS('{SEPARATOR}', {columns}) FROM {from}")).await?;
    let mut file = std::io::BufWriter::new(fs::File::create(folder.join(format!("{table}.tsv")))?);
    for row in rows {
        let values: Vec<String> = row.split(SEPARATOR).map(escaped).collect();
        writeln!(file, "{}", values.join("\t"))?;
    }
    Ok(file.flush()?)
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// PostgreSQL refuses to run as root: then the package's own user runs it.
fn as_somebody(program: &str, folder: &Path) -> Result<Command> {
    let mut command = Command::new(binaries()?.join(program));
    if number_of(&["-u"])? == 0 {
        let (user, group) = (number_of(&["-u", "postgres"])?, number_of(&["-g", "postgres"])?);
        chown(folder, Some(user), Some(group))?;
        command.uid(user).gid(group);
    }
    command.current_dir(folder);
    Ok(command)
}

fn number_of(arguments: &[&str]) -> Result<u32> {
    let told = Command::new("id").args(arguments).output()?;
    String::from_utf8(told.stdout)?.trim().parse().with_context(|| format!("id {arguments:?}; {REMEDY}"))
}

/// Debian installs these programs outside PATH; this finds those of the newest version.
fn binaries() -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").context(REMEDY)?;
    let folders = versions.filter_map(|it| Some(it.ok()?.path().join("bin"))).filter(|it| it.join("initdb").is_file());
    folders.max().context(REMEDY)
}

async fn postgres(folder: &Path) -> Result<Server> {
    let tables = folder.join("tables");
    let mut command = as_somebody("initdb", folder)?;
    command.arg("-D").arg(&tables).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]);
    let done = command.output().context(REMEDY)?;
    ensure!(done.status.success(), "initdb: {}", String::from_utf8_lossy(&done.stderr));
    let port = free_port()?;
    let mut command = as_somebody("postgres", folder)?;
    command.arg("-D").arg(&tables).args(["-p", &port.to_string(), "-k", "", "-h", "127.0.0.1"]);
    command.args([
        "-c",
        "shared_buffers=1GB",
        "-c",
        "jit=off",
        "-c",
        "max_wal_size=8GB",
        "-c",
        "synchronous_commit=off",
    ]);
    let mut server = Server::start(&mut command, port, &folder.join("postgres.log"))?;
    let deadline = Instant::now() + PATIENCE;
    while !psql(folder, port, &["-c", "CREATE DATABASE bench"], "postgres")?.status.success() {
        server.check().with_context(|| format!("PostgreSQL: {}", folder.join("postgres.log").display()))?;
        ensure!(Instant::now() < deadline, "PostgreSQL does not answer.");
        sleep(Duration::from_millis(200)).await;
    }
    Ok(server)
}

fn psql(folder: &Path, port: u16, arguments: &[&str], database: &str) -> Result<std::process::Output> {
    let mut command = Command::new(binaries()?.join("psql"));
    command.current_dir(folder).args([
        "-q",
        "-h",
        "127.0.0.1",
        "-U",
        "postgres",
        "-v",
        "ON_ERROR_STOP=1",
        "-d",
        database,
    ]);
    Ok(command.args(["-p", &port.to_string()]).args(arguments).output()?)
}

fn fill(folder: &Path, port: u16) -> Result<()> {
    let schema = Path::new(PACKAGE).join("schema.sql").canonicalize().context(REMEDY)?;
    let done = psql(folder, port, &["-f", &schema.display().to_string()], "bench")?;
    ensure!(done.status.success(), "{}: {}", schema.display(), String::from_utf8_lossy(&done.stderr));
    Ok(())
}
