//! The faults of Cassandra's nodes, and of what lies there.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use scylla::statement::Consistency;
use tidefeed::rng::SharedRng;
use tokio::time::{Instant, sleep};

use crate::cassandra::{Cassandras, KEYSPACE};
use crate::clients::{Clients, below};
use crate::deployment::Deployment;
use crate::faults::random_pause;

/// How long nodes are away at most: longer than the service waits before it gives the inboxes up.
const AWAY_MS: u32 = 9_000;
/// Time limit for statements that need every node.
const LIMIT: Duration = Duration::from_mins(2);

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CassandraFault {
    Killed,
    Silent,
    CutOff,
    /// Two of three nodes: there is no majority.
    TwoCutOff,
    /// Readers' headers go while everything runs; then all inboxes are renewed.
    HeadersLost,
    /// The tables are emptied while the service does not run, as docs/operations.md asks of operators.
    Emptied,
}

impl CassandraFault {
    pub const ALL: [Self; 6] =
        [Self::Killed, Self::Silent, Self::CutOff, Self::TwoCutOff, Self::HeadersLost, Self::Emptied];

    /// As the table names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Killed => "Cassandra node killed",
            Self::Silent => "Cassandra node silent",
            Self::CutOff => "Cassandra node cut off",
            Self::TwoCutOff => "two Cassandra nodes cut off",
            Self::HeadersLost => "Cassandra headers lost",
            Self::Emptied => "Cassandra emptied",
        }
    }
}

/// Lets one fault happen, from its beginning to its end.
pub async fn inject(
    fault: CassandraFault,
    deployment: &mut Deployment,
    clients: &Clients,
    rng: &SharedRng,
) -> Result<()> {
    if fault == CassandraFault::Emptied {
        return empty(deployment, clients).await;
    }
    let nodes = deployment.cassandras.as_ref().context("no Cassandra")?;
    let some = below(rng, nodes.nodes().len());
    let next = (some + 1) % nodes.nodes().len();
    match fault {
        CassandraFault::Killed => {
            nodes.nodes()[some].kill().await?;
            sleep(random_pause(rng)).await;
            nodes.nodes()[some].restart().await
        }
        CassandraFault::Silent => {
            nodes.nodes()[some].freeze()?;
            sleep(away(rng)).await;
            nodes.nodes()[some].thaw()
        }
        CassandraFault::CutOff => cut_off(nodes, &[some], rng).await,
        CassandraFault::TwoCutOff => cut_off(nodes, &[some, next], rng).await,
        CassandraFault::HeadersLost => {
            lose_headers(nodes).await?;
            deployment.command(&["inbox", "renew"]).await
        }
        CassandraFault::Emptied => Ok(()),
    }
}

fn away(rng: &SharedRng) -> Duration {
    Duration::from_millis(u64::from(rng.u32() % AWAY_MS))
}

/// Nothing reaches them, and in the end some of what was sent may do so late.
async fn cut_off(nodes: &Cassandras, some: &[usize], rng: &SharedRng) -> Result<()> {
    for node in some {
        nodes.hold(*node, true);
    }
    sleep(away(rng)).await;
    let is_lost = below(rng, 2) == 0;
    for node in some {
        if is_lost {
            nodes.cut(*node);
        }
        nodes.hold(*node, false);
    }
    Ok(())
}

/// One after another, as their own light-weight transactions.
async fn lose_headers(nodes: &Cassandras) -> Result<()> {
    let session = nodes.session(Consistency::Quorum).await?;
    let readers = session.query_unpaged(format!("SELECT user_id FROM {KEYSPACE}.inbox_headers"), ()).await?;
    let readers = readers.into_rows_result()?;
    for reader in readers.rows::<(i64,)>()? {
        let lost = format!("DELETE FROM {KEYSPACE}.inbox_headers WHERE user_id = ? IF EXISTS");
        session.query_unpaged(lost, reader?).await?;
    }
    Ok(())
}

async fn empty(deployment: &mut Deployment, clients: &Clients) -> Result<()> {
    for node in 0..deployment.nodes() {
        deployment.kill_node(node).await?;
    }
    truncate(deployment.cassandras.as_ref().context("no Cassandra")?).await?;
    for node in 0..deployment.nodes() {
        let address = deployment.start_node(node).await?;
        clients.api.moved(node, address);
    }
    Ok(())
}

/// It needs every node, and one that was away takes a moment to be seen by the others.
async fn truncate(nodes: &Cassandras) -> Result<()> {
    let (session, deadline) = (nodes.session(Consistency::Quorum).await?, Instant::now() + LIMIT);
    for table in ["inbox_headers", "inbox_rows", "inbox_identity"] {
        while let Err(error) = session.query_unpaged(format!("TRUNCATE {KEYSPACE}.{table}"), ()).await {
            ensure!(Instant::now() < deadline, "{error}");
            sleep(Duration::from_millis(500)).await;
        }
    }
    Ok(())
}
