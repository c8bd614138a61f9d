//! The faults, all from outside: processes that die and come back, a Redis that forgets, lines that break. Each is
//! over when it returns.

use std::collections::BTreeMap;
use std::slice;
use std::time::Duration;

use anyhow::{Result, ensure};
use tidefeed::rng::SharedRng;
use tokio::time::{Instant, sleep};

use crate::cassandra_faults::{self, CassandraFault};
use crate::clients::{Clients, below};
use crate::deployment::Deployment;
use crate::master_faults::{self, MasterFault};
use crate::proxy::Proxy;
use crate::replica::{self, ReplicaFault};
use crate::servers::{Server, connect_redis, execute, is_running};

/// Ends the claim of some readers that they were here lately, as long absence would: the next sweeper takes them out
/// of deliveries.
const LAPSE: &str = "UPDATE inbox_states SET last_seen = 0 WHERE user_id % 3 = ";

/// SQLite's lock goes to whoever tries next, not to whoever has waited longest: beside busy nodes, another process may
/// wait for seconds.
const PATIENCE: &str = "PRAGMA busy_timeout = 60000";

/// Twice as long as any statement may take.
const FULL_AT_LEAST: Duration = Duration::from_secs(3);
/// Space that somebody frees is taken again after this.
const REFILL_EVERY: Duration = Duration::from_millis(20);

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    NodeKilled,
    RedisBackEmpty,
    RedisBackOld,
    RedisFlushed,
    SqlKilled,
    SqlCut,
    SqlSlow,
    SqlHeld,
    DiskFull,
    RedisCut,
    RedisSlow,
    RedisHeld,
    Master(MasterFault),
    Cassandra(CassandraFault),
    Replica(ReplicaFault),
}

impl Fault {
    const ALL: [Self; 12] = [
        Self::NodeKilled,
        Self::RedisBackEmpty,
        Self::RedisBackOld,
        Self::RedisFlushed,
        Self::SqlKilled,
        Self::SqlCut,
        Self::SqlSlow,
        Self::SqlHeld,
        Self::DiskFull,
        Self::RedisCut,
        Self::RedisSlow,
        Self::RedisHeld,
    ];

    /// As the table names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NodeKilled => "node killed",
            Self::RedisBackEmpty => "Redis back empty",
            Self::RedisBackOld => "Redis back from an old dump",
            Self::RedisFlushed => "Redis flushed",
            Self::SqlKilled => "SQL killed",
            Self::SqlCut => "SQL cut off",
            Self::SqlSlow => "SQL slow",
            Self::SqlHeld => "SQL silent",
            Self::DiskFull => "disk full",
            Self::RedisCut => "Redis cut off",
            Self::RedisSlow => "Redis slow",
            Self::RedisHeld => "Redis silent",
            Self::Master(fault) => fault.name(),
            Self::Cassandra(fault) => fault.name(),
            Self::Replica(fault) => fault.name(),
        }
    }

    fn is_of_sql(self) -> bool {
        matches!(self, Self::SqlKilled | Self::SqlCut | Self::SqlSlow | Self::SqlHeld)
    }
}

/// Faults so far, by kind.
pub type Tally = BTreeMap<Fault, u64>;

/// Every fault that this deployment can have, each node's death counted as one, in an order that is drawn.
pub fn shuffled_faults(deployment: &Deployment, rng: &SharedRng) -> Vec<Fault> {
    let fits = |fault: &Fault| match fault {
        Fault::NodeKilled => true,
        Fault::DiskFull => deployment.disk.is_some(),
        fault if fault.is_of_sql() => deployment.sql.is_some(),
        _ => !deployment.redis_servers().is_empty(),
    };
    let mut faults: Vec<Fault> = Fault::ALL.into_iter().filter(fits).collect();
    faults.extend(MasterFault::of(deployment.setup).iter().copied().map(Fault::Master));
    if deployment.cassandras.is_some() {
        faults.extend(CassandraFault::ALL.map(Fault::Cassandra));
    }
    if deployment.replica.is_some() {
        faults.extend(ReplicaFault::ALL.map(Fault::Replica));
    }
    faults.extend([Fault::NodeKilled; 2]);
    for index in (1..faults.len()).rev() {
        faults.swap(index, below(rng, index + 1));
    }
    faults
}

