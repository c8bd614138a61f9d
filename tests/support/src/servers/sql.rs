//! Connects to databases, runs statements directly, and checks which SQL server answers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use sea_orm::{
    ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, QueryResult, Statement, TryGetable,
};
use tidefeed::store::sql::{SqlOptions, SqlStore};

use super::is_tidb;

/// A store on an existing database, with timeouts for a busy machine.
pub async fn open_store(url: &str) -> Result<SqlStore> {
    let options = SqlOptions {
        url: url.to_owned(),
        max_connections: 8,
        acquire_timeout: Duration::from_mins(2),
        statement_timeout: Duration::from_mins(2),
    };
    Ok(SqlStore::connect(&options).await?)
}

/// A single connection for the test.
pub async fn connect(url: &str) -> Result<DatabaseConnection> {
    connect_within(url, Duration::from_mins(1)).await
}

/// Like [`connect`], with another time limit: it retries a server that refuses until the limit, at the start and
/// whenever the connection breaks.
pub async fn connect_within(url: &str, patience: Duration) -> Result<DatabaseConnection> {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).acquire_timeout(patience).sqlx_logging(false);
    options.idle_timeout(None).max_lifetime(None); // as the product's pools, and for their reason
    Database::connect(options).await.with_context(|| format!("{url} does not answer."))
}

/// The data folder of the server at this address; used while the server starts.
pub async fn data_folder(url: &str) -> Result<PathBuf> {
    let connection = connect_within(url, Duration::from_secs(5)).await?;
    let question = Statement::from_string(DbBackend::MySql, "SELECT @@datadir AS folder");
    let row = connection.query_one_raw(question).await?.context("The server named no folder.")?;
    let folder: String = row.try_get("", "folder")?;
    connection.close().await?;
    Ok(PathBuf::from(folder))
}

/// A connection to a MySQL or a MariaDB, as its server sees it.
#[derive(Debug)]
pub struct Session {
    /// The account; `unauthenticated user` until the server knows it.
    pub account: String,
    /// The database in use.
    pub database: Option<String>,
    /// What it is doing.
    pub state: Option<String>,
}

/// The open connections of a server, or of all servers before a TiDB's store. MySQL refuses to show them as a table
/// while one runs a statement with characters outside the Basic Multilingual Plane.
pub async fn sessions(connection: &DatabaseConnection) -> Result<Vec<Session>> {
    let question = if is_tidb() {
        "SELECT user AS User, db, state AS State FROM information_schema.cluster_processlist"
    } else {
        "SHOW PROCESSLIST"
    };
    let shown = connection.query_all_raw(Statement::from_string(DbBackend::MySql, question)).await?;
    let session = |row: &QueryResult| {
        let (account, database) = (row.try_get("", "User")?, row.try_get("", "db")?);
        anyhow::Ok(Session { account, database, state: row.try_get("", "State")? })
    };
    shown.iter().map(session).collect()
}

/// Runs a statement directly, without the product.
pub async fn execute(database: &DatabaseConnection, sql: &str) -> Result<()> {
    database.execute_unprepared(sql).await.with_context(|| sql.to_owned())?;
    Ok(())
}

/// The first column of a statement's rows, as numbers.
pub async fn numbers(database: &DatabaseConnection, sql: &str) -> Result<Vec<i64>> {
    column(database, sql).await
}

/// The first column of a statement's rows.
pub async fn column<T: TryGetable>(database: &DatabaseConnection, sql: &str) -> Result<Vec<T>> {
    let statement = Statement::from_string(database.get_database_backend(), sql);
    let rows = database.query_all_raw(statement).await.with_context(|| sql.to_owned())?;
    rows.iter().map(|row| Ok(row.try_get_by_index(0)?)).collect()
}
