//! A primary and its replica, which applies in parallel and commits in order.

use anyhow::{Context as _, Result};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbBackend, Statement};

use super::{EmptyDatabase, Kind, MigratedDatabase, Recipe, Server, connect_sql, execute};

/// Who reads on the replica, and may do nothing else.
pub(super) const READER: &str = "reader";

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
        let [primary, replica] = Box::pin(primary_and_replica(kind, &kind.recipe())).await?;
        let root = connect_sql(&replica.url()).await?;
        follow(kind, &root, primary.port()).await?;
        let this = Self { primary, replica, root, kind };
        this.go_on("").await?;
        Ok(this)
    }

    /// Stops what this names: everything, or one thread (`SQL_THREAD`).
    pub async fn stop(&self, thread: &str) -> Result<()> {
        execute(&self.root, &format!("STOP {} {thread}", role(self.kind))).await
    }

    /// Starts it again.
    pub async fn go_on(&self, thread: &str) -> Result<()> {
        execute(&self.root, &format!("START {} {thread}", role(self.kind))).await
    }

    /// A new database with all tables on the primary.
    pub async fn migrated(&self) -> Result<MigratedDatabase> {
        EmptyDatabase::on(&self.primary).await?.migrated().await
    }

    /// The address of a database of the primary's on the replica, for who may only read.
    pub fn replica_of(&self, database: &str) -> Result<String> {
        let (_, name) = database.rsplit_once('/').context("The address names no database.")?;
        Ok(reader_url(&self.replica, name))
    }

    /// As [`read_statements`].
    pub async fn read_statements(&self) -> Result<i64> {
        read_statements(&self.root).await
    }
}

/// Statements with values that a server has run since it was started.
pub async fn read_statements(server: &DatabaseConnection) -> Result<i64> {
    let sql = "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'";
    let row = server.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?;
    let value: String = row.context("The server counts nothing.")?.try_get_by_index(1)?;
    Ok(value.parse()?)
}

/// A primary and a replica that does not follow it yet, by this recipe.
pub async fn primary_and_replica(kind: Kind, recipe: &Recipe) -> Result<[Server; 2]> {
    let with = |options: &String| {
        let program = recipe.program.clone();
        Recipe { program, within: recipe.within.clone(), more: format!("{options} {}", recipe.more), ..*recipe }
    };
    let [primary, replica] = replication_options(kind);
    let (primary, replica) = (with(&primary), with(&replica));
    let (primary, replica) = tokio::try_join!(Server::start_from(kind, &primary), Server::start_from(kind, &replica))?;
    if kind == Kind::Mysql {
        // The server's own accounts were made on both.
        let root = connect_sql(&replica.url()).await?;
        execute(&root, "RESET BINARY LOGS AND GTIDS").await?;
        root.close().await?;
    }
    admit_reader(kind, &primary).await?;
    Ok([primary, replica])
}

/// Options of a primary, and of a replica that applies in parallel and commits in order.
fn replication_options(kind: Kind) -> [String; 2] {
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
    [format!("{logging} --server-id=1"), format!("{logging} {following} --server-id=2 --read-only=ON")]
}

/// Names the primary on this port to a replica, which does not begin to follow it yet.
pub async fn follow(kind: Kind, replica: &DatabaseConnection, port: u16) -> Result<()> {
    let source = if kind == Kind::Mysql {
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
             SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 100000"
        )
    } else {
        format!(
            "CHANGE MASTER TO master_host = '127.0.0.1', master_port = {port}, master_user = 'root', \
             master_use_gtid = slave_pos, master_connect_retry = 1"
        )
    };
    execute(replica, &source).await
}

/// Lets somebody read who may do nothing else, on this server and its replicas.
pub(super) async fn admit_reader(kind: Kind, primary: &Server) -> Result<()> {
    let monitor = if kind == Kind::Mysql { "REPLICATION CLIENT" } else { "REPLICA MONITOR" };
    let primary = connect_sql(&primary.url()).await?;
    for sql in
        [format!("CREATE USER {READER}@'127.0.0.1'"), format!("GRANT SELECT, {monitor} ON *.* TO {READER}@'127.0.0.1'")]
    {
        execute(&primary, &sql).await?;
    }
    Ok(primary.close().await?)
}

/// Where they read this database.
pub fn reader_url(replica: &Server, database: &str) -> String {
    replica.url_for(READER, database)
}

/// What the server calls a replica.
pub const fn role(kind: Kind) -> &'static str {
    if matches!(kind, Kind::Mysql) { "REPLICA" } else { "SLAVE" }
}
