//! A Redis that Sentinels lead to, in the clear and over TLS.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use certificates::CertificateFiles;
use tidefeed::store::redis::{ConnectError, Redis, RedisOptions, SentinelOptions};

use super::{
    Files, UNKNOWN, expect_words,
    redis::{refusal, server, tls, tls_port},
};
use crate::servers::{Kind, Recipe, Server, connect_redis};

/// A Sentinel that asks for a password and watches `master`. It alone decides.
async fn sentinel(master: &Server) -> Result<Server> {
    Server::start_from(Kind::Redis, &recipe(master.port())).await
}

/// One that speaks TLS and asks for certificates, as its master does.
async fn sentinel_over_tls(master: &Server, files: &Files) -> Result<Server> {
    let mut recipe = recipe(tls_port(master.port()));
    recipe.serve = r#"exec "$program" "$folder/sentinel.conf" --sentinel --port "$port" --bind 127.0.0.1 \
        --tls-port $((port + 10000)) --tls-replication yes ${more#* }"#;
    recipe.more = format!("{} {}", recipe.more, tls(files));
    Server::start_from(Kind::Redis, &recipe).await
}

/// Watches the master on this port.
fn recipe(master: u16) -> Recipe {
    let mut recipe: Recipe = Kind::Redis.recipe();
    recipe.prepare = r#"set -- $more; cat >"$folder/sentinel.conf" <<END
sentinel monitor feed 127.0.0.1 $1 1
sentinel down-after-milliseconds feed 300
sentinel failover-timeout feed 2000
requirepass of-the-sentinel
user default on nopass ~* &* +@all
user asker on >of-the-sentinel ~* &* +@all
END"#;
    recipe.serve = r#"exec "$program" "$folder/sentinel.conf" --sentinel --port "$port" --bind 127.0.0.1"#;
    recipe.more = master.to_string();
    recipe
}

fn options(sentinels: &[&Server], master: &str) -> RedisOptions {
    RedisOptions {
        urls: sentinels.iter().map(|it| it.url()).collect(),
        sentinel: Some(SentinelOptions {
            master: master.to_owned(),
            user: "asker".to_owned(),
            password: "of-the-sentinel".to_owned(),
        }),
        ..RedisOptions::default()
    }
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_redis_behind_sentinels_is_found_over_tls() -> Result<()> {
        let files = Files::new()?;
        let master = server(&files).await?;
        let sentinel = sentinel_over_tls(&master, &files).await?;
        let url = format!("rediss://127.0.0.1:{}/", tls_port(sentinel.port()));
        let options =
            RedisOptions { urls: vec![url], certificates: files.certificates(), ..options(&[&sentinel], "feed") };
        Redis::connect(options.clone()).await?.probe_writes().await?;
        let mut line = connect_redis(&master.url()).await?;
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut line).await?;
        ensure!(keys == 1, "the probe is not on the master");

        let certificates = CertificateFiles { certificate: None, key: None, ..files.certificates() };
        let message = refusal(&RedisOptions { certificates, ..options.clone() }).await?;
        ensure!(message.contains("wants another certificate from this node"), "{message}");
        files.trusted(&files.stranger.file())?;
        expect_words(&refusal(&options).await?, UNKNOWN)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_fail_over_by_sentinels_is_followed() -> Result<()> {
        let master = Server::start(Kind::Redis).await?;
        let recipe = Recipe { more: format!("--replicaof 127.0.0.1 {}", master.port()), ..Kind::Redis.recipe() };
        let replica = Server::start_from(Kind::Redis, &recipe).await?;
        let sentinel = sentinel(&master).await?;
        let unknown = Redis::connect(options(&[&sentinel], "other")).await.err().context("it was found")?;
        ensure!(matches!(unknown, ConnectError::Unreachable { .. }), "{unknown:?}");
        let message = format!("{:#}", anyhow::Error::from(unknown));
        ensure!(message.contains("knows no Redis of the name \"other\""), "{message}");

        // One of them is away.
        let mut options = options(&[&sentinel], "feed");
        options.urls.insert(0, "redis://127.0.0.1:1/".to_owned());
        let redis = Redis::connect(options).await?;
        redis.probe_writes().await?;
        let mut asked = connect_redis(&sentinel.url()).await?;
        let knows_replica = async {
            loop {
                let known: Vec<redis::Value> =
                    redis::cmd("SENTINEL").arg("replicas").arg("feed").query_async(&mut asked).await?;
                if !known.is_empty() {
                    return Ok::<_, anyhow::Error>(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), knows_replica).await??;
        master.kill().await?;
        let follows = async {
            while redis.probe_writes().await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), follows).await?;
        let mut line = connect_redis(&replica.url()).await?;
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut line).await?;
        ensure!(keys == 1, "the probe is not on the former replica");
        Ok(())
    }
}
