//! Starts real servers for the tests from Debian's packages. They are private (own folder, own port on 127.0.0.1) and
//! end with this process.
//!
//! Most tests share one server of each kind, started when the first test asks, and take a database or a key prefix of
//! their own: [`Backend::migrated_database`], [`fresh_keys`], [`redis_cluster`]. A test of an outage starts its own
//! [`Server`], kills it and restarts it. A missing server fails the test and names the remedy.
//!
//! A test that uses a server is in a module of that name (`tags.rs`), so that it can be left out.

mod authority;
mod backend;
mod balancer;
mod cassandra;
mod database;
mod group;
mod line;
mod pool;
mod recipe;
mod redis;
mod replicated;
mod server;
mod sql;
mod tags;
pub mod watchdog;

use anyhow::Result;
use tokio::sync::OnceCell;

pub use self::authority::{Authority, Signed, Validity};
pub use self::backend::Backend;
pub use self::cassandra::{CassandraCluster, CassandraLine, CassandraNode};
pub use self::database::{EmptyDatabase, MigratedDatabase, migrated_file};
pub use self::group::ReplicationGroup;
pub use self::line::{Line, Stop};
pub use self::pool::DatabasePool;
pub use self::recipe::{Kind, Recipe};
pub use self::redis::{FreshKeys, RedisCluster, connect as connect_redis};
pub use self::replicated::{Replicated, follow, primary_and_replica, read_statements, reader_url, role};
pub use self::server::Server;
pub use self::sql::{
    Session, column, connect as connect_sql, connect_within as connect_sql_within, execute, numbers, open_store,
    sessions,
};
pub use self::watchdog::is_running;
pub use crate::on_each_backend;

/// The server of this kind that all tests of this process share, started at the first call. `make test-tidb` sets
/// `TIDB` to the address of the server that tests of MySQL then use, or to those of several before one store.
pub async fn shared(kind: Kind) -> Result<&'static Server> {
    static MARIADB: OnceCell<Server> = OnceCell::const_new();
    static MYSQL: OnceCell<Server> = OnceCell::const_new();
    static REDIS: OnceCell<Server> = OnceCell::const_new();
    static REDIS_NODE: OnceCell<Server> = OnceCell::const_new();
    tags::require(kind.tag())?;
    let cell = match kind {
        Kind::MariaDb => &MARIADB,
        Kind::Mysql => &MYSQL,
        Kind::Redis => &REDIS,
        Kind::RedisNode => &REDIS_NODE,
    };
    cell.get_or_try_init(async || match std::env::var("TIDB") {
        Ok(url) if kind == Kind::Mysql => Server::started_elsewhere(kind, &url),
        _ => Server::start_from(kind, &kind.shared_recipe()).await,
    })
    .await
}

/// Statements that a page by its definition takes beside the one that reads it: under `make test-tidb` one, because
/// TiDB is asked first how many authors there are.
pub fn definition_takes_more() -> u64 {
    u64::from(is_tidb())
}

/// Whether tests of MySQL use a TiDB.
pub fn is_tidb() -> bool {
    std::env::var_os("TIDB").is_some()
}

/// The migrated databases of the shared server of this kind, MariaDB or MySQL.
async fn pool(kind: Kind) -> Result<&'static DatabasePool> {
    static MARIADB: OnceCell<DatabasePool> = OnceCell::const_new();
    static MYSQL: OnceCell<DatabasePool> = OnceCell::const_new();
    tags::require(kind.tag())?;
    let cell = if kind == Kind::Mysql { &MYSQL } else { &MARIADB };
    cell.get_or_try_init(async || Ok(DatabasePool::on(shared(kind).await?))).await
}

/// A key prefix of the caller's own on the shared Redis.
pub async fn fresh_keys() -> Result<FreshKeys> {
    Ok(FreshKeys::on(shared(Kind::Redis).await?))
}

/// The Cassandra of one node that all tests of this process share, with the `commitlog_sync` that is its default. Tests
/// use other readers or keyspaces to stay apart.
pub async fn cassandra() -> Result<&'static CassandraCluster> {
    static CASSANDRA: OnceCell<CassandraCluster> = OnceCell::const_new();
    tags::require(tags::CASSANDRA)?;
    CASSANDRA.get_or_try_init(|| CassandraCluster::start(1, "periodic")).await
}

/// The cluster of three masters that all tests of this process share. Tests use different keys to stay apart.
pub async fn redis_cluster() -> Result<&'static RedisCluster> {
    static CLUSTER: OnceCell<RedisCluster> = OnceCell::const_new();
    tags::require(Kind::RedisNode.tag())?;
    CLUSTER.get_or_try_init(RedisCluster::start).await
}
