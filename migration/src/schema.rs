//! What a migration sees of a database: its engine, its tables, and a way to change them.

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, Statement};

/// One change of the tables. Released ones stay as they are.
#[async_trait::async_trait]
pub trait Migrate: Send + Sync {
    /// The name under which the database remembers that it has run. Names sort in the order of time.
    fn name(&self) -> &'static str;

    /// Makes the change. MySQL and MariaDB commit each change of a table at once, so a migration that was interrupted
    /// runs again: it checks what is there already.
    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr>;
}

/// The tables, within the transaction that migrates them.
#[derive(Debug)]
pub struct Schema<'c>(&'c DatabaseTransaction);

impl<'c> Schema<'c> {
    pub(crate) fn within(transaction: &'c DatabaseTransaction) -> Self {
        Self(transaction)
    }

    /// The transaction, for migrations that read and write rows.
    pub fn transaction(&self) -> &'c DatabaseTransaction {
        self.0
    }

    /// `DbBackend::MySql` is MariaDB, too.
    pub fn backend(&self) -> DbBackend {
        self.0.get_database_backend()
    }

    /// Runs one statement without values.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), DbErr> {
        self.0.execute_unprepared(sql).await.map(drop)
    }

    pub(crate) async fn has_column(&self, table: &str, column: &str) -> Result<bool, DbErr> {
        let question = match self.backend() {
            // The other list of columns lacks the computed ones.
            DbBackend::Sqlite => "SELECT COUNT(*) FROM pragma_table_xinfo(?) WHERE name = ?",
            _ => {
                "SELECT COUNT(*) FROM information_schema.columns \
                 WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?"
            }
        };
        is_there(self.0, question, &[table, column]).await
    }

    /// On MySQL and MariaDB only: SQLite creates an index `IF NOT EXISTS`.
    pub(crate) async fn has_index(&self, table: &str, index: &str) -> Result<bool, DbErr> {
        let question = "SELECT COUNT(*) FROM information_schema.statistics \
                        WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?";
        is_there(self.0, question, &[table, index]).await
    }
}

/// Whether a `SELECT COUNT(*)` counts anything.
pub(crate) async fn is_there<C: ConnectionTrait>(database: &C, question: &str, names: &[&str]) -> Result<bool, DbErr> {
    let names = names.iter().map(|name| (*name).into());
    let question = Statement::from_sql_and_values(database.get_database_backend(), question, names);
    let row = database.query_one_raw(question).await?;
    Ok(row.map_or(Ok(0), |row| row.try_get_by_index::<i64>(0))? > 0)
}
