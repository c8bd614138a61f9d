//! Runs the real use cases over real stores, with a manual clock, a seeded rng, and workers that a test steps one by
//! one.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use tidefeed::{
    ambient::Ambient,
    app::{Ports, Settings, UseCases},
    clock::{Clock, ManualClock},
    domain::{
        ContentId, ContentKind, Page, PageRequest, UserId,
        delivery::{DeliveryPolicy, EdgeRule},
        timeline::{
            authors::{Outboxes, Sources},
            candidates::{Ask, Wanted},
            outside::NodeId,
            tier::InboxTiers,
        },
    },
    live::LiveSettings,
    publish::FirstServed,
    rng::SharedRng,
    store::{
        Announcements, InboxStore, OutboxCache, Queue,
        cassandra::{Cassandra, CassandraInboxes, CassandraOptions},
        memory::{MemoryAnnouncements, MemoryQueue},
        queue::Topic,
        redis::{Redis, RedisAnnouncements, RedisInboxes, RedisOptions, RedisOutboxCache, RedisQueue},
        sql::SqlStore,
    },
    tier::{OutsideStores, OutsideTier},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    memory_inboxes::MemoryInboxes,
    servers::{self, Backend},
};

/// Time after which an absent reader's inbox is in SQL again.
const ACTIVE_MS: i64 = 24 * LONG_MS;
/// Inboxes outside SQL that a node builds at once.
pub const BUILDS_AT_ONCE: usize = 4;
/// Start time of every test, in ms UTC.
pub const BEGINNING: i64 = 1_700_000_000_000;
/// Longer than any backoff and any lease.
const LONG_MS: i64 = 60 * 60 * 1000;

/// Seed of the random tests: `SEED`, or 1, so that every run is the same. `make soak` sets fresh seeds.
pub fn seed() -> Result<u64> {
    std::env::var("SEED").map_or(Ok(1), |text| text.parse().with_context(|| format!("SEED={text}")))
}

/// Whether `make test-fast` runs, which sets `FAST`: long random tests try fewer cases.
pub fn is_fast() -> bool {
    std::env::var_os("FAST").is_some()
}

/// Cases that a random test draws: `PROPTEST_CASES`, which is 32 in `make test-fast`, 64 in `make test` and 256 in
/// `make soak`.
pub fn random_cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

/// A share of [`random_cases`], at least two, for tests whose cases take long.
pub fn cases_by(divisor: u32) -> u32 {
    (random_cases() / divisor).max(2)
}

/// The backend of queue, outbox cache and announcements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheBackend {
    /// In process, without an outbox cache: every page is one statement.
    NoCache,
    /// A Redis with a prefix of the test's own.
    Redis,
    /// A Redis Cluster of three masters.
    Cluster,
}

/// The settings that tests start from.
pub fn settings() -> Settings {
    Settings {
        policy: DeliveryPolicy {
            rule: EdgeRule::Threshold { push_threshold: 5_000, active_days: 7 },
            dormant_days: 30,
        },
        subtask_size: 1_000,
        batch_size: 500,
        batches_at_once: 1,
        lease_ms: 30_000,
        failing_after: 5,
        first: FirstServed { most: 1_000, beyond_transactions: 1, within_ms: 20 * 60 * 1_000 },
        seen_every_ms: 10 * 60 * 1_000,
        service_log_ms: 90 * 24 * 60 * 60 * 1_000,
        tiers: InboxTiers { keep: 300, step: 300, deep_keep: 3_000, longest_ms: 60 * 60 * 1_000 },
        live: LiveSettings::default(),
    }
}

/// The use cases, their stores, and the means to step the workers.
pub struct TestApp {
    /// What it does.
    pub use_cases: Arc<UseCases>,
    /// The ports under the use cases.
    pub ports: Ports,
    outside: Option<OutsideStores>,
    /// The adapter behind the ports that SQL keeps.
    pub store: SqlStore,
    /// Moves only when a test moves it; starts at [`BEGINNING`].
    pub clock: Arc<ManualClock>,
    /// A seeded rng: the same draws in every run.
    pub rng: SharedRng,
    stop: CancellationToken,
    database: Arc<servers::MigratedDatabase>,
    setup: Setup,
}

/// What the nodes of one service share.
#[derive(Clone)]
struct Setup {
    redis: Option<RedisOptions>,
    settings: Settings,
    outside: Option<Inboxes>,
}

/// The store of inboxes outside SQL.
#[derive(Clone)]
pub enum Inboxes {
    /// In process.
    Memory,
    /// On a Redis, or a cluster.
    Redis(RedisOptions),
    /// In Cassandra.
    Cassandra(CassandraOptions),
    /// A store of the test's own.
    Own(Arc<dyn InboxStore>),
}

impl TestApp {
    /// Starts on a database without rows and new stores, with [`settings`].
    pub async fn start(backend: Backend, cache_backend: CacheBackend) -> Result<Arc<Self>> {
        Self::start_with(backend, cache_backend, settings()).await
    }

