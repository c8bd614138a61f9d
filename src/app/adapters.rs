//! Chooses the adapter behind each port by configuration: SQL for the primary store; Redis or this process for the
//! queue and announcements; Redis or nothing for the cache of outboxes; Redis or Cassandra for inboxes outside SQL.

use std::{sync::Arc, time::Duration};

use certificates::CertificateFiles;
use tokio_util::task::TaskTracker;

use super::AppError;
use crate::{
    ambient::Ambient,
    config::{Config, InboxPlace, RedisSettings, SqlEngine},
    lifecycle::Lifecycle,
    rng::SharedRng,
    store::{
        Announcements, InboxStore, OutboxCache, Ports, Queue,
        memory::{MemoryAnnouncements, MemoryQueue},
        redis::{Redis, RedisAnnouncements, RedisInboxes, RedisOptions, RedisOutboxCache, RedisQueue, SentinelOptions},
        sql::{ReplicaOptions, SqlOptions, SqlStore},
    },
    tier::{OutsideStores, OutsideTier},
};

/// Most messages of one topic that wait in this process.
const QUEUE_CAPACITY: usize = 100_000;
/// Milliseconds.
const HOUR_MS: u64 = 60 * 60 * 1_000;
/// How many announcements a slow listener of this process may be behind.
const ANNOUNCEMENT_BUFFER: usize = 4_096;
/// How long connecting to Redis may take; longer if commands may take longer.
const REDIS_CONNECT_MS: u64 = 2_000;

/// The adapters of one node.
pub struct Adapters {
    /// The primary store.
    pub store: SqlStore,
    /// `None` without Redis.
    pub redis: Option<Redis>,
    /// All ports.
    pub ports: Ports,
}

impl Adapters {
    /// Fails if tables are missing or outdated.
    pub async fn expect_current_tables(&self) -> Result<(), AppError> {
        expect_current_tables(&self.store).await
    }
}

/// As [`open_store`]; fails if tables are missing or outdated.
pub async fn open_current_store(config: &Config) -> Result<SqlStore, AppError> {
    let store = open_store(config).await?;
    expect_current_tables(&store).await?;
    Ok(store)
}

/// Fails if tables are missing or outdated.
async fn expect_current_tables(store: &SqlStore) -> Result<(), AppError> {
    match store.pending_migrations().await.map_err(AppError::Store)?.len() {
        0 => Ok(()),
        pending => Err(AppError::NotMigrated(pending)),
    }
}

/// What a database that does not exist lacks.
pub fn migration_names() -> Vec<String> {
    SqlStore::migration_names()
}

/// Opens the SQL store as configured, with its replicas. Touches no table, and connects to no replica yet.
pub async fn open_store(config: &Config) -> Result<SqlStore, AppError> {
    let options = store_options(config);
    let store = SqlStore::connect(&options).await.map_err(AppError::Store)?;
    match replica_options(config) {
        Some(replicas) => store.with_replicas(&options, &replicas).map_err(AppError::Store),
        None => Ok(store),
    }
}

/// `None` without replicas.
fn replica_options(config: &Config) -> Option<ReplicaOptions> {
    let urls: Vec<String> = config.store.replicas.iter().map(|url| url.expose().to_owned()).collect();
    (!urls.is_empty()).then(|| ReplicaOptions { urls, wait: config.store.replica_wait_ms.duration() })
}

pub(super) fn store_options(config: &Config) -> SqlOptions {
    let connections = match config.store.url.engine() {
        SqlEngine::Sqlite => sqlite_readers(config),
        SqlEngine::MySql => config.store.max_connections - delivery_connections(config),
    };
    sql_options(config, connections)
}

/// The store with separate connections for deliveries, if configured; otherwise the same store.
pub async fn open_for_deliveries(config: &Config, store: &SqlStore) -> Result<SqlStore, AppError> {
    let connections = match config.store.url.engine() {
        SqlEngine::Sqlite => 1,
        SqlEngine::MySql => delivery_connections(config),
    };
    if connections == 0 {
        return Ok(store.clone());
    }
    store.with_own_connections(&sql_options(config, connections)).await.map_err(AppError::Store)
}

/// At most half of all connections, because pages need some, too.
fn delivery_connections(config: &Config) -> u32 {
    config.store.delivery_connections.min(config.store.max_connections / 2)
}

fn sql_options(config: &Config, max_connections: u32) -> SqlOptions {
    SqlOptions {
        url: config.store.url.expose().to_owned(),
        max_connections,
        acquire_timeout: config.store.acquire_timeout_ms.duration(),
        statement_timeout: config.store.statement_timeout_ms.duration(),
    }
}

/// More readers than processors would only wait for each other. With a single one, a long list would block all pages.
fn sqlite_readers(config: &Config) -> u32 {
    let processors = || std::thread::available_parallelism().map_or(2, |it| u32::try_from(it.get()).unwrap_or(2));
    match config.store.sqlite_readers {
        0 => processors().max(2),
        some => some,
    }
}

