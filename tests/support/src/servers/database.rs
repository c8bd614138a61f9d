//! Databases for one caller each: empty ones, and ones with all tables.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, ensure};
use sea_orm::ConnectionTrait as _;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::server::Server;
use super::sql::{connect, open_store};

/// A new database without tables, for tests that migrate, alter tables or need fresh statistics. A SQLite one is
/// removed with this value, the others with their server.
pub struct EmptyDatabase {
    /// The URL, as `store.url` takes it. The account may do everything.
    pub url: String,
    folder: Option<TempDir>,
}

impl EmptyDatabase {
    /// A SQLite file in its own folder.
    pub fn sqlite() -> Result<Self> {
        Self::sqlite_in(&std::env::temp_dir())
    }

    /// A SQLite file in its own folder within `parent`. The first connection creates the file.
    pub fn sqlite_in(parent: &Path) -> Result<Self> {
        let (url, folder) = sqlite_in(parent)?;
        Ok(Self { url, folder: Some(folder) })
    }

    /// A new database on a MariaDB or a MySQL.
    pub async fn on(server: &Server) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("{}t{}", server.prefix(), NEXT.fetch_add(1, Ordering::Relaxed));
        let connection = connect(&server.url()).await?;
        connection.execute_unprepared(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).await?;
        connection.close().await?;
        Ok(Self { url: format!("{}{name}", server.url()), folder: None })
    }

    /// Creates the tables. Nobody else ever gets this database.
    pub async fn migrated(self) -> Result<MigratedDatabase> {
        let store = open_store(&self.url).await?;
        store.migrate().await?;
        store.close().await?;
        Ok(MigratedDatabase { url: self.url, _kept: Box::new(self.folder) })
    }
}

/// A database with all tables and without rows.
pub struct MigratedDatabase {
    /// The URL, as `store.url` takes it. The account of a lent database may change rows, but no table.
    pub url: String,
    /// Ends with this value.
    _kept: Box<dyn Send + Sync>,
}

impl MigratedDatabase {
    /// A copy of a SQLite file that this process has migrated once.
    pub async fn sqlite() -> Result<Self> {
        let (url, folder) = sqlite_in(&std::env::temp_dir())?;
        std::fs::write(folder.path().join(FILE_NAME), migrated_file().await?)?;
        Ok(Self { url, _kept: Box::new(folder) })
    }

    /// A database that goes back when `loan` is dropped.
    pub(super) fn lent(url: String, loan: impl Send + Sync + 'static) -> Self {
        Self { url, _kept: Box::new(loan) }
    }
}

const FILE_NAME: &str = "tidefeed.db";

fn sqlite_in(parent: &Path) -> Result<(String, TempDir)> {
    let folder = tempfile::Builder::new().prefix("tidefeed-test-").tempdir_in(parent)?;
    Ok((format!("sqlite://{}?mode=rwc", folder.path().join(FILE_NAME).display()), folder))
}

/// The bytes of a SQLite file with all tables and without rows. This process migrates it once.
pub async fn migrated_file() -> Result<&'static [u8]> {
    static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();
    Ok(FILE.get_or_try_init(make_migrated_file).await?)
}

async fn make_migrated_file() -> Result<Vec<u8>> {
    let database = EmptyDatabase::sqlite()?;
    let folder = database.folder.as_ref().context("a folder")?.path().to_owned();
    let _migrated = database.migrated().await?;
    ensure!(!folder.join(format!("{FILE_NAME}-wal")).exists(), "The migrated file has a log still.");
    Ok(std::fs::read(folder.join(FILE_NAME))?)
}