    /// Like [`Self::start`], with these settings.
    pub async fn start_with(backend: Backend, cache_backend: CacheBackend, settings: Settings) -> Result<Arc<Self>> {
        let setup = Setup { redis: redis(cache_backend).await?, settings, outside: None };
        Self::begin(backend, setup).await
    }

    /// Starts on a Redis of the test's own, or a cluster.
    pub async fn start_on(backend: Backend, redis: RedisOptions) -> Result<Arc<Self>> {
        let setup = Setup { redis: Some(redis), settings: settings(), outside: None };
        Self::begin(backend, setup).await
    }

    /// As [`Self::start_with`], with inboxes outside SQL. All buckets are admitted.
    pub async fn start_outside(
        backend: Backend,
        cache_backend: CacheBackend,
        inboxes: Inboxes,
        settings: Settings,
    ) -> Result<Arc<Self>> {
        let app = Self::start_unadmitted(backend, cache_backend, inboxes, settings).await?;
        app.ports.tier.run_once().await?;
        Ok(app)
    }

    /// As [`Self::start_outside`], before the first round of what keeps the inboxes.
    pub async fn start_unadmitted(
        backend: Backend,
        cache_backend: CacheBackend,
        inboxes: Inboxes,
        settings: Settings,
    ) -> Result<Arc<Self>> {
        let setup = Setup { redis: redis(cache_backend).await?, settings, outside: Some(inboxes) };
        Self::begin(backend, setup).await
    }

    /// Both sides of the inboxes outside SQL; only after [`Self::start_outside`].
    pub fn outside(&self) -> Result<&OutsideStores> {
        self.outside.as_ref().context("This service has no inboxes outside SQL.")
    }

    /// Another node: the same database and Redis, everything else its own.
    pub async fn beside(&self) -> Result<Arc<Self>> {
        Self::open(Arc::clone(&self.database), self.setup.clone(), 8).await
    }

    /// Starts on this store of a database without rows, without an outbox cache.
    pub async fn over(database: servers::MigratedDatabase, store: SqlStore) -> Result<Arc<Self>> {
        let setup = Setup { redis: None, settings: settings(), outside: None };
        Self::open_over(Arc::new(database), store, setup, 7).await
    }

    async fn begin(backend: Backend, setup: Setup) -> Result<Arc<Self>> {
        Self::open(Arc::new(backend.migrated_database().await?), setup, 7).await
    }

    async fn open(database: Arc<servers::MigratedDatabase>, setup: Setup, seed: u64) -> Result<Arc<Self>> {
        let store = servers::open_store(&database.url).await?;
        Self::open_over(database, store, setup, seed).await
    }

    async fn open_over(
        database: Arc<servers::MigratedDatabase>,
        store: SqlStore,
        setup: Setup,
        seed: u64,
    ) -> Result<Arc<Self>> {
        let stop = CancellationToken::new();
        let (queue, outbox_cache, announcements) = surroundings(&setup, &stop).await?;
        let mut ports = Ports::with_primary_store(Arc::new(store.clone()), queue, outbox_cache, announcements);
        let (clock, rng) = (Arc::new(ManualClock::at(BEGINNING)), SharedRng::from_seed(seed));
        let ambient = Ambient { clock: clock.clone(), rng: rng.clone() };
        let outside = outside(&setup, &store).await?;
        if let Some(stores) = outside.clone() {
            let (in_sql, grows_by) = (ports.tier.in_sql().clone(), setup.settings.tiers.step);
            ports.tier = Arc::new(OutsideTier::new(stores, in_sql, grows_by, ambient.clone()));
        }
        let use_cases = Arc::new(UseCases::build(&ports, setup.settings, &ambient));
        Ok(Arc::new(Self { use_cases, ports, outside, store, clock, rng, stop, database, setup }))
    }

    /// The URL of its database, as `store.url` takes it.
    pub fn database_url(&self) -> &str {
        &self.database.url
    }

    /// Its clock and its rng.
    pub fn ambient(&self) -> Ambient {
        Ambient { clock: self.clock.clone(), rng: self.rng.clone() }
    }

    /// The manual clock's time.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// `time` in ms after the beginning.
    pub fn set_time(&self, time: i64) {
        self.clock.set(BEGINNING + time);
    }

    /// The authors for whom the reader's inbox is not trusted.
    pub async fn uncovered(&self, reader: UserId) -> Result<Vec<UserId>> {
        let known = self.ports.timelines.reader(reader).await?.context("the reader is remembered")?;
        Ok(known.authors.uncovered().to_vec())
    }

    /// The page, if the inbox and what is in flight suffice for it.
    pub async fn page_of_inbox(&self, reader: UserId, request: &PageRequest) -> Result<Option<Page>> {
        let timelines = &self.ports.timelines;
        let authors = timelines.reader(reader).await?.context("the reader is remembered")?.authors;
        let limits = authors.limits(request);
        let found = timelines.candidates(reader, request, &Ask::of_inbox(limits, Wanted::ENTRIES)).await?;
        let sources = Sources { limits, has_original_authors: true, outboxes: Outboxes::Read(&[]), slices: None };
        Ok(authors.snapshot(request, &found, &sources).ok().and_then(|snapshot| snapshot.page(request)))
    }

