//! Connects to Redis and explains failures. Each kind of work has its own connections. A node has one connection for
//! commands, one for each blocking read under way, and one that listens.

use std::{future::Future, sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, InfoDict, ProtocolVersion, PushInfo, RedisError, RedisResult,
    Value,
    aio::{ConnectionManager, ConnectionManagerConfig},
    cluster::ClusterClient,
    io::tcp::TcpSettings,
};
use tokio::time::timeout;

use super::{
    error::{late, store_error},
    link::Link,
    options::{InvalidRedisOptions, RedisOptions},
};
use crate::store::StoreError;

/// The oldest that knows sharded publish/subscribe.
const OLDEST_MAJOR: u32 = 7;
/// How long sent bytes may stay unconfirmed until a connection counts as lost: a partition closes nothing.
#[cfg(target_os = "linux")]
const UNCONFIRMED_AT_MOST: Duration = Duration::from_secs(10);
/// How long the key of a probe lives.
const PROBE_LIFE_MS: u64 = 10_000;
/// Requests of one connection that wait for an answer; any more wait for their turn. Without this bound, the library
/// queues as many as are made while Redis does not answer.
const REQUESTS_AT_ONCE: usize = 1_024;
/// How soon a lost connection is tried again within a command's time.
const RECONNECT_AFTER: Duration = Duration::from_millis(50);

/// Why Redis cannot be used. Its sources have the details.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The options contradict themselves.
    #[error("the Redis options are not valid")]
    Options(#[from] InvalidRedisOptions),
    /// No answer, or a refused password.
    #[error("the Redis at {address} cannot be connected to: check that it runs, its address, and its password")]
    Unreachable {
        /// host:port.
        address: String,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Sharded publish/subscribe came with 7.
    #[error("the Redis at {address} is {version}: 7 or later is needed, or Valkey")]
    TooOld {
        /// host:port.
        address: String,
        /// What it said it is.
        version: String,
    },
    /// `cluster` is not what the server is.
    #[error("the Redis at {address} {}", if *.is_cluster { "is part of a cluster: set `cluster` to true" }
        else { "is no cluster: set `cluster` to false" })]
    OtherForm {
        /// host:port.
        address: String,
        /// What the server says.
        is_cluster: bool,
    },
}

/// Redis, connected. Clones share the connection for commands.
#[derive(Clone)]
pub struct Redis {
    options: Arc<RedisOptions>,
    addresses: Arc<Vec<ConnectionInfo>>,
    commands: Link,
}

impl Redis {
    /// Connects, and checks that what answers is what the options say. Later outages need no new call: commands fail
    /// until Redis is back, and then work again.
    pub async fn connect(options: RedisOptions) -> Result<Self, ConnectError> {
        let addresses = options.addresses()?.into_iter();
        let addresses: Vec<_> = addresses.map(as_we_speak).collect();
        let first = meet_any(&options, &addresses).await?;
        let commands = match connect_for_commands(&options, &addresses).await {
            Ok(link) => link,
            Err(source) => return Err(ConnectError::Unreachable { address: first, source: Box::new(source) }),
        };
        Ok(Self { options: Arc::new(options), addresses: Arc::new(addresses), commands })
    }

    /// Whether Redis answers now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut link = self.commands();
        self.within(async { redis::cmd("PING").query_async(&mut link).await }).await
    }

    /// Whether Redis takes writes now: sets a key that goes by itself.
    pub async fn probe_writes(&self) -> Result<(), StoreError> {
        let mut link = self.commands();
        let mut set = redis::cmd("SET");
        set.arg(self.key("probe")).arg("").arg("PX").arg(PROBE_LIFE_MS);
        self.within(async { set.query_async(&mut link).await }).await
    }

    /// What it was connected with.
    pub(super) fn options(&self) -> &RedisOptions {
        &self.options
    }

    /// The number of the database that commands work on.
    pub(super) fn database(&self) -> i64 {
        redis::aio::ConnectionLike::get_db(&self.commands)
    }

    /// `name` as Tidefeed's own key or channel.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.options.prefix)
    }

    /// The shared connection for commands that do not block.
    pub(super) fn commands(&self) -> Link {
        self.commands.clone()
    }

    /// Lets `work` take as long as a command may.
    pub(super) async fn within<T>(&self, work: impl Future<Output = RedisResult<T>>) -> Result<T, StoreError> {
        let limit = self.options.command_timeout();
        match timeout(limit, work).await {
            Ok(done) => done.map_err(store_error),
            Err(_) => Err(late(limit)),
        }
    }

    /// Runs commands on one key each, in one round; as [`Link::run_each`], in the time that a command may take. On a
    /// cluster, each has that time to itself.
    pub(super) async fn run_each(&self, commands: Vec<Cmd>) -> Result<Vec<RedisResult<Value>>, StoreError> {
        let mut link = self.commands();
        if self.options.cluster {
            return link.run_each(commands).await.map_err(store_error);
        }
        self.within(link.run_each(commands)).await
    }

    /// A connection of the caller's own, whose commands may block for `wait`.
    pub(super) async fn connect_blocking(&self, wait: Duration) -> RedisResult<Link> {
        let limit = self.options.command_timeout() + wait;
        if self.options.cluster {
            return self.cluster(limit, None).await;
        }
        let config = self.connection_config().set_response_timeout(Some(limit));
        self.single(ProtocolVersion::RESP2, &config).await
    }

    /// A connection of the caller's own that can subscribe; `pushed` is given what comes without being asked for.
    pub(super) async fn connect_listening(
        &self,
        pushed: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> RedisResult<Link> {
        let pushed = move |push| -> Result<(), RedisError> {
            pushed(push);
            Ok(())
        };
        if self.options.cluster {
            let builder = ClusterClient::builder(self.addresses.iter().cloned())
                .use_protocol(ProtocolVersion::RESP3)
                .push_sender(pushed);
            return self.cluster(self.options.command_timeout(), Some(builder)).await;
        }
        self.single(ProtocolVersion::RESP3, &self.connection_config().set_push_sender(pushed)).await
    }

    fn connection_config(&self) -> AsyncConnectionConfig {
        connection_config(&self.options)
    }

    async fn single(&self, protocol: ProtocolVersion, config: &AsyncConnectionConfig) -> RedisResult<Link> {
        let Some(address) = self.addresses.first() else {
            return Err((redis::ErrorKind::InvalidClientConfig, "no address").into());
        };
        let settings = address.redis_settings().clone().set_protocol(protocol);
        let client = Client::open(address.clone().set_redis_settings(settings))?;
        client.get_multiplexed_async_connection_with_config(config).await.map(Link::Single)
    }

    async fn cluster(
        &self,
        limit: Duration,
        builder: Option<redis::cluster::ClusterClientBuilder>,
    ) -> RedisResult<Link> {
        let builder = builder.unwrap_or_else(|| ClusterClient::builder(self.addresses.iter().cloned()));
        connect_cluster(&self.options, builder, limit).await
    }
}

