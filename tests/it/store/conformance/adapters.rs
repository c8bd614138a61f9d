//! Opens the adapters of queue, outbox cache and announcements on each backend, and reads or changes their data
//! directly.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use anyhow::Result;
use redis::{Cmd, FromRedisValue, aio::MultiplexedConnection, cluster_async::ClusterConnection};
use tidefeed::store::redis::{Redis, RedisOptions};

use crate::servers::{Kind, connect_redis, redis_cluster, shared};

/// Where the adapter keeps its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter {
    /// This process.
    Memory,
    /// A Redis on its own.
    Redis,
    /// A Redis Cluster of three.
    Cluster,
    /// A Cassandra of one node; for inboxes only.
    Cassandra,
}

impl Adapter {
    /// Options for keys that nobody else uses; `None` in memory.
    pub async fn options(self) -> Result<Option<RedisOptions>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let urls = match self {
            Self::Memory | Self::Cassandra => return Ok(None),
            Self::Redis => vec![shared(Kind::Redis).await?.url()],
            Self::Cluster => redis_cluster().await?.urls(),
        };
        let prefix = format!("conformance{}:", NEXT.fetch_add(1, Ordering::Relaxed));
        let cluster = self == Self::Cluster;
        // Patience for a machine that runs many tests at once.
        Ok(Some(RedisOptions {
            urls,
            cluster,
            prefix,
            command_timeout_ms: 60_000,
            connect_timeout_ms: 60_000,
            ..RedisOptions::default()
        }))
    }

    /// As [`Place::options`], changed and connected.
    pub async fn redis(self, change: impl FnOnce(&mut RedisOptions)) -> Result<Option<Redis>> {
        let Some(mut options) = self.options().await? else { return Ok(None) };
        change(&mut options);
        Ok(Some(Redis::connect(options).await?))
    }
}

/// Runs plain commands on the server, as an operator would.
#[derive(Clone)]
pub enum RawConnection {
    /// A connection to one server.
    Single(MultiplexedConnection),
    /// A connection to a cluster.
    Cluster(ClusterConnection),
}

impl RawConnection {
    /// Connects to the server of `options`.
    pub async fn open(options: &RedisOptions) -> Result<Self> {
        if options.cluster {
            let builder = redis::cluster::ClusterClient::builder(options.urls.clone());
            let client = builder.connection_timeout(Duration::from_mins(1)).build()?;
            return Ok(Self::Cluster(client.get_async_connection().await?));
        }
        Ok(Self::Single(connect_redis(&options.urls[0]).await?))
    }

    /// Runs one command.
    pub async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        Ok(match self {
            Self::Single(link) => command.query_async(&mut link.clone()).await?,
            Self::Cluster(link) => command.query_async(&mut link.clone()).await?,
        })
    }
}

/// Makes each named `async fn(Place) -> anyhow::Result<()>` of the module one test per adapter, or
/// one for each that is a server. Once per module.
macro_rules! on_each_adapter {
    ($($name:ident),+ $(,)?) => {
        $crate::store::conformance::adapters::on_each_adapter!(@in memory Memory $($name),+);
        $crate::store::conformance::adapters::on_each_adapter!(on servers: $($name),+);
    };
    (on servers: $($name:ident),+ $(,)?) => {
        $crate::store::conformance::adapters::on_each_adapter!(@in redis_server Redis $($name),+);
        $crate::store::conformance::adapters::on_each_adapter!(@in redis_cluster Cluster $($name),+);
    };
    (@in $module:ident $adapter:ident $($name:ident),+) => {
        mod $module {
            use $crate::store::conformance::adapters::Adapter;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> anyhow::Result<()> {
                super::$name(Adapter::$adapter).await
            })+
        }
    };
}
pub(crate) use on_each_adapter;
