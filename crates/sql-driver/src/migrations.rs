//! A connection of sea-orm's, for migrations: they run once, over its transactions.

use sea_orm::{
    DatabaseConnection, SqlxMySqlConnector, SqlxSqliteConnector,
    sqlx::{self, ConnectOptions as _, pool::PoolOptions, sqlite::SqliteConnectOptions},
};
use store_error::StoreError;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    database::{Database, Writer},
    error::{connect_error, migration_error},
    server::connections::ServerConnections,
    sqlite::writer::SqliteWriter,
};

/// A connection with the permit of one that writes: on SQLite nothing of this process writes while it lasts.
#[derive(Debug)]
pub struct MigrationConnection {
    connection: DatabaseConnection,
    _permit: OwnedSemaphorePermit,
}

impl Database {
    /// A connection for migrations, once one may write. Its statements have no time limit on SQLite, and on a server
    /// that of all sessions.
    pub async fn for_migrations(&self) -> Result<MigrationConnection, StoreError> {
        let permit = self.permits.take().await?;
        let connection = match &self.writer {
            Writer::Server(connections) => to_server(connections).await,
            Writer::File(writer, _) => to_file(writer, self).await,
        };
        Ok(MigrationConnection { connection: connection.map_err(connect_error)?, _permit: permit })
    }
}

impl MigrationConnection {
    /// The connection.
    pub const fn sea_orm(&self) -> &DatabaseConnection {
        &self.connection
    }

    /// Closes it.
    pub async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await.map_err(migration_error)
    }
}

async fn to_file(writer: &SqliteWriter, database: &Database) -> Result<DatabaseConnection, sqlx::Error> {
    let file = SqliteConnectOptions::new().filename(writer.file());
    let file = file.busy_timeout(database.limits.lock_wait).disable_statement_logging();
    Ok(SqlxSqliteConnector::from_sqlx_sqlite_pool(one_connection().connect_with(file).await?))
}

/// In place of an idle connection, so that there are no more than permits.
async fn to_server(connections: &ServerConnections) -> Result<DatabaseConnection, sqlx::Error> {
    connections.close_one().await;
    let session = connections.clone();
    let pool = one_connection().acquire_timeout(connections.patience()).after_connect(move |connection, _| {
        let session = session.clone();
        Box::pin(async move { session.configure(connection).await })
    });
    Ok(SqlxMySqlConnector::from_sqlx_mysql_pool(pool.connect_with(connections.server().clone()).await?))
}

/// Options of a pool of one connection, without an idle time-out and a maximum lifetime. The task that enforces them
/// can occupy a core for ever (sqlx 0.9.0, transact-rs/sqlx#3645; fixed by #4289, which is not released).
fn one_connection<DB: sqlx::Database>() -> PoolOptions<DB> {
    PoolOptions::new().idle_timeout(None).max_lifetime(None).test_before_acquire(false).max_connections(1)
}
