//! A primary and its replica, which applies in parallel and commits in order.

use anyhow::{Context as _, Result};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbBackend, Statement};

use super::{EmptyDatabase, Kind, MigratedDatabase, Recipe, Server, connect_sql, execute};

/// Who reads on the replica, and may do nothing else.
const READER: &str = "reader";

/// Two servers of one kind.
pub struct Replicated {
    /// Takes writes.
    pub primary: Server,
    /// Follows the primary.
    pub replica: Server,
    /// Whoever may do everything on the replica.
    pub root: DatabaseConnection,
    kind: Kind,
}

impl Replicated {
    /// Starts both, and lets the one follow the other.
    pub async fn start(kind: Kind) -> Result<Self> {
        let (logging, following) = if kind == Kind::Mysql {
            (
                "--log-bin=log --gtid-mode=ON --enforce-gtid-consistency=ON --sync-binlog=0",
                "--replica-parallel-workers=4 --replica-preserve-commit-order=ON --skip-replica-start",
            )
        } else {
            (
                "--log-bin=log --binlog-format=ROW --log-slave-updates=OFF",
                "--slave-parallel-threads=4 --slave-parallel-mode=optimistic --slave-net-timeout=4",
            )
        };
        let recipe = |more: String| Recipe { more, ..kind.recipe() };
        let primary = recipe(format!("{logging} --server-id=1"));
        let replica = recipe(format!("{logging} {following} --server-id=2 --read-only=ON"));
        let (primary, replica) =
            tokio::try_join!(Server::start_from(kind, &primary), Server::start_from(kind, &replica))?;
        let root = connect_sql(&replica.url()).await?;
        let this = Self { primary, replica, root, kind };
        this.follow().await?;
        Ok(this)
    }

    /// Lets the replica follow the primary.
    async fn follow(&self) -> Result<()> {
        let port = self.primary.port();
        let monitor = if self.kind == Kind::Mysql {
            // The server's own accounts were made on both.
            execute(&self.root, "RESET BINARY LOGS AND GTIDS").await?;
            let source = format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
                 SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 100"
            );
            execute(&self.root, &source).await?;
            "REPLICATION CLIENT"
        } else {
            let source = format!(
                "CHANGE MASTER TO master_host = '127.0.0.1', master_port = {port}, master_user = 'root', \
                 master_use_gtid = slave_pos, master_connect_retry = 1"
            );
            execute(&self.root, &source).await?;
            "REPLICA MONITOR"
        };
        let primary = connect_sql(&self.primary.url()).await?;
        for sql in [
            format!("CREATE USER {READER}@'127.0.0.1'"),
            format!("GRANT SELECT, {monitor} ON *.* TO {READER}@'127.0.0.1'"),
        ] {
            execute(&primary, &sql).await?;
        }
        primary.close().await?;
        self.go_on("").await
    }

    /// Stops what this names: everything, or one thread (`SQL_THREAD`).
    pub async fn stop(&self, thread: &str) -> Result<()> {
        execute(&self.root, &format!("STOP {} {thread}", self.role())).await
    }

    /// Starts it again.
    pub async fn go_on(&self, thread: &str) -> Result<()> {
        execute(&self.root, &format!("START {} {thread}", self.role())).await
    }

    fn role(&self) -> &'static str {
        if self.kind == Kind::Mysql { "REPLICA" } else { "SLAVE" }
    }

    /// A new database with all tables on the primary.
    pub async fn migrated(&self) -> Result<MigratedDatabase> {
        EmptyDatabase::on(&self.primary).await?.migrated().await
    }

    /// The address of a database of the primary's on the replica, for who may only read.
    pub fn replica_of(&self, database: &str) -> Result<String> {
        let (_, name) = database.rsplit_once('/').context("The address names no database.")?;
        Ok(self.replica.url_for(READER, name))
    }

    /// Statements that the replica has run for who may only read.
    pub async fn read_statements(&self) -> Result<i64> {
        let sql = "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'";
        let row = self.root.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?;
        let value: String = row.context("The server counts nothing.")?.try_get_by_index(1)?;
        Ok(value.parse()?)
    }
}