    /// Steps every worker until none finds anything.
    pub async fn settle(&self) -> Result<()> {
        loop {
            let now = Duration::ZERO;
            let dealt_with = self.use_cases.dispatcher.run_once("test", now).await?
                + self.use_cases.executor.run_once("test", now).await?
                + self.use_cases.reconciler.run_once("test", now).await?
                + self.use_cases.reactivator.run_once("test", now).await?;
            if dealt_with == 0 {
                return Ok(());
            }
        }
    }

    /// Moves the clock past every lease and backoff, runs the sweeper, and steps the workers to the end.
    pub async fn sweep(&self) -> Result<()> {
        self.clock.advance(LONG_MS);
        self.use_cases.sweeper.run_once().await?;
        self.settle().await
    }

    /// Loses every waiting message.
    pub async fn lose_messages(&self) -> Result<()> {
        for topic in Topic::ALL {
            loop {
                let received = self.ports.queue.receive(topic, "thief", 100, Duration::ZERO).await?;
                if received.is_empty() {
                    break;
                }
                let ids: Vec<String> = received.into_iter().map(|it| it.id).collect();
                self.ports.queue.acknowledge(topic, &ids).await?;
            }
        }
        Ok(())
    }

    /// Changes the kind of a content directly in the database.
    pub async fn set_kind(&self, content: ContentId, kind: ContentKind) -> Result<()> {
        if kind != ContentKind::Post {
            let rows = servers::connect_sql(self.database_url()).await?;
            let sql = format!("UPDATE contents SET kind = {} WHERE id = {content}", kind.code());
            servers::execute(&rows, &sql).await?;
        }
        Ok(())
    }

    /// Makes deliveries skip the reader from now on.
    pub async fn turn_off(&self, reader: UserId) -> Result<()> {
        self.ports.inboxes.mark_seen(&[reader], 0).await?;
        self.ports.inboxes.turn_off_unseen(1, 10).await?;
        Ok(())
    }

    /// Makes the edge a pulled one from now on.
    pub async fn demote(&self, reader: UserId, author: UserId) -> Result<()> {
        self.ports.follows.demote(author, &[reader], self.rng.version()).await?;
        Ok(())
    }
}

impl Deref for TestApp {
    type Target = UseCases;

    fn deref(&self) -> &UseCases {
        &self.use_cases
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Numbers of key prefixes on the shared cluster.
static NEXT: AtomicU64 = AtomicU64::new(1);

type Backends = (Arc<dyn Queue>, Option<Arc<dyn OutboxCache>>, Arc<dyn Announcements>);

/// Keys of the test's own on the shared Redis, or the shared cluster.
async fn redis(cache_backend: CacheBackend) -> Result<Option<RedisOptions>> {
    let options = match cache_backend {
        CacheBackend::NoCache => return Ok(None),
        CacheBackend::Redis => {
            let keys = servers::fresh_keys().await?;
            RedisOptions { urls: vec![keys.url], prefix: keys.prefix, ..RedisOptions::default() }
        }
        CacheBackend::Cluster => {
            let cluster = servers::redis_cluster().await?;
            let prefix = format!("app{}:", NEXT.fetch_add(1, Ordering::Relaxed));
            RedisOptions { urls: cluster.urls(), cluster: true, prefix, ..RedisOptions::default() }
        }
    };
    Ok(Some(RedisOptions { command_timeout_ms: 60_000, connect_timeout_ms: 60_000, outbox_capacity: 50, ..options }))
}

async fn outside(setup: &Setup, store: &SqlStore) -> Result<Option<OutsideStores>> {
    let inboxes: Arc<dyn InboxStore> = match setup.outside.clone() {
        None => return Ok(None),
        Some(Inboxes::Memory) => Arc::new(MemoryInboxes::new(NodeId::of([5; 20]))),
        Some(Inboxes::Redis(options)) => Arc::new(RedisInboxes::new(Redis::connect(options).await?)),
        Some(Inboxes::Cassandra(options)) => {
            Arc::new(CassandraInboxes::new(Cassandra::new(options), NodeId::of([6; 20])))
        }
        Some(Inboxes::Own(inboxes)) => inboxes,
    };
    let (states, keep) = (Arc::new(store.clone()), setup.settings.tiers.keep);
    Ok(Some(OutsideStores { inboxes, states, keep, active_ms: ACTIVE_MS, builds_at_once: BUILDS_AT_ONCE }))
}

async fn surroundings(setup: &Setup, stop: &CancellationToken) -> Result<Backends> {
    let Some(options) = setup.redis.clone() else {
        let queue = Arc::new(MemoryQueue::new(100_000, Duration::from_mins(10)));
        return Ok((queue, None, Arc::new(MemoryAnnouncements::new(1_024))));
    };
    let redis = Redis::connect(options).await?;
    let announcements =
        RedisAnnouncements::start(redis.clone(), &TaskTracker::new(), stop, SharedRng::from_seed(1)).await?;
    let queue = Arc::new(RedisQueue::new(redis.clone()));
    Ok((queue, Some(Arc::new(RedisOutboxCache::new(redis))), Arc::new(announcements)))
}
