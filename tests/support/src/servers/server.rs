//! Starts, kills and restarts one private server on the same port. It is ready when it answers and proves to be the
//! server that we started.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::time::Instant;

use super::recipe::{Kind, Recipe};
use super::watchdog::{Watchdog, is_running};
use super::{balancer, redis, sql, tags};

/// Attempts to start, each on another port: another process may take a port between our check and the server's start.
const ATTEMPTS: usize = 3;

/// A running server. It ends when this value is dropped, or with this process in any way; one that somebody else has
/// started goes on.
pub struct Server {
    kind: Kind,
    /// The account that may do everything, with its password, and the host.
    reached_as: (String, String),
    port: u16,
    pid: AtomicU32,
    watchdog: Option<Watchdog>,
    /// Addresses of the servers behind a balancer, whose port `port` is then.
    behind: Vec<String>,
}

impl Server {
    /// Starts a server of this kind on a free port. The error of a missing program says what to install.
    pub async fn start(kind: Kind) -> Result<Self> {
        Self::start_from(kind, &kind.recipe()).await
    }

    /// Like [`Server::start`], with the caller's recipe.
    pub async fn start_from(kind: Kind, recipe: &Recipe) -> Result<Self> {
        let mut last = Ok(());
        for _ in 0..ATTEMPTS {
            let server = Self::prepare(kind, recipe).await?;
            match server.restart().await {
                Ok(()) => return Ok(server),
                Err(error) => last = Err(error),
            }
        }
        last?;
        bail!("{kind:?} was not tried.")
    }

    /// Servers of one cluster that somebody else has started, at addresses that name no database and the same account,
    /// with commas between them. Connections lead to them in turn. They cannot be killed.
    pub fn started_elsewhere(kind: Kind, urls: &str) -> Result<Self> {
        let named = "Addresses are to look like mysql://account:password@host:port";
        let mut servers = Vec::new();
        for url in urls.split(',') {
            let rest = url.trim().trim_end_matches('/').strip_prefix("mysql://").context(named)?;
            servers.push(rest.rsplit_once('@').context(named)?);
        }
        let &(account, place) = servers.first().context(named)?;
        ensure!(servers.iter().all(|(other, _)| *other == account), "The addresses name more than one account.");
        let (balanced, behind) = if servers.len() == 1 {
            (place.to_owned(), Vec::new())
        } else {
            let port = balancer::start(servers.iter().map(|(_, place)| (*place).to_owned()).collect())?;
            (format!("127.0.0.1:{port}"), servers.iter().map(|(account, place)| kind.url(account, place)).collect())
        };
        let (host, port) = balanced.rsplit_once(':').context(named)?;
        let (reached_as, port) = ((account.to_owned(), host.to_owned()), port.parse().context(named)?);
        Ok(Self { kind, reached_as, port, pid: AtomicU32::new(0), watchdog: None, behind })
    }

    async fn prepare(kind: Kind, recipe: &Recipe) -> Result<Self> {
        let port = free_port()?;
        let watchdog = Watchdog::new(recipe, port)?;
        let found = watchdog.order("find").await?;
        ensure!(
            found == "found",
            "{kind:?} is not on this machine (`{}` is missing): {}",
            recipe.program,
            recipe.remedy
        );
        tags::require(kind.tag())?;
        let prepared = watchdog.order("prepare").await?;
        ensure!(prepared == "prepared", "{kind:?} could not be prepared:\n{}", watchdog.last_words());
        let reached_as = ("root".to_owned(), "127.0.0.1".to_owned());
        Ok(Self { kind, reached_as, port, pid: AtomicU32::new(0), watchdog: Some(watchdog), behind: Vec::new() })
    }

    /// The address that Tidefeed's configuration takes: `mysql://...` (no database named) or `redis://...`.
    pub fn url(&self) -> String {
        let (account, host) = &self.reached_as;
        self.kind.url(account, &format!("{host}:{}", self.port))
    }

    /// The address of a database for an account without a password.
    pub(super) fn url_for(&self, account: &str, database: &str) -> String {
        format!("mysql://{account}@{}:{}/{database}", self.reached_as.1, self.port)
    }

    /// Begins the names of databases and accounts that tests make here: nobody else has such on a server of our own.
    pub(super) fn prefix(&self) -> String {
        if self.watchdog.is_some() { String::new() } else { format!("tidefeed_test_{}_", std::process::id()) }
    }

    /// The addresses of the servers behind a balancer.
    pub(super) fn behind(&self) -> &[String] {
        &self.behind
    }

    /// The port on 127.0.0.1. It stays the same over [`Server::restart`].
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the last start.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// The server's own folder, removed when the server ends.
    pub fn folder(&self) -> &Path {
        self.watchdog.as_ref().map_or(Path::new(""), Watchdog::folder)
    }

    /// Ends the server at once, as `kill -9` does: no connection is closed in order, no buffer is written.
    pub async fn kill(&self) -> Result<()> {
        self.own()?.order("kill").await.map(drop)
    }

    /// Starts the server on its port with the data in its folder, and waits until it answers. Kills a running one
    /// first.
    pub async fn restart(&self) -> Result<()> {
        self.kill().await?;
        let pid = self.own()?.order("start").await?;
        self.pid.store(
            pid.parse().with_context(|| format!("The watchdog returned no process id: {pid:?}"))?,
            Ordering::Relaxed,
        );
        self.wait_until_ready().await.with_context(|| format!("{:?} did not start:\n{}", self.kind, self.last_words()))
    }

    fn own(&self) -> Result<&Watchdog> {
        self.watchdog.as_ref().context("Somebody else has started this server.")
    }

    fn last_words(&self) -> String {
        self.watchdog.as_ref().map(Watchdog::last_words).unwrap_or_default()
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let deadline = Instant::now() + self.kind.recipe().ready_within;
        loop {
            let answer = self.identify().await;
            match answer {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(error) if !is_running(self.pid()) => return Err(error.context("Its process has ended.")),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Fails unless the server that answers on the port is the one that we started: another process may have taken the
    /// port first.
    async fn identify(&self) -> Result<()> {
        match self.kind {
            Kind::MariaDb | Kind::Mysql => {
                let folder = sql::data_folder(&self.url()).await?;
                ensure!(folder.starts_with(self.folder()), "Another server answers on port {}", self.port);
            }
            Kind::Redis | Kind::RedisNode => {
                let pid = redis::process_id(&self.url()).await?;
                ensure!(pid == self.pid(), "Another server answers on port {}", self.port);
            }
        }
        Ok(())
    }
}

/// A port that is free, together with the one 10000 above it, which Redis Cluster uses. Both lie below the ports of
/// outgoing connections, so that a killed server finds its port free when it comes back.
fn free_port() -> Result<u16> {
    const FIRST: u16 = 10_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % u32::from(COUNT))?;
    for _ in 0..COUNT {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (start + offset) % COUNT;
        if is_free(port) && is_free(port + 10_000) {
            return Ok(port);
        }
    }
    bail!("No port between {FIRST} and {} is free.", FIRST + COUNT)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
