//! A Redis Cluster over TLS.

use std::time::Duration;

use anyhow::Result;
use tidefeed::store::redis::{Redis, RedisOptions};

use super::{Files, NAMES};
use crate::servers::{Kind, Recipe, RedisCluster, Validity, connect_redis};

/// Nodes that speak TLS on a port of their own, also to each other.
async fn cluster(files: &Files) -> Result<RedisCluster> {
    let folder = files.folder();
    let mut recipe: Recipe = Kind::RedisNode.recipe();
    recipe.serve = r#"exec "$program" --port "$port" --tls-port $((port + 5000)) --dir "$folder" --bind 127.0.0.1 \
        --save '' --appendonly no --cluster-enabled yes --cluster-node-timeout 15000 --tls-cluster yes \
        --cluster-port $((port + 10000)) $more"#;
    recipe.more = format!(
        "--tls-ca-cert-file {folder}/authority.pem --tls-cert-file {folder}/server.pem --tls-key-file {folder}/server.key"
    );
    RedisCluster::start_from(&recipe).await
}

/// Lets every node read its files again, and ends its connections over TLS.
async fn reload(cluster: &RedisCluster, files: &Files) -> Result<()> {
    for node in cluster.nodes() {
        let mut line = connect_redis(&node.url()).await?;
        let mut set = redis::cmd("CONFIG");
        set.arg("SET");
        for (key, name) in
            [("tls-ca-cert-file", "authority.pem"), ("tls-cert-file", "server.pem"), ("tls-key-file", "server.key")]
        {
            set.arg(key).arg(files.path(name).display().to_string());
        }
        set.exec_async(&mut line).await?;
        redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec_async(&mut line).await?;
    }
    Ok(())
}

mod redis_cluster {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_cluster_over_tls_changes_its_authority_without_a_restart() -> Result<()> {
        let files = Files::new()?;
        let cluster = cluster(&files).await?;
        let certificates = files.certificates();
        let urls = cluster.nodes().iter().map(|node| format!("rediss://127.0.0.1:{}/", node.port() + 5_000)).collect();
        let options = RedisOptions { urls, cluster: true, certificates, ..RedisOptions::default() };
        let redis = Redis::connect(options).await?;
        redis.probe_writes().await?;

        files.server_of_stranger()?;
        files.client(&files.stranger.sign(NAMES, Validity::Days(90))?)?;
        files.trusted(&files.stranger.file())?;
        reload(&cluster, &files).await?;
        let written = async {
            while redis.probe_writes().await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        Ok(tokio::time::timeout(Duration::from_mins(1), written).await?)
    }
}
