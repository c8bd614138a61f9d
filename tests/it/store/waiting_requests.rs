//! Tests how many requests are under way to a Redis that does not answer: no more than the bound, and the others wait.
//!
//! `CLIENT PAUSE` keeps the server from answering writes. What comes meanwhile stays in its buffer, whose size it tells
//! other connections.

use anyhow::{Context as _, Result, ensure};
use futures_util::{TryFutureExt as _, future::try_join_all};
use redis::aio::MultiplexedConnection;
use tidefeed::store::redis::{Redis, RedisOptions};

use crate::{
    binary::process::until,
    servers::{Kind, RedisCluster, Server, connect_redis},
};

const PATIENT_MS: u64 = 120_000;

/// Makes half as many requests again as may be under way, while nothing is answered.
async fn only_so_many_are_under_way(options: RedisOptions, server: &Server, bound: usize) -> Result<()> {
    let length = probe_length(&options);
    let options = RedisOptions { command_timeout_ms: PATIENT_MS, ..options };
    let redis = Redis::connect(options).await?;
    redis.probe_writes().await?;
    let mut operator = connect_redis(&server.url()).await?;
    let mut pause = redis::cmd("CLIENT");
    pause.arg("PAUSE").arg(PATIENT_MS).arg("WRITE").exec_async(&mut operator).await?;
    let asking = try_join_all((0..bound + bound / 2).map(|_| redis.probe_writes()));
    let watching = async {
        let mut most = 0;
        until("as many as may be are under way", async || {
            // The server has taken the first out of its buffer.
            let under_way = unread(&mut operator).await?.div_ceil(length) + 1;
            most = most.max(under_way);
            Ok(under_way >= bound)
        })
        .await?;
        ensure!(most == bound, "{most} were under way");
        redis::cmd("CLIENT").arg("UNPAUSE").exec_async(&mut operator).await?;
        Ok(())
    };
    tokio::try_join!(asking.map_err(anyhow::Error::from), watching)?;
    Ok(())
}

/// Bytes that the server has from the connection with most.
async fn unread(operator: &mut MultiplexedConnection) -> Result<usize> {
    let clients: String = redis::cmd("CLIENT").arg("LIST").query_async(operator).await?;
    let sizes = clients.split(' ').filter_map(|field| field.strip_prefix("qbuf="));
    sizes.map(|size| Ok(size.parse()?)).try_fold(0, |most, size: Result<usize>| Ok(most.max(size?)))
}

/// Bytes of [`Redis::probe_writes`].
fn probe_length(options: &RedisOptions) -> usize {
    let mut probe = redis::cmd("SET");
    probe.arg(format!("{}probe", options.prefix)).arg("").arg("PX").arg(10_000);
    probe.get_packed_command().len()
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_many_requests_to_a_silent_redis_few_are_under_way() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let options = RedisOptions { urls: vec![server.url()], ..RedisOptions::default() };
        only_so_many_are_under_way(options, &server, 1_024).await
    }
}

mod redis_cluster {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_many_requests_to_a_silent_cluster_few_are_under_way() -> Result<()> {
        let cluster = RedisCluster::start().await?;
        let options = RedisOptions { urls: cluster.urls(), cluster: true, ..RedisOptions::default() };
        let mut any = connect_redis(&cluster.urls()[0]).await?;
        let key = format!("{}probe", options.prefix);
        let slot: u16 = redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query_async(&mut any).await?;
        // Three masters in the order of their slots.
        let node = cluster.nodes().get(usize::from(slot) * 3 / 16_384).context("no node has the key")?;
        only_so_many_are_under_way(options, node, 4_096).await
    }
}