/// The older protocol, whatever the address says: only listening needs the newer one.
fn as_we_speak(address: ConnectionInfo) -> ConnectionInfo {
    let settings = address.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    address.set_redis_settings(settings).set_tcp_settings(tcp_settings())
}

fn tcp_settings() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(UNCONFIRMED_AT_MOST);
    settings
}

fn connection_config(options: &RedisOptions) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.connect_timeout()))
        .set_response_timeout(Some(options.command_timeout()))
        .set_concurrency_limit(REQUESTS_AT_ONCE)
}

async fn connect_for_commands(options: &RedisOptions, addresses: &[ConnectionInfo]) -> RedisResult<Link> {
    if options.cluster {
        let builder = ClusterClient::builder(addresses.iter().cloned());
        return connect_cluster(options, builder, options.command_timeout()).await;
    }
    let Some(address) = addresses.first() else {
        return Err((redis::ErrorKind::InvalidClientConfig, "no address").into());
    };
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(options.connect_timeout()))
        .set_response_timeout(Some(options.command_timeout()))
        .set_concurrency_limit(REQUESTS_AT_ONCE)
        .set_number_of_retries(1)
        .set_min_delay(RECONNECT_AFTER);
    let manager = ConnectionManager::new_with_config(Client::open(address.clone())?, config).await?;
    Ok(Link::Lasting(manager))
}

async fn connect_cluster(
    options: &RedisOptions,
    builder: redis::cluster::ClusterClientBuilder,
    limit: Duration,
) -> RedisResult<Link> {
    let client = builder
        .connection_timeout(options.connect_timeout())
        .response_timeout(limit)
        .tcp_settings(tcp_settings())
        .build()?;
    client.get_async_connection().await.map(Link::Cluster)
}

/// Meets the first of `addresses` that answers; the error is the last one's. Gives its host:port.
async fn meet_any(options: &RedisOptions, addresses: &[ConnectionInfo]) -> Result<String, ConnectError> {
    let mut last = ConnectError::Options(InvalidRedisOptions::NoAddress);
    for address in addresses {
        match meet(options, address).await {
            Err(unreachable @ ConnectError::Unreachable { .. }) => last = unreachable,
            met => return met,
        }
    }
    Err(last)
}

async fn meet(options: &RedisOptions, address: &ConnectionInfo) -> Result<String, ConnectError> {
    let name = address.addr().to_string();
    let info = async {
        let client = Client::open(address.clone())?;
        let mut link = client.get_multiplexed_async_connection_with_config(&connection_config(options)).await?;
        redis::cmd("INFO").query_async::<InfoDict>(&mut link).await
    };
    match info.await {
        Ok(info) => check(options, name, &info),
        Err(source) => Err(ConnectError::Unreachable { address: name, source: Box::new(source) }),
    }
}

fn check(options: &RedisOptions, address: String, info: &InfoDict) -> Result<String, ConnectError> {
    let version: String = info.get("redis_version").unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < OLDEST_MAJOR) {
        return Err(ConnectError::TooOld { address, version });
    }
    let is_cluster = info.get("cluster_enabled").is_some_and(|enabled: u8| enabled == 1);
    if is_cluster != options.cluster {
        return Err(ConnectError::OtherForm { address, is_cluster });
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_the_bound_of_waiting_requests() {
        let row = format!("| requests on their way to Redis (redis) | {REQUESTS_AT_ONCE} for each connection;");
        assert!(include_str!("../../../docs/operations.md").contains(&row), "{row}");
    }
}
