//! Connects to Redis and explains failures. Each kind of work has its own connections. A node has one connection for
//! commands, one for each blocking read under way, and one that listens.

use std::{future::Future, time::Duration};

use certificates::{CertificateRefusal, refusal};
use redis::{Cmd, ConnectionInfo, InfoDict, ProtocolVersion, PushInfo, RedisError, RedisResult, Value};
use tokio::time::timeout;

use super::{
    error::{late, store_error},
    lasting::Lasting,
    link::Link,
    opener::Opener,
    options::{InvalidRedisOptions, RedisOptions},
};
use crate::store::StoreError;

/// The oldest that knows sharded publish/subscribe.
const OLDEST_MAJOR: u32 = 7;
/// How long the key of a probe lives.
const PROBE_LIFE_MS: u64 = 10_000;

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
    /// One side does not take the certificate of the other.
    #[error("no connection over TLS to the Redis at {address}")]
    Certificate {
        /// host:port.
        address: String,
        /// Why.
        #[source]
        source: CertificateRefusal,
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
    opener: Opener,
    commands: Lasting,
}

impl Redis {
    /// Connects, and checks that what answers is what the options say. Later outages need no new call: commands fail
    /// until Redis is back, and then work again.
    pub async fn connect(options: RedisOptions) -> Result<Self, ConnectError> {
        let opener = Opener::new(options)?;
        let first = meet_any(&opener).await?;
        let commands = Lasting::open(opener.clone()).await.map_err(|error| failed(&opener, first, error))?;
        Ok(Self { opener, commands })
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
        self.opener.options()
    }

    /// The number of the database that commands work on.
    pub(super) fn database(&self) -> i64 {
        self.opener.database()
    }

    /// `name` as Tidefeed's own key or channel.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.options().prefix)
    }

    /// The shared connection for commands that do not block.
    pub(super) fn commands(&self) -> Link {
        Link::Lasting(self.commands.clone())
    }

    /// Lets `work` take as long as a command may.
    pub(super) async fn within<T>(&self, work: impl Future<Output = RedisResult<T>>) -> Result<T, StoreError> {
        let limit = self.options().command_timeout();
        match timeout(limit, work).await {
            Ok(done) => done.map_err(store_error),
            Err(_) => Err(late(limit)),
        }
    }

    /// Runs commands on one key each, in one round; as [`Link::run_each`], in the time that a command may take. On a
    /// cluster, each has that time to itself.
    pub(super) async fn run_each(&self, commands: Vec<Cmd>) -> Result<Vec<RedisResult<Value>>, StoreError> {
        let mut link = self.commands();
        if self.options().cluster {
            return link.run_each(commands).await.map_err(store_error);
        }
        self.within(link.run_each(commands)).await
    }

    /// A connection of the caller's own, whose commands may block for `wait`.
    pub(super) async fn connect_blocking(&self, wait: Duration) -> RedisResult<Link> {
        let limit = self.options().command_timeout() + wait;
        if self.options().cluster {
            return self.opener.cluster(limit, |it| it).await.map(Link::Own);
        }
        let config = self.opener.config().set_response_timeout(Some(limit));
        self.opener.single(ProtocolVersion::RESP2, &config).await.map(|it| Link::Own(it.into()))
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
        if self.options().cluster {
            let opened = self.opener.cluster(self.options().command_timeout(), |builder| {
                builder.use_protocol(ProtocolVersion::RESP3).push_sender(pushed)
            });
            return opened.await.map(Link::Own);
        }
        let config = self.opener.config().set_push_sender(pushed);
        self.opener.single(ProtocolVersion::RESP3, &config).await.map(|it| Link::Own(it.into()))
    }

    /// Whether Sentinels name another master than the one that `link` leads to. Commands then follow them: a former
    /// master that Sentinels do not reach closes no connection.
    pub(super) async fn is_led_away_from(&self, link: &Link) -> bool {
        let Some(master) = self.opener.named_master().await else { return false };
        self.commands.lead_to(&master);
        link.at() != Some(master.as_str())
    }
}

/// Meets the first server that answers; the error is the last one's. Gives its host:port.
async fn meet_any(opener: &Opener) -> Result<String, ConnectError> {
    if opener.options().sentinel.is_some() {
        let met = opener.single(ProtocolVersion::RESP2, &opener.config()).await;
        let sentinels: Vec<_> = opener.addresses().iter().map(|it| it.addr().to_string()).collect();
        let mut met = met.map_err(|error| failed(opener, sentinels.join(", "), error))?;
        let info = redis::cmd("INFO").query_async::<InfoDict>(&mut met.connection).await;
        let address = met.at.to_string();
        return match info {
            Ok(info) => check(opener.options(), address, &info),
            Err(error) => Err(failed(opener, address, error)),
        };
    }
    let mut last = ConnectError::Options(InvalidRedisOptions::NoAddress);
    for address in opener.addresses() {
        match meet(opener, address).await {
            Err(unreachable @ ConnectError::Unreachable { .. }) => last = unreachable,
            met => return met,
        }
    }
    Err(last)
}

async fn meet(opener: &Opener, address: &ConnectionInfo) -> Result<String, ConnectError> {
    let name = address.addr().to_string();
    let info = async {
        let mut met = opener.at(address.clone(), &opener.config()).await?;
        redis::cmd("INFO").query_async::<InfoDict>(&mut met.connection).await
    };
    match info.await {
        Ok(info) => check(opener.options(), name, &info),
        Err(error) => Err(failed(opener, name, error)),
    }
}

fn failed(opener: &Opener, address: String, error: RedisError) -> ConnectError {
    match refusal(&error, &opener.options().certificates.authorities()) {
        Some(source) => ConnectError::Certificate { address, source },
        None => ConnectError::Unreachable { address, source: Box::new(error) },
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
