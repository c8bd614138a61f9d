//! The lines to the masters of a Redis Cluster, which name themselves to clients.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use crate::proxy::Proxy;
use crate::servers::{Server, connect_redis};

/// How long the masters may take.
const LIMIT: Duration = Duration::from_mins(3);

/// Makes the masters name their lines to clients, now and after every restart.
pub async fn announce(servers: &[Server], lines: &[Proxy]) -> Result<()> {
    for (server, line) in servers.iter().zip(lines) {
        std::fs::write(server.folder().join("announced-port"), line.port().to_string())?;
        let mut connection = connect_redis(&server.url()).await?;
        let set = redis::cmd("CONFIG").arg("SET").arg("cluster-announce-port").arg(line.port()).to_owned();
        let () = set.query_async(&mut connection).await?;
    }
    let deadline = Instant::now() + LIMIT;
    for server in servers {
        let mut connection = connect_redis(&server.url()).await?;
        loop {
            let nodes: String = redis::cmd("CLUSTER").arg("NODES").query_async(&mut connection).await?;
            if lines.iter().all(|line| nodes.contains(&format!(":{}@", line.port()))) {
                break;
            }
            if Instant::now() > deadline {
                bail!("the masters do not name their lines:\n{nodes}");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}
