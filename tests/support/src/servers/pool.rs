//! Lends migrated databases of a server to one caller after another, because migrating costs a hundred times as much as
//! emptying.
//!
//! Each loan has an account of its own, which may change rows but no table. The account ends with the loan, so nobody
//! can connect any more, and the database is lent again only when its last connection has ended as well.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use sea_orm::DatabaseConnection;

use super::database::{EmptyDatabase, MigratedDatabase};
use super::server::Server;
use super::sql::{column, connect, execute, numbers, sessions};

/// What a service needs, and `CREATE` of the one table that it creates at each start if it is missing.
const RIGHTS: &str = "GRANT PROCESS ON *.* TO {account}; \
     GRANT SELECT, INSERT, UPDATE, DELETE, LOCK TABLES ON {database}.* TO {account}; \
     GRANT CREATE ON {database}.seaql_migrations TO {account}";

/// Numbers of accounts.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The account of a connection that has not said who it is.
const UNKNOWN: &str = "unauthenticated user";

/// The databases of one server that were lent, the longest unused first.
pub struct DatabasePool {
    server: &'static Server,
    returned: Mutex<VecDeque<Returned>>,
}

/// A migrated database.
#[derive(Clone)]
struct Tables {
    database: String,
    /// Statements that delete all rows except those about migrations.
    emptying: Arc<str>,
    migrations: i64,
}

impl Tables {
    /// How many migrations its tables say have run.
    async fn migrations(&self, connection: &DatabaseConnection) -> Result<i64> {
        let counted = numbers(connection, &format!("SELECT COUNT(*) FROM {}.seaql_migrations", self.database)).await?;
        counted.first().copied().context("no count")
    }
}

/// A database after a loan. Connections of its last account may be open still.
struct Returned {
    tables: Tables,
    account: String,
}

/// The right to use a database. Dropping it returns the database.
pub struct Loan {
    pool: &'static DatabasePool,
    tables: Tables,
    account: String,
}

impl Drop for Loan {
    fn drop(&mut self) {
        let returned = Returned { tables: self.tables.clone(), account: self.account.clone() };
        self.pool.returned().push_back(returned);
    }
}

impl DatabasePool {
    /// A pool without databases.
    pub fn on(server: &'static Server) -> Self {
        Self { server, returned: Mutex::default() }
    }

    /// A database that nobody else has: a returned one, or a new one if none is free.
    pub async fn lend(&'static self) -> Result<MigratedDatabase> {
        let root = connect(&self.server.url()).await?;
        let tables = match self.take_free(&root).await? {
            Some(tables) => tables,
            None => self.create().await?,
        };
        let account = format!("{}loan{}", self.server.prefix(), NEXT.fetch_add(1, Ordering::Relaxed));
        let rights = RIGHTS.replace("{account}", &account).replace("{database}", &tables.database);
        execute(&root, &format!("CREATE USER {account}; {rights}")).await?;
        root.close().await?;
        self.refresh_rights().await?;
        let url = self.server.url_for(&account, &tables.database);
        Ok(MigratedDatabase::lent(url, Loan { pool: self, tables, account }))
    }

    /// An emptied database whose last user has no connection any more. One whose list of migrations has changed is
    /// never lent again.
    async fn take_free(&self, root: &DatabaseConnection) -> Result<Option<Tables>> {
        let count = self.returned().len();
        for _ in 0..count {
            let Some(Returned { tables, account }) = self.returned().pop_front() else { break };
            execute(root, &format!("DROP USER IF EXISTS {account}")).await?;
            self.refresh_rights().await?;
            // Who is connecting at this moment may have been let in before.
            let open = sessions(root).await?.iter().any(|it| it.account == account || it.account == UNKNOWN);
            if open {
                self.returned().push_back(Returned { tables, account });
            } else if tables.migrations(root).await? == tables.migrations {
                execute(root, &tables.emptying).await?;
                return Ok(Some(tables));
            }
        }
        Ok(None)
    }

    /// The servers of a TiDB learn a moment later of accounts that others have made or dropped.
    async fn refresh_rights(&self) -> Result<()> {
        for server in self.server.behind() {
            let server = connect(server).await?;
            execute(&server, "FLUSH PRIVILEGES").await?;
            server.close().await?;
        }
        Ok(())
    }

    async fn create(&self) -> Result<Tables> {
        let made = EmptyDatabase::on(self.server).await?.migrated().await?;
        let (_, database) = made.url.rsplit_once('/').context("The address names no database.")?;
        let new = connect(&made.url).await?;
        let names: Vec<String> = column(
            &new,
            "SELECT table_name FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name <> 'seaql_migrations'",
        )
        .await?;
        let deletes: Vec<_> = names.iter().map(|table| format!("DELETE FROM {database}.{table}; ")).collect();
        let counts: Vec<_> = names.iter().map(|table| format!("SELECT COUNT(*) FROM {table}")).collect();
        let rows = numbers(&new, &counts.join(" UNION ALL ")).await?;
        ensure!(rows.iter().all(|count| *count == 0), "A migration leaves rows, which emptying would delete.");
        let emptying = format!("BEGIN; {}COMMIT", deletes.concat()).into();
        let mut tables = Tables { database: database.to_owned(), emptying, migrations: 0 };
        tables.migrations = tables.migrations(&new).await?;
        new.close().await?;
        Ok(tables)
    }

    fn returned(&self) -> MutexGuard<'_, VecDeque<Returned>> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
