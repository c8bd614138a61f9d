//! What a migration sees of a database: its engine, its tables, and a way to change them.

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, Statement};

/// One change of the tables. Released ones stay as they are.
#[async_trait::async_trait]
pub trait Migrate: Send + Sync {
    /// The name under which the database remembers that it has run. Names sort in the order of time.
    fn name(&self) -> &'static str;

    /// Makes the change. Servers commit each change of a table at once, so a migration that was interrupted runs again:
    /// it checks what is there already.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr>;
}

/// An engine that keeps the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    /// MySQL and MariaDB.
    Mysql,
    /// TiDB: takes one change in each `ALTER TABLE`.
    Tidb,
}

/// The tables, within the transaction that migrates them.
#[derive(Debug)]
pub struct Schema<'c> {
    transaction: &'c DatabaseTransaction,
    engine: Engine,
}

impl<'c> Schema<'c> {
    pub(crate) async fn within(transaction: &'c DatabaseTransaction) -> Result<Self, DbErr> {
        let engine = match transaction.get_database_backend() {
            DbBackend::Sqlite => Engine::Sqlite,
            backend => {
                // A comment to all but TiDB, whose version is a setting.
                let question = Statement::from_string(backend, "SELECT CONCAT('' /*T! , 'TiDB' */)");
                let answer = transaction.query_one_raw(question).await?;
                let answer: String = answer.map(|row| row.try_get_by_index(0)).transpose()?.unwrap_or_default();
                if answer == "TiDB" { Engine::Tidb } else { Engine::Mysql }
            }
        };
        Ok(Self { transaction, engine })
    }

    /// The transaction, for migrations that read and write rows.
    pub fn transaction(&self) -> &'c DatabaseTransaction {
        self.transaction
    }

    /// `DbBackend::MySql` is MariaDB and TiDB, too.
    pub fn backend(&self) -> DbBackend {
        self.transaction.get_database_backend()
    }

    pub(crate) const fn engine(&self) -> Engine {
        self.engine
    }

    /// Runs one statement without values.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), DbErr> {
        self.transaction.execute_unprepared(sql).await.map(drop)
    }

    pub(crate) async fn has_column(&self, table: &str, column: &str) -> Result<bool, DbErr> {
        let question = match self.engine {
            // The other list of columns lacks the computed ones.
            Engine::Sqlite => "SELECT COUNT(*) FROM pragma_table_xinfo(?) WHERE name = ?",
            _ => {
                "SELECT COUNT(*) FROM information_schema.columns \
                 WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?"
            }
        };
        is_there(self.transaction, question, &[table, column]).await
    }

    /// On servers only: SQLite creates an index `IF NOT EXISTS`.
    pub(crate) async fn has_index(&self, table: &str, index: &str) -> Result<bool, DbErr> {
        let question = "SELECT COUNT(*) FROM information_schema.statistics \
                        WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?";
        is_there(self.transaction, question, &[table, index]).await
    }

    /// As [`Self::has_index`], with this column.
    pub(crate) async fn has_index_of(&self, table: &str, index: &str, column: &str) -> Result<bool, DbErr> {
        let question = "SELECT COUNT(*) FROM information_schema.statistics \
                        WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ? AND column_name = ?";
        is_there(self.transaction, question, &[table, index, column]).await
    }
}

/// Whether a `SELECT COUNT(*)` counts anything.
pub(crate) async fn is_there<C: ConnectionTrait>(database: &C, question: &str, names: &[&str]) -> Result<bool, DbErr> {
    let names = names.iter().map(|name| (*name).into());
    let question = Statement::from_sql_and_values(database.get_database_backend(), question, names);
    let row = database.query_one_raw(question).await?;
    Ok(row.map_or(Ok(0), |row| row.try_get_by_index::<i64>(0))? > 0)
}
