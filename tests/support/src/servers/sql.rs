//! Creates databases and checks which SQL server answers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement};
use tempfile::TempDir;

use super::server::Server;

/// An empty database for one user. A SQLite one is removed with this value, the others with their server.
pub struct FreshDatabase {
    /// The URL, as `store.url` takes it.
    pub url: String,
    _folder: Option<TempDir>,
}

impl FreshDatabase {
    /// A SQLite file in its own folder.
    pub fn sqlite() -> Result<Self> {
        Self::sqlite_in(&std::env::temp_dir())
    }

    /// A SQLite file in its own folder within `parent`. The first connection creates the file.
    pub fn sqlite_in(parent: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tidefeed-test-").tempdir_in(parent)?;
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("tidefeed.db").display());
        Ok(Self { url, _folder: Some(folder) })
    }

    /// A new database on a MariaDB or a MySQL.
    pub async fn on(server: &Server) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let connection = connect(&server.url()).await?;
        connection.execute_unprepared(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).await?;
        connection.close().await?;
        Ok(Self { url: format!("{}{name}", server.url()), _folder: None })
    }
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

/// Runs a statement directly, without the product.
pub async fn execute(database: &DatabaseConnection, sql: &str) -> Result<()> {
    database.execute_unprepared(sql).await.with_context(|| sql.to_owned())?;
    Ok(())
}

/// The first column of a statement's rows, as numbers.
pub async fn numbers(database: &DatabaseConnection, sql: &str) -> Result<Vec<i64>> {
    let statement = Statement::from_string(database.get_database_backend(), sql);
    let rows = database.query_all_raw(statement).await.with_context(|| sql.to_owned())?;
    rows.iter().map(|row| Ok(row.try_get_by_index(0)?)).collect()
}
