//! Tests writes on MySQL and MariaDB that are interrupted or fail on the server: each is stored completely or not at
//! all, and writes acknowledged after it are kept.

mod errors;
mod given_up;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::{
    domain::Position,
    store::{
        Accounts as _, Contents as _, ReadMarkers as _,
        contents::Published,
        sql::{SqlOptions, SqlStore},
    },
};

use crate::servers::{Backend, Kind, Line, MigratedDatabase, connect_sql, execute, numbers, shared};
use crate::store::conformance::{NOW, account, content, user};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A database behind a proxy, and a direct connection to its tables.
struct World {
    line: Line,
    database: MigratedDatabase,
    rows: DatabaseConnection,
}

impl World {
    /// A database with one user.
    async fn on(backend: Backend) -> Result<Self> {
        Self::in_database(backend, backend.migrated_database().await?).await
    }

    /// As [`Self::on`], with tables that may be altered.
    async fn on_own_tables(backend: Backend) -> Result<Self> {
        Self::in_database(backend, backend.empty_database().await?.migrated().await?).await
    }

    async fn in_database(backend: Backend, database: MigratedDatabase) -> Result<Self> {
        let kind = if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb };
        let line = Line::before(shared(kind).await?).await?;
        let rows = connect_sql(&database.url).await?;
        let world = Self { line, database, rows };
        let store = world.store(PATIENCE).await?;
        store.register(account(1, "ann")).await?;
        store.close().await?;
        Ok(world)
    }

    /// A store with one connection, which has prepared no statement yet.
    async fn store(&self, statement_timeout: Duration) -> Result<SqlStore> {
        let url = self.line.url(&self.database.url)?;
        let options = SqlOptions { url, max_connections: 1, acquire_timeout: PATIENCE, statement_timeout };
        Ok(SqlStore::connect(&options).await?)
    }

    /// An unused content id.
    async fn next(&self) -> Result<i64> {
        Ok(numbers(&self.rows, "SELECT CAST(COALESCE(MAX(id), 0) + 1 AS SIGNED) FROM contents").await?[0])
    }

    /// Whether this content exists, with all its rows.
    async fn has(&self, id: i64) -> Result<bool> {
        let sql = format!(
            "SELECT n FROM (SELECT 1 AS place, COUNT(*) AS n FROM contents WHERE id = {id} \
             UNION ALL SELECT 2, COUNT(*) FROM deliveries WHERE content_id = {id} \
             UNION ALL SELECT 3, (SELECT COUNT(*) FROM contents) - contents FROM user_counts WHERE user_id = 1) x \
             ORDER BY place"
        );
        let found = numbers(&self.rows, &sql).await?;
        ensure!(found == [0, 0, 0] || found == [1, 1, 0], "a part of content {id} is there: {found:?}");
        Ok(found[0] == 1)
    }

    /// Checks that a statement and a transaction that are acknowledged now are also committed, and that nobody holds a
    /// lock.
    async fn goes_on(&self, store: &SqlStore) -> Result<()> {
        let next = self.next().await? + 1;
        store.advance(user(1), Position::bound(NOW + next, next)).await.context("the next write")?;
        let marker = numbers(&self.rows, "SELECT content_id FROM read_markers").await?;
        ensure!(marker == [next], "the next write is acknowledged and not there: {marker:?}");
        let done = store.publish(content(next, 1, NOW + next)).await?;
        ensure!(matches!(done, Published::Created { .. }) && self.has(next).await?);
        for table in ["contents", "deliveries", "read_markers", "user_counts"] {
            execute(&self.rows, &format!("SELECT 1 FROM {table} FOR UPDATE NOWAIT")).await.context("who locks it?")?;
        }
        Ok(())
    }
}
