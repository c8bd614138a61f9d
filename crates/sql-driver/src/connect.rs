//! Opens the connections and configures every session.
//!
//! **SQLite**: one connection writes and several read. Writers queue for the one connection instead of failing each
//! other's transactions, and readers never wait for it (WAL): `sqlite::writer`, `sqlite::readers`. With `synchronous =
//! FULL`, a commit is on the disk before it is acknowledged, so that it survives a power loss as well as a crash.
//! Transactions that wait for each other share a commit (`sqlite::shared_commits`). **MySQL, MariaDB, TiDB**: every
//! session READ COMMITTED (`server::connections`). A database made by `with_own_connections` has connections of its own
//! beside these.

use std::{path::Path, sync::Arc};

use sea_orm::sqlx::{self, ConnectOptions as _, mysql::MySqlConnectOptions, sqlite::SqliteConnectOptions};
use store_error::StoreError;
use tokio::task::spawn_blocking;

use crate::{
    connection_permits::ConnectionPermits,
    database::{Database, Readers, TimeLimits, Writer},
    dialect::Dialect,
    error::{connect_error, died, sqlite_error},
    finish::Finisher,
    options::SqlOptions,
    replicas::{ReplicaLimits, ReplicaOptions, Replicas},
    server::connections::ServerConnections,
    sqlite::readers::SqliteReaders,
    sqlite::shared_commits::SharedCommits,
    sqlite::writer::SqliteWriter,
    writability::Writability,
};

/// Why an address cannot be used.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Unusable {
    #[error("store.url must start with sqlite:// or mysql://")]
    Scheme,
    #[error("store.url must name a file: a database in memory is lost when its connection closes")]
    Memory,
    #[error("store.url must name a database: mysql://user:password@host:port/database")]
    NoDatabase,
    #[error(
        "this MySQL takes a password over TLS alone: remove ssl-mode=DISABLED from store.url, and let the server speak TLS (it does unless its tls_version is empty)"
    )]
    PasswordWithoutTls,
    #[error("store.replicas is for MySQL and MariaDB: a SQLite file has none")]
    ReplicasOfAFile,
    #[error("store.replicas is for MySQL and MariaDB: TiDB spreads reads over its own nodes")]
    ReplicasOfTidb,
    #[error("each of store.replicas must name the database that store.url names")]
    OtherDatabase,
}

impl From<Unusable> for StoreError {
    fn from(unusable: Unusable) -> Self {
        Self::Refused(Box::new(unusable))
    }
}

impl Database {
    /// Connects. Creates a missing SQLite file and its folder; a server must answer within the acquire time-out.
    /// Touches no table.
    pub async fn connect(options: &SqlOptions) -> Result<Self, StoreError> {
        open(options).await
    }

    /// The same database, whose single statements may be read on these replicas, too, over up to
    /// `options.max_connections` connections to each. `options` are those of this database. Connects to none of them
    /// yet: the primary serves while they are away.
    pub fn with_replicas(&self, options: &SqlOptions, replicas: &ReplicaOptions) -> Result<Self, StoreError> {
        let Readers::Server(primary) = &self.readers else { return Err(Unusable::ReplicasOfAFile.into()) };
        if self.dialect == Dialect::Tidb {
            return Err(Unusable::ReplicasOfTidb.into());
        }
        let mut all = Vec::with_capacity(replicas.urls.len());
        for url in &replicas.urls {
            let options = SqlOptions { url: url.clone(), ..options.clone() };
            let connections = to_server(&options, reading_session(&options))?;
            let server = connections.server();
            if server.get_database() != primary.server().get_database() {
                return Err(Unusable::OtherDatabase.into());
            }
            all.push((format!("{}:{}", server.get_host(), server.get_port()), connections));
        }
        let limits = ReplicaLimits {
            running: usize::try_from(options.connections()).unwrap_or(usize::MAX),
            wait: replicas.wait,
            operation: self.limits.operation,
        };
        Ok(Self { replicas: Some(Replicas::of(primary, all, limits)), ..self.clone() })
    }

    /// Opens the same database with separate connections, `options.max_connections` of them, so its users never wait
    /// for users of these. On SQLite only the reading connections are separate: the one writing connection is shared.
    /// All other `options` must equal those of these connections. Replicas are left out.
    pub async fn with_own_connections(&self, options: &SqlOptions) -> Result<Self, StoreError> {
        match &self.readers {
            Readers::File(readers) => {
                let readers = Readers::File(Arc::new(SqliteReaders::open(readers.file(), options).await?));
                Ok(Self { readers, replicas: None, ..self.clone() })
            }
            Readers::Server(connections) => {
                let connections = connections.separate(options.acquire_timeout);
                let permits = ConnectionPermits::new(options.connections(), options.acquire_timeout);
                let (readers, writer) = (Readers::Server(connections.clone()), Writer::Server(connections));
                Ok(Self { readers, writer, permits, replicas: None, ..self.clone() })
            }
        }
    }
}

async fn open(options: &SqlOptions) -> Result<Database, StoreError> {
    let operation = options.acquire_timeout.saturating_add(options.statement_timeout);
    let limits = TimeLimits { operation, write: operation, lock_wait: options.lock_wait() };
    match options.url.split(':').next() {
        Some("sqlite") => sqlite(options, limits).await,
        Some("mysql" | "mariadb") => mysql(options, limits).await,
        _ => Err(Unusable::Scheme.into()),
    }
}

