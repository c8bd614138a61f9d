//! Queries the database behind a node on the bench's own connection.

use std::{path::Path, time::Duration};

use anyhow::Result;
use rusqlite::types::FromSql;
use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Decode, MySqlConnection, Row as _, Type};

use crate::world::Engine;

/// The name of the database on a MariaDB.
pub const NAME: &str = "bench";

/// One connection.
pub enum Database {
    Sqlite(rusqlite::Connection),
    MariaDb(MySqlConnection),
}

impl Database {
    /// Opens an existing SQLite file; fails if it is missing.
    pub fn sqlite(file: &Path) -> Result<Self> {
        let connection = rusqlite::Connection::open(file)?;
        connection.busy_timeout(Duration::from_secs(30))?;
        Ok(Self::Sqlite(connection))
    }

    /// The database [`NAME`] of the server on this port.
    pub async fn mariadb(port: u16) -> Result<Self> {
        Ok(Self::MariaDb(connect(port, Some(NAME)).await?))
    }

    /// The first column of each row, which holds integers.
    pub async fn numbers(&mut self, sql: &str) -> Result<Vec<i64>> {
        self.column(sql).await
    }

    /// The single number that a statement returns; 0 if it returns no row.
    pub async fn number(&mut self, sql: &str) -> Result<i64> {
        Ok(self.numbers(sql).await?.first().copied().unwrap_or_default())
    }

    /// The first column of each row, which holds texts.
    pub async fn texts(&mut self, sql: &str) -> Result<Vec<String>> {
        self.column(sql).await
    }

    /// Whether it is SQLite or MariaDB.
    pub const fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::MariaDb(_) => Engine::MariaDb,
        }
    }

    /// The columns of a table, in order.
    pub async fn columns(&mut self, table: &str) -> Result<Vec<String>> {
        let sql = match self {
            Self::Sqlite(_) => format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"),
            Self::MariaDb(_) => format!(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() \
                 AND table_name = '{table}' ORDER BY ordinal_position"
            ),
        };
        self.texts(&sql).await
    }

    async fn column<T>(&mut self, sql: &str) -> Result<Vec<T>>
    where
        T: FromSql + Type<MySql> + for<'row> Decode<'row, MySql>,
    {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map([], |row| row.get(0))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            }
            Self::MariaDb(connection) => {
                let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await?;
                Ok(rows.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>()?)
            }
        }
    }

    /// Runs one statement; returns how many rows it changed.
    pub async fn execute(&mut self, sql: &str) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute(sql, [])? as u64),
            Self::MariaDb(connection) => {
                Ok(sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await?.rows_affected())
            }
        }
    }

    /// Ends the connection.
    pub async fn close(self) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.close().map_err(|(_, error)| error)?),
            Self::MariaDb(connection) => Ok(connection.close().await?),
        }
    }
}

/// A connection to the MariaDB on this port.
pub async fn connect(port: u16, database: Option<&str>) -> Result<MySqlConnection> {
    let options = MySqlConnectOptions::new().host("127.0.0.1").port(port).username("root");
    let options = options.ssl_mode(MySqlSslMode::Disabled).disable_statement_logging();
    let options = if let Some(name) = database { options.database(name) } else { options };
    Ok(options.connect().await?)
}
