//! Starts a private MariaDB and Redis on loopback ports. Each ends when its value is dropped.

use std::{
    fs::File,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, sleep};

use crate::database;

/// Longer than a server takes to start on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);
const REMEDY: &str = "run scripts/install-servers.sh";

/// A free port of loopback.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A process that the bench started, with its port. It is killed when this value is dropped.
pub struct Server {
    process: Child,
    pub port: u16,
    pub pid: u32,
}

impl Server {
    /// Starts `program` with its output in `log`.
    pub fn start(program: &mut Command, port: u16, log: &Path) -> Result<Self> {
        let file = File::create(log)?;
        program.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let process =
            program.spawn().with_context(|| format!("{} does not start.", program.get_program().display()))?;
        Ok(Self { pid: process.id(), process, port })
    }

    /// Fails if it has ended.
    pub fn check(&mut self) -> Result<()> {
        ensure!(self.process.try_wait()?.is_none(), "The process has ended.");
        Ok(())
    }

    /// Asks the process to end and waits until it has.
    pub async fn stop(mut self) -> Result<()> {
        Command::new("kill").arg(self.pid.to_string()).status()?;
        let deadline = Instant::now() + PATIENCE;
        while self.process.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "The process does not end.");
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has already ended needs neither.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The settings of the tests' own MariaDB, with room for a world, and `more` of them.
pub async fn mariadb(folder: &Path, buffer_mib: usize, more: &[String]) -> Result<Server> {
    let folder = folder.canonicalize()?;
    let (of_tables, own) = (folder.join("tables"), whoami()?);
    let shared = [
        "--no-defaults".to_owned(),
        format!("--user={own}"),
        format!("--datadir={}", of_tables.display()),
        format!("--tmpdir={}", folder.display()),
        "--innodb-log-file-size=128M".to_owned(),
    ];
    if !of_tables.join("mysql").is_dir() {
        let install = ["--force", "--skip-test-db", "--auth-root-authentication-method=normal"];
        let log = File::create(folder.join("install.log"))?;
        let mut command = Command::new("mariadb-install-db");
        command.args(&shared).args(install).env("PATH", path()).stdout(log.try_clone()?).stderr(log);
        let done = command.status().context(REMEDY)?;
        ensure!(done.success(), "MariaDB could not be prepared: {}", folder.join("install.log").display());
    }
    let port = free_port()?;
    let mut command = Command::new("mariadbd");
    command.args(&shared).args(more).env("PATH", path()).args([
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        // The path of a socket is bounded; this one is relative to the tables.
        "--socket=m.sock".to_owned(),
        format!("--pid-file={}", folder.join("m.pid").display()),
        format!("--innodb-buffer-pool-size={buffer_mib}M"),
        "--innodb-flush-log-at-trx-commit=2".to_owned(),
        "--character-set-server=utf8mb4".to_owned(),
        "--max-connections=500".to_owned(),
    ]);
    let mut server = Server::start(&mut command, port, &folder.join("mariadb.log")).context(REMEDY)?;
    let deadline = Instant::now() + PATIENCE;
    while database::connect(port, None).await.is_err() {
        server.check().with_context(|| format!("MariaDB: {}", folder.join("mariadb.log").display()))?;
        ensure!(Instant::now() < deadline, "MariaDB does not answer.");
        sleep(Duration::from_millis(100)).await;
    }
    Ok(server)
}

/// A Redis without persistence.
pub async fn redis(folder: &Path) -> Result<Server> {
    redis_at(folder, free_port()?).await
}

/// The same on this port.
pub async fn redis_at(folder: &Path, port: u16) -> Result<Server> {
    let mut command = Command::new("redis-server");
    command.env("PATH", path()).args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--appendonly", "no", "--zset-max-listpack-entries", "512", "--dir"]).arg(folder);
    let mut server = Server::start(&mut command, port, &folder.join("redis.log")).context(REMEDY)?;
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        server.check().context("Redis")?;
        sleep(Duration::from_millis(20)).await;
    }
    Ok(server)
}

fn whoami() -> Result<String> {
    let output = Command::new("id").arg("-un").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Debian installs servers in folders that a user's PATH does not contain.
fn path() -> String {
    #[expect(clippy::disallowed_methods, reason = "no setting of the bench's: where programs are")]
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:/usr/sbin:/sbin")
}