async fn sqlite(options: &SqlOptions, limits: TimeLimits) -> Result<Database, StoreError> {
    if options.url.contains(":memory:") || options.url.contains("mode=memory") {
        return Err(Unusable::Memory.into());
    }
    let file: SqliteConnectOptions = options.url.parse().map_err(connect_error)?;
    let (file, lock_wait) = (file.get_filename().to_owned(), options.statement_timeout / 3);
    make_folder(&file).await?;
    make_private(&file).await;
    let writing = file.clone();
    let writer = spawn_blocking(move || SqliteWriter::open(writing, lock_wait)).await;
    let writer = writer.map_err(died)?.map_err(sqlite_error)?;
    let readers = SqliteReaders::open(file, options).await?;
    let permits = ConnectionPermits::new(1, options.acquire_timeout);
    Ok(Database {
        readers: Readers::File(Arc::new(readers)),
        writer: Writer::File(Arc::new(writer), SharedCommits::new(permits.clone())),
        replicas: None,
        permits,
        finisher: Finisher::new(limits.operation),
        dialect: Dialect::Sqlite,
        // When another process holds the file's lock, a write fails after this time, also one that has waited for the
        // one connection.
        limits: TimeLimits { write: options.statement_timeout, lock_wait, ..limits },
        sent: Arc::default(),
        begun: Arc::default(),
        writability: Writability::default(),
    })
}

async fn make_folder(file: &Path) -> Result<(), StoreError> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => {
            let named =
                |error| std::io::Error::other(format!("the folder {} cannot be made: {error}", folder.display()));
            tokio::fs::create_dir_all(folder).await.map_err(|error| StoreError::Unavailable(Box::new(named(error))))
        }
        _ => Ok(()),
    }
}

/// Only its owner may read a new database: it holds digests of passwords and tokens. SQLite gives the files beside it
/// the same permissions. The permissions of an existing database stay as they are. If this fails, SQLite fails too and
/// reports it.
async fn make_private(file: &Path) {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    let _ = options.open(file).await;
}

async fn mysql(options: &SqlOptions, limits: TimeLimits) -> Result<Database, StoreError> {
    let connections = to_server(options, mysql_session(options))?;
    let mut first = connections.try_take().await.map_err(|error| refused(error, &options.url))?;
    let answer = first.query(Dialect::QUESTION.into(), &[]).await.map_err(connect_error)?;
    let answer: String = answer.first().map(|row| row.get(0)).transpose()?.unwrap_or_default();
    first.give_back();
    Ok(Database {
        readers: Readers::Server(connections.clone()),
        writer: Writer::Server(connections),
        replicas: None,
        permits: ConnectionPermits::new(options.connections(), options.acquire_timeout),
        finisher: Finisher::new(limits.operation),
        dialect: Dialect::of_server(&answer),
        limits,
        sent: Arc::default(),
        begun: Arc::default(),
        writability: Writability::default(),
    })
}

/// Connects to nobody yet.
fn to_server(options: &SqlOptions, session: String) -> Result<ServerConnections, StoreError> {
    let server: MySqlConnectOptions = options.url.parse().map_err(connect_error)?;
    if server.get_database().is_none_or(str::is_empty) {
        return Err(Unusable::NoDatabase.into());
    }
    let server = server.charset("utf8mb4").disable_statement_logging();
    let certificates = options.certificate_files();
    certificates.read().map_err(|error| StoreError::Refused(Box::new(error)))?;
    Ok(ServerConnections::to(server, session, options.acquire_timeout, certificates.authorities()))
}

/// Without certificates in the address, only one thing is wrong with the configuration of a connection that was begun:
/// an account of `caching_sha2_password` or `sha256_password` must encrypt its password for a server without TLS, and
/// the driver is built without that.
fn refused(error: sqlx::Error, url: &str) -> StoreError {
    match error {
        sqlx::Error::Configuration(_) if !url.contains("ssl-c") && !url.contains("ssl-key") => {
            Unusable::PasswordWithoutTls.into()
        }
        error => connect_error(error),
    }
}

/// A value that does not fit is an error. A single statement commits by itself, and a commit ends its transaction,
/// whatever the server's defaults are. A statement that runs too long is ended (on MySQL only reads can be), and so
/// is a wait for a lock. Without `in_predicate_conversion_threshold = 0` MariaDB would turn a long `IN` list into a
/// join with a temporary table. TiDB locks rows as they are written, finds a key that is there already at the insert,
/// takes several statements at a time, asks its store for a thousand rows at a time and not for 128, and keeps no
/// plans, because kept ones have given wrong rows (pingcap/tidb#66374). `/*M!` is read by MariaDB only, `/*!80000` by
/// MySQL and TiDB, `/*T!` by TiDB only.
fn mysql_session(options: &SqlOptions) -> String {
    let lock_wait = options.lock_wait().as_secs();
    let statement = options.statement_timeout;
    format!(
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', \
         autocommit = 1, completion_type = 'NO_CHAIN', innodb_lock_wait_timeout = {lock_wait} \
         /*M! , max_statement_time = {seconds}, in_predicate_conversion_threshold = 0 */ \
         /*!80000 , max_execution_time = {millis} */ \
         /*T! , tidb_txn_mode = 'pessimistic', tidb_constraint_check_in_place_pessimistic = 1, \
         tidb_multi_statement_mode = 'ON', tidb_enable_prepared_plan_cache = 0, \
         tidb_min_paging_size = 1024 */",
        seconds = statement.as_secs_f64(),
        millis = statement.as_millis(),
    )
}

/// As [`mysql_session`], of a session that cannot write, whatever its user may do.
fn reading_session(options: &SqlOptions) -> String {
    let session = mysql_session(options);
    format!("{session} /*M! , tx_read_only = 1 */ /*!80000 , transaction_read_only = 1 */")
}
