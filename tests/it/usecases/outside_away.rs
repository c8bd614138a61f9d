//! A store of inboxes that nobody reaches: pages do not wait for it, and the log says why.

use std::{
    io,
    net::TcpListener,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, bail, ensure};
use tidefeed::{
    domain::{
        Direction, PageRequest, PageSize, UserId,
        timeline::outside::{Bucket, Window},
    },
    store::{StoreError, accounts::NewAccount, cassandra::CassandraOptions, redis::RedisOptions},
};

use crate::{
    binary::process::until,
    harness::{CacheBackend, Inboxes, TestApp, settings},
    servers::{Backend, Kind, Server},
    store::conformance::account,
};

const SILENT: &str = "The store of inboxes outside SQL does not answer.";
const BACK: &str = "The store of inboxes outside SQL answers again.";

/// What the calling thread logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn begin() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        (log, tracing::subscriber::set_default(lines))
    }

    fn lines(&self, words: &str) -> Vec<String> {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }
}

fn cassandra_at(address: String) -> Inboxes {
    Inboxes::Cassandra(CassandraOptions {
        contact_points: vec![address],
        keyspace: "nowhere".to_owned(),
        replication: 1,
        datacenter: String::new(),
        user: String::new(),
        password: String::new(),
        certificates: None,
        timeout: Duration::from_secs(2),
    })
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_silent_store_is_logged_once_and_so_is_its_return() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let inboxes = Inboxes::Redis(RedisOptions { urls: vec![server.url()], ..RedisOptions::default() });
        let app = TestApp::start_outside(Backend::Sqlite, CacheBackend::NoCache, inboxes, settings()).await?;
        let (log, _logging) = Log::begin();
        let keeper = app.ports.tier.clone();
        server.kill().await?;
        for _ in 0..2 {
            keeper.run_once().await?;
        }
        ensure!(log.lines(SILENT).is_empty(), "it may be a restart");
        for _ in 0..3 {
            keeper.run_once().await?;
        }
        let logged = log.lines(SILENT);
        ensure!(
            logged.len() == 1 && logged[0].contains("WARN") && logged[0].contains("Redis cannot be reached"),
            "{logged:?}"
        );
        server.restart().await?;
        until("its return is logged", async || {
            keeper.run_once().await?;
            Ok(!log.lines(BACK).is_empty())
        })
        .await?;
        keeper.run_once().await?;
        ensure!(log.lines(BACK).len() == 1 && log.lines(SILENT).len() == 1);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_address_of_cassandra_is_logged_once_with_its_causes() -> Result<()> {
    let (log, _logging) = Log::begin();
    let inboxes = cassandra_at("127.0.0.1:9".to_owned());
    let app = TestApp::start_unadmitted(Backend::Sqlite, CacheBackend::NoCache, inboxes, settings()).await?;
    for _ in 0..5 {
        app.ports.tier.run_once().await?;
    }
    let logged = log.lines(SILENT);
    ensure!(logged.len() == 1, "{logged:?}");
    let causes = ["WARN", "buckets=128", "Cassandra cannot be reached", "127.0.0.1:9", "refused"];
    ensure!(causes.iter().all(|cause| logged[0].contains(cause)), "{logged:?}");
    Ok(())
}

/// It takes connections and says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_never_connect_to_a_silent_cassandra() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let inboxes = cassandra_at(listener.local_addr()?.to_string());
    let app = TestApp::start_unadmitted(Backend::Sqlite, CacheBackend::NoCache, inboxes, settings()).await?;
    let reader = UserId::try_new(1)?;
    app.ports.accounts.register(NewAccount { now_ms: app.now_ms(), ..account(1, "user1") }).await?;
    let request = PageRequest::newest(PageSize::try_new(10)?);
    for _ in 0..3 {
        app.reader.page(reader, &request).await?;
    }
    app.reactivator.visit(reader, None).await?;
    let attempt = listener.accept();
    ensure!(attempt.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "a page or a visit has connected");

    let inboxes = app.outside()?.clone().inboxes;
    let mut connecting = std::pin::pin!(inboxes.connect());
    let mut line = None;
    let attempted = until("somebody connects", async || {
        line = listener.accept().ok();
        Ok(line.is_some())
    });
    tokio::select! {
        attempted = attempted => attempted?,
        ended = &mut connecting => bail!("nobody can have answered: {ended:?}"),
    }
    let window = Window { direction: Direction::Older, bound: None, limit: 10 };
    let asked = async {
        let slice = inboxes.slice(reader, &window).await;
        (slice, inboxes.identify(Bucket::of(reader)).await)
    };
    tokio::select! {
        biased;
        (slice, node) = asked => {
            ensure!(matches!(slice, Err(StoreError::Unavailable(_))), "{slice:?}");
            ensure!(matches!(node, Err(StoreError::Unavailable(_))), "{node:?}");
        }
        ended = &mut connecting => bail!("a page has waited until connecting ended: {ended:?}"),
    }
    Ok(())
}