/// Connects to every server that the configuration names, and chooses the adapters.
pub async fn open(config: &Config, lifecycle: &Lifecycle, ambient: &Ambient) -> Result<Adapters, AppError> {
    let store = open_store(config).await?;
    let redis = match redis_options(config) {
        Some(options) => Some(Redis::connect(options).await.map_err(AppError::Redis)?),
        None => None,
    };
    let (queue, cache, announcements) = surroundings(config, redis.as_ref(), lifecycle, &ambient.rng).await?;
    let for_deliveries = Arc::new(open_for_deliveries(config, &store).await?);
    let outside = outside(config, &for_deliveries, redis.as_ref(), &ambient.rng);
    let mut ports =
        Ports::with_primary_store(Arc::new(store.clone()), queue, cache, announcements).delivering_by(for_deliveries);
    if let Some(stores) = outside {
        let in_sql = ports.tier.in_sql().clone();
        ports.tier = Arc::new(OutsideTier::new(stores, in_sql, config.inbox.extend_step, ambient.clone()));
    }
    Ok(Adapters { store, redis, ports })
}

#[cfg_attr(not(feature = "cassandra"), expect(unused_variables, reason = "only Cassandra lets a node draw its name"))]
/// Inboxes outside SQL, if they are configured.
fn outside(config: &Config, states: &Arc<SqlStore>, redis: Option<&Redis>, rng: &SharedRng) -> Option<OutsideStores> {
    let inboxes: Arc<dyn InboxStore> = match config.inbox.store {
        InboxPlace::Sql => return None,
        InboxPlace::Redis => Arc::new(RedisInboxes::new(redis?.clone())),
        #[cfg(feature = "cassandra")]
        InboxPlace::Cassandra => super::cassandra::inboxes(config, rng),
    };
    Some(OutsideStores {
        inboxes,
        states: states.clone(),
        keep: config.inbox.keep,
        active_ms: i64::from(config.inbox.outside_hours) * HOUR_MS.cast_signed(),
        builds_at_once: config.inbox.builds_at_once,
    })
}

/// How Redis is reached, if at all.
pub fn redis_options(config: &Config) -> Option<RedisOptions> {
    let urls: Vec<String> = config.redis.urls.iter().map(|url| url.expose().to_owned()).collect();
    let command_timeout_ms = u64::try_from(config.redis.command_timeout_ms.as_i64()).unwrap_or(0);
    (!urls.is_empty()).then(|| RedisOptions {
        urls,
        cluster: config.redis.cluster,
        sentinel: sentinel(&config.redis),
        certificates: CertificateFiles::named([
            &config.redis.tls_ca,
            &config.redis.tls_certificate,
            &config.redis.tls_key,
        ]),
        prefix: config.redis.prefix.clone(),
        connect_timeout_ms: REDIS_CONNECT_MS.max(command_timeout_ms),
        command_timeout_ms,
        redelivery_ms: u64::try_from(config.redis.redelivery_ms.as_i64()).unwrap_or(0),
        stream_max_len: usize::try_from(config.redis.stream_max_len).unwrap_or(usize::MAX),
        outbox_capacity: config.outbox_cache.capacity,
        outbox_ttl_ms: u64::from(config.outbox_cache.ttl_s) * 1_000,
        inbox_ttl_ms: u64::from(config.inbox.redis_ttl_hours) * HOUR_MS,
        announcement_buffer: ANNOUNCEMENT_BUFFER,
        ..RedisOptions::default()
    })
}

fn sentinel(redis: &RedisSettings) -> Option<SentinelOptions> {
    (!redis.sentinel_master.is_empty()).then(|| SentinelOptions {
        master: redis.sentinel_master.clone(),
        user: redis.sentinel_user.clone(),
        password: redis.sentinel_password.expose().to_owned(),
    })
}

type Backends = (Arc<dyn Queue>, Option<Arc<dyn OutboxCache>>, Arc<dyn Announcements>);

async fn surroundings(
    config: &Config,
    redis: Option<&Redis>,
    lifecycle: &Lifecycle,
    rng: &SharedRng,
) -> Result<Backends, AppError> {
    let Some(redis) = redis else {
        let redelivery: Duration = config.redis.redelivery_ms.duration();
        return Ok((
            Arc::new(MemoryQueue::new(QUEUE_CAPACITY, redelivery)),
            None,
            Arc::new(MemoryAnnouncements::new(ANNOUNCEMENT_BUFFER)),
        ));
    };
    let (tracker, stopping) = (TaskTracker::new(), lifecycle.stopping());
    let announcements = RedisAnnouncements::start(redis.clone(), &tracker, &stopping, rng.clone());
    let cache: Arc<dyn OutboxCache> = Arc::new(RedisOutboxCache::new(redis.clone()));
    Ok((
        Arc::new(RedisQueue::new(redis.clone())),
        config.outbox_cache.enabled.then_some(cache),
        Arc::new(announcements.await.map_err(AppError::Announcements)?),
    ))
}
