//! Opens connections: to the server that the addresses or the Sentinels name, with the certificates that the files hold
//! now.

use std::{io, pin::pin, sync::Arc, time::Duration};

use certificates::{FileTimes, refusal};
use futures_util::{Stream, StreamExt as _, stream::FuturesUnordered};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, ErrorKind, InfoDict,
    ProtocolVersion, RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind, TlsCertificates,
    aio::MultiplexedConnection,
    cluster::{ClusterClient, ClusterClientBuilder},
    io::tcp::TcpSettings,
};

use super::{
    open::{Cluster, Open},
    options::{InvalidRedisOptions, RedisOptions, SentinelOptions},
};

/// How long sent bytes may stay unconfirmed until a connection counts as lost: a partition closes nothing.
#[cfg(target_os = "linux")]
const UNCONFIRMED_AT_MOST: Duration = Duration::from_secs(10);

/// Requests of one connection that wait for an answer; any more wait for their turn. Without this bound, the library
/// queues as many as are made while Redis does not answer.
const REQUESTS_AT_ONCE: usize = 1_024;
/// The same for a connection to a cluster, which leads to all of its servers: requests to one that does not answer
/// leave room for those to others.
const REQUESTS_OF_A_CLUSTER: usize = 4 * REQUESTS_AT_ONCE;

/// A connection to one server, and the address that it leads to.
pub struct Opened {
    /// The connection.
    pub connection: MultiplexedConnection,
    /// host:port, or the path of a socket.
    pub at: Arc<str>,
}

impl From<Opened> for Open {
    fn from(opened: Opened) -> Self {
        Self::Single(opened.connection, opened.at)
    }
}

/// Opens connections to one Redis. Clones are the same.
#[derive(Clone)]
pub struct Opener {
    options: Arc<RedisOptions>,
    addresses: Arc<Vec<ConnectionInfo>>,
}

impl Opener {
    /// Checks the options.
    pub fn new(options: RedisOptions) -> Result<Self, InvalidRedisOptions> {
        let addresses = options.addresses()?.iter().map(as_we_speak).collect();
        // The client library takes the one that the process has chosen; an error means that it has chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self { options: Arc::new(options), addresses: Arc::new(addresses) })
    }

    /// What it was made with.
    pub fn options(&self) -> &RedisOptions {
        &self.options
    }

    /// The configured addresses: of the Redis, of some nodes of the cluster, or of Sentinels.
    pub fn addresses(&self) -> &[ConnectionInfo] {
        &self.addresses
    }

    /// The number of the database that commands work on.
    pub fn database(&self) -> i64 {
        self.addresses.first().map_or(0, |address| address.redis_settings().db())
    }

    /// When the files of certificates were changed last.
    pub fn file_times(&self) -> FileTimes {
        self.options.certificates.times()
    }

