//! A replica of the SQL primary, on which the nodes read, and its faults. The nodes reach it on a bad line, and on
//! another one it reaches the primary.

use std::mem;
use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::rng::SharedRng;
use tokio::time::sleep;

use crate::binary::process::until;
use crate::deployment::Deployment;
use crate::faults::{LineFault, random_pause, spoil};
use crate::proxy::Proxy;
use crate::servers::{
    Kind, Recipe, Server, column, connect_sql, execute, follow, numbers, primary_and_replica, read_statements,
    reader_url, role,
};

/// How long what it lacks may come late, at most: longer than a read waits for it.
const LATE_MS: u32 = 4_000;
/// How long a replica may take to have all that its primary has.
const LIMIT_S: u32 = 60;
/// Sessions that use a database, besides this one.
const SESSIONS: &str =
    "SELECT COUNT(*) FROM information_schema.processlist WHERE db IS NOT NULL AND id <> CONNECTION_ID()";

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplicaFault {
    Killed,
    CutOff,
    Slow,
    Silent,
    /// It gets what the primary commits, and does not apply it for a while.
    Late,
    /// It does not hear of its primary for a while.
    Behind,
    /// It takes the primary's place, and the former primary its.
    Promoted,
}

impl ReplicaFault {
    pub const ALL: [Self; 7] =
        [Self::Killed, Self::CutOff, Self::Slow, Self::Silent, Self::Late, Self::Behind, Self::Promoted];

    /// As the table names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Killed => "replica killed",
            Self::CutOff => "replica cut off",
            Self::Slow => "replica slow",
            Self::Silent => "replica silent",
            Self::Late => "replica applies nothing",
            Self::Behind => "replica receives nothing",
            Self::Promoted => "replica promoted",
        }
    }
}

/// The replica and its lines.
pub struct Replica {
    kind: Kind,
    server: Server,
    /// From the nodes.
    line: Proxy,
    /// To the primary.
    upstream: Proxy,
}

/// Starts a primary and its replica within this folder.
pub async fn replicated(kind: Kind, within: PathBuf) -> Result<(Server, Replica)> {
    let more = if kind == Kind::Mysql { "" } else { "--log-slave-updates=ON" }.to_owned();
    let recipe = Recipe { within, more, ..kind.recipe() };
    let [primary, server] = Box::pin(primary_and_replica(kind, &recipe)).await?;
    let (line, upstream) = tokio::try_join!(Proxy::before(server.port()), Proxy::before(primary.port()))?;
    let root = connect_sql(&server.url()).await?;
    follow(kind, &root, upstream.port()).await?;
    root.close().await?;
    let replica = Replica { kind, server, line, upstream };
    replica.take_role().await?;
    Ok((primary, replica))
}

impl Replica {
    /// Where the nodes read this database of the primary's, on the bad line.
    pub fn url(&self, database: &str) -> Result<String> {
        let (_, name) = database.rsplit_once('/').context("the address names no database")?;
        let past = reader_url(&self.server, name);
        Ok(past.replace(&format!(":{}/", self.server.port()), &format!(":{}/", self.line.port())))
    }

    /// Statements that it has run for the nodes since it was started.
    pub async fn reads(&self) -> Result<i64> {
        let root = self.root().await?;
        let reads = read_statements(&root).await?;
        root.close().await?;
        Ok(reads)
    }

    pub fn lines(&self) -> [&Proxy; 2] {
        [&self.line, &self.upstream]
    }

    async fn root(&self) -> Result<DatabaseConnection> {
        connect_sql(&self.server.url()).await
    }

    /// Reads only, and follows its primary.
    async fn take_role(&self) -> Result<()> {
        let root = self.root().await?;
        execute(&root, "SET GLOBAL read_only = ON").await?;
        execute(&root, &format!("START {}", role(self.kind))).await?;
        Ok(root.close().await?)
    }

    async fn kill(&self, rng: &SharedRng) -> Result<()> {
        self.server.kill().await?;
        sleep(random_pause(rng)).await;
        self.server.restart().await?;
        self.take_role().await
    }

    async fn apply_nothing(&self, rng: &SharedRng) -> Result<()> {
        let root = self.root().await?;
        execute(&root, &format!("STOP {} SQL_THREAD", role(self.kind))).await?;
        sleep(late(rng)).await;
        execute(&root, &format!("START {} SQL_THREAD", role(self.kind))).await?;
        Ok(root.close().await?)
    }

    /// Takes the primary's place once it has all that was committed there. Whoever was at it is cut off before that:
    /// what they had not committed is rolled back.
    pub async fn promote(&mut self, primary: &mut Server, line: &Proxy) -> Result<()> {
        line.lead_to(0);
        let [former, root] = [connect_sql(&primary.url()).await?, self.root().await?];
        until("nobody is at the primary", async || Ok(numbers(&former, SESSIONS).await? == [0])).await?;
        let (position, wait) = if self.kind == Kind::Mysql {
            ("SELECT @@gtid_executed", "WAIT_FOR_EXECUTED_GTID_SET")
        } else {
            ("SELECT @@gtid_binlog_pos", "MASTER_GTID_WAIT")
        };
        let position: Vec<String> = column(&former, position).await?;
        let position = position.first().context("the primary has no position")?.replace('\n', "");
        let waited = numbers(&root, &format!("SELECT {wait}('{position}', {LIMIT_S})")).await?;
        ensure!(waited == [0], "the replica does not come to {position}");
        former.close().await?;
        primary.kill().await?;
        let role = role(self.kind);
        for statement in [format!("STOP {role}"), format!("RESET {role} ALL"), "SET GLOBAL read_only = OFF".to_owned()]
        {
            execute(&root, &statement).await?;
        }
        root.close().await?;
        mem::swap(primary, &mut self.server);
        line.lead_to(primary.port());
        self.upstream.lead_to(primary.port());
        self.server.restart().await?;
        let root = self.root().await?;
        if self.kind != Kind::Mysql {
            // It follows from where it was the primary.
            execute(&root, "SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos").await?;
        }
        follow(self.kind, &root, self.upstream.port()).await?;
        root.close().await?;
        self.take_role().await?;
        self.line.lead_to(self.server.port());
        Ok(())
    }
}

fn late(rng: &SharedRng) -> Duration {
    Duration::from_millis(u64::from(rng.u32() % LATE_MS))
}

/// Lets one fault happen, from its beginning to its end.
pub async fn inject(fault: ReplicaFault, deployment: &mut Deployment, rng: &SharedRng) -> Result<()> {
    if fault == ReplicaFault::Promoted {
        return deployment.promote_replica().await;
    }
    let replica = deployment.replica.as_ref().context("no replica")?;
    match fault {
        ReplicaFault::Killed => replica.kill(rng).await?,
        ReplicaFault::Late => replica.apply_nothing(rng).await?,
        ReplicaFault::CutOff => spoil(LineFault::Cut, slice::from_ref(&replica.line), rng).await,
        ReplicaFault::Slow => spoil(LineFault::Slow, slice::from_ref(&replica.line), rng).await,
        ReplicaFault::Silent | ReplicaFault::Behind => {
            let line = if fault == ReplicaFault::Silent { &replica.line } else { &replica.upstream };
            line.hold(true);
            sleep(late(rng)).await;
            line.hold(false);
        }
        ReplicaFault::Promoted => {}
    }
    Ok(())
}