/// Lets one fault happen, from its beginning to its end.
pub async fn inject(fault: Fault, deployment: &mut Deployment, clients: &Clients, rng: &SharedRng) -> Result<()> {
    let some = below(rng, deployment.redis_servers().len());
    match fault {
        Fault::NodeKilled => return kill_node(deployment, clients, rng).await,
        Fault::DiskFull => fill_disk(deployment, rng).await?,
        Fault::RedisBackEmpty => kill_redis(&deployment.redis_servers()[some], rng, false).await?,
        Fault::RedisBackOld => kill_redis(&deployment.redis_servers()[some], rng, true).await?,
        Fault::RedisFlushed => {
            for server in deployment.redis_servers() {
                redis_says(server, "FLUSHALL").await?;
            }
        }
        Fault::SqlKilled => {
            if let Some((server, _)) = &deployment.sql {
                server.kill().await?;
                sleep(random_pause(rng)).await;
                server.restart().await?;
            }
        }
        Fault::SqlCut | Fault::SqlSlow | Fault::SqlHeld => {
            if let Some((_, line)) = &deployment.sql {
                spoil(line_fault(fault), slice::from_ref(line), rng).await;
            }
        }
        Fault::Master(fault) => return master_faults::inject(fault, deployment, rng).await,
        Fault::Replica(fault) => return replica::inject(fault, deployment, rng).await,
        Fault::Cassandra(fault) => return cassandra_faults::inject(fault, deployment, clients, rng).await,
        Fault::RedisCut | Fault::RedisSlow | Fault::RedisHeld => {
            spoil(line_fault(fault), deployment.redis_lines(some), rng).await;
        }
    }
    Ok(())
}

async fn kill_node(deployment: &mut Deployment, clients: &Clients, rng: &SharedRng) -> Result<()> {
    let node = below(rng, deployment.nodes_of_this_version());
    if below(rng, 2) == 0 {
        let database = deployment.database().await?;
        if deployment.sql.is_none() {
            execute(&database, PATIENCE).await?;
        }
        execute(&database, &format!("{LAPSE}{}", below(rng, 3))).await?;
    }
    deployment.kill_node(node).await?;
    sleep(random_pause(rng)).await;
    let address = deployment.start_node(node).await?;
    clients.api.moved(node, address);
    Ok(())
}

/// No room for some seconds, in which everybody goes on. A server that ends itself is started again, as one that was
/// killed.
async fn fill_disk(deployment: &Deployment, rng: &SharedRng) -> Result<()> {
    let Some(disk) = &deployment.disk else { return Ok(()) };
    disk.fill().await?;
    if deployment.sql.is_none() {
        // SQLite writes over what its log has taken, without asking for more. It keeps what finds no room in the
        // database.
        let _ = execute(&deployment.database().await?, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    }
    let until = Instant::now() + FULL_AT_LEAST + random_pause(rng);
    while Instant::now() < until {
        disk.fill().await?;
        sleep(REFILL_EVERY).await;
    }
    disk.free().await?;
    if let Some((server, _)) = &deployment.sql
        && !is_running(server.pid())
    {
        server.restart().await?;
    }
    Ok(())
}

/// What it comes back with is what was saved a while before it died, or nothing.
async fn kill_redis(server: &Server, rng: &SharedRng, from_dump: bool) -> Result<()> {
    let dump = server.folder().join("dump.rdb");
    if from_dump {
        redis_says(server, "SAVE").await?;
        ensure!(dump.exists(), "Redis has saved nothing");
        sleep(random_pause(rng)).await;
    }
    server.kill().await?;
    if !from_dump && dump.exists() {
        std::fs::remove_file(&dump)?;
    }
    sleep(random_pause(rng)).await;
    server.restart().await
}

async fn redis_says(server: &Server, command: &str) -> Result<()> {
    let mut connection = connect_redis(&server.url()).await?;
    Ok(redis::cmd(command).query_async(&mut connection).await?)
}

/// What becomes of lines.
#[derive(Debug, Clone, Copy)]
pub enum LineFault {
    Cut,
    Slow,
    Held,
}

const fn line_fault(fault: Fault) -> LineFault {
    match fault {
        Fault::SqlSlow | Fault::RedisSlow => LineFault::Slow,
        Fault::SqlHeld | Fault::RedisHeld => LineFault::Held,
        _ => LineFault::Cut,
    }
}

/// Longer than what the nodes wait for at times, shorter than clients think a request can live.
pub async fn spoil(fault: LineFault, lines: &[Proxy], rng: &SharedRng) {
    match fault {
        LineFault::Slow => {
            let delay = Duration::from_millis(5 + u64::from(rng.u32() % 60));
            for line in lines {
                line.slow_down(delay);
            }
            sleep(2 * random_pause(rng)).await;
            for line in lines {
                line.slow_down(Duration::ZERO);
            }
        }
        LineFault::Held => {
            for line in lines {
                line.hold(true);
            }
            sleep(2 * random_pause(rng)).await;
            for line in lines {
                line.hold(false);
            }
        }
        LineFault::Cut => {
            for _ in 0..3 {
                lines.iter().for_each(Proxy::cut);
                sleep(random_pause(rng) / 4).await;
            }
        }
    }
}

/// Up to a second and a bit, mostly much less.
pub fn random_pause(rng: &SharedRng) -> Duration {
    let longest = 1 + u64::from(rng.u32() % 1_200);
    Duration::from_millis(u64::from(rng.u32()) % longest)
}