    /// Time limits as the options say.
    pub fn config(&self) -> AsyncConnectionConfig {
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.options.connect_timeout()))
            .set_response_timeout(Some(self.options.command_timeout()))
            .set_concurrency_limit(REQUESTS_AT_ONCE)
    }

    /// A connection to the one Redis. Behind Sentinels, to the server that one of them calls the master and that says
    /// the same of itself.
    pub async fn single(&self, protocol: ProtocolVersion, config: &AsyncConnectionConfig) -> RedisResult<Opened> {
        let Some(sentinel) = &self.options.sentinel else {
            let address = self.addresses.first().ok_or_else(no_address)?;
            return self.at(speaking(address, protocol), config).await;
        };
        let opened = self.masters(sentinel).then(async |it| self.master_at(speaking(&it?, protocol), config).await);
        first(opened).await
    }

    /// A connection to this address.
    pub async fn at(&self, address: ConnectionInfo, config: &AsyncConnectionConfig) -> RedisResult<Opened> {
        let at = address.addr().to_string().into();
        let opened = async {
            let client = match address.addr() {
                ConnectionAddr::TcpTls { .. } => Client::build_with_tls(address, self.certificates()?)?,
                _ => Client::open(address)?,
            };
            client.get_multiplexed_async_connection_with_config(config).await
        };
        let connection = opened.await.map_err(|error| self.explained(error))?;
        Ok(Opened { connection, at })
    }

    /// A connection to the cluster, whose answers may take as long as `limit`.
    pub async fn cluster(
        &self,
        limit: Duration,
        configure: impl FnOnce(ClusterClientBuilder) -> ClusterClientBuilder,
    ) -> RedisResult<Open> {
        let mut builder = ClusterClient::builder(self.addresses.iter().cloned());
        if self.addresses.iter().any(|it| matches!(it.addr(), ConnectionAddr::TcpTls { .. })) {
            builder = builder.certs(self.certificates()?);
        }
        let client = configure(builder)
            .connection_timeout(self.options.connect_timeout())
            .response_timeout(limit)
            .tcp_settings(tcp_settings())
            .build()?;
        let connection = client.get_async_connection().await.map_err(|error| self.explained(error))?;
        Ok(Open::Cluster(Cluster::new(connection, REQUESTS_OF_A_CLUSTER)))
    }

    /// Where this Sentinel says that the master is, with what commands need there.
    pub async fn master(&self, sentinel: &SentinelOptions, address: &ConnectionInfo) -> RedisResult<ConnectionInfo> {
        let mut settings = RedisConnectionInfo::default();
        if !sentinel.user.is_empty() {
            settings = settings.set_username(&sentinel.user);
        }
        if !sentinel.password.is_empty() {
            settings = settings.set_password(&sentinel.password);
        }
        let mut asked = self.at(address.clone().set_redis_settings(settings), &self.config()).await?.connection;
        let mut ask = redis::cmd("SENTINEL");
        ask.arg("get-master-addr-by-name").arg(&sentinel.master);
        let found: Option<(String, u16)> = ask.query_async(&mut asked).await?;
        let Some((host, port)) = found else {
            return Err(RedisError::from(io::Error::other(UnknownMaster(sentinel.master.clone()))));
        };
        Ok(address.clone().set_addr(match address.addr() {
            ConnectionAddr::TcpTls { .. } => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
            _ => ConnectionAddr::Tcp(host, port),
        }))
    }

    /// host:port of the master that the first Sentinel to answer names; `None` without Sentinels, or if none answers.
    pub async fn named_master(&self) -> Option<String> {
        let sentinel = self.options.sentinel.as_ref()?;
        Some(first(self.masters(sentinel)).await.ok()?.addr().to_string())
    }

    /// Asks all Sentinels at once; what each answers, as it comes.
    fn masters(&self, sentinel: &SentinelOptions) -> impl Stream<Item = RedisResult<ConnectionInfo>> {
        self.addresses.iter().map(|it| self.master(sentinel, it)).collect::<FuturesUnordered<_>>()
    }

    /// Sentinels learn of a change late: a server that is no master is refused.
    async fn master_at(&self, address: ConnectionInfo, config: &AsyncConnectionConfig) -> RedisResult<Opened> {
        let mut opened = self.at(address, config).await?;
        let info: InfoDict = redis::cmd("INFO").arg("replication").query_async(&mut opened.connection).await?;
        if info.get::<String>("role").as_deref() == Some("master") {
            return Ok(opened);
        }
        Err((ErrorKind::Server(ServerErrorKind::ReadOnly), "the server that a Sentinel named is no master").into())
    }

    fn certificates(&self) -> RedisResult<TlsCertificates> {
        let files = self.options.certificates.read().map_err(io::Error::other)?;
        let client_tls = files.own.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        Ok(TlsCertificates { client_tls, root_cert: files.authority })
    }

    /// What a refusal because of a certificate means.
    fn explained(&self, error: RedisError) -> RedisError {
        match refusal(&error, &self.options.certificates.authorities()) {
            Some(refusal) => RedisError::from(io::Error::other(refusal)),
            None => error,
        }
    }
}

/// No Redis of this name.
#[derive(Debug, thiserror::Error)]
#[error("the Sentinel knows no Redis of the name {0:?} (redis.sentinel_master)")]
struct UnknownMaster(String);

/// The first success; otherwise the last error.
async fn first<T>(answers: impl Stream<Item = RedisResult<T>>) -> RedisResult<T> {
    let mut answers = pin!(answers);
    let mut last = no_address();
    while let Some(answer) = answers.next().await {
        match answer {
            Err(error) => last = error,
            success => return success,
        }
    }
    Err(last)
}

fn no_address() -> RedisError {
    (ErrorKind::InvalidClientConfig, "no address").into()
}

/// The older protocol, whatever the address says: only listening needs the newer one.
fn as_we_speak(address: &ConnectionInfo) -> ConnectionInfo {
    speaking(address, ProtocolVersion::RESP2).set_tcp_settings(tcp_settings())
}

fn speaking(address: &ConnectionInfo, protocol: ProtocolVersion) -> ConnectionInfo {
    address.clone().set_redis_settings(address.redis_settings().clone().set_protocol(protocol))
}

fn tcp_settings() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(UNCONFIRMED_AT_MOST);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_the_bound_of_waiting_requests() {
        let row = format!(
            "| requests on their way to Redis (redis) | {REQUESTS_AT_ONCE} for each connection, {REQUESTS_OF_A_CLUSTER} \
             for one to a cluster;"
        );
        assert!(include_str!("../../../docs/operations.md").contains(&row), "{row}");
    }
}
