//! A Redis that Sentinels lead to.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tidefeed::store::redis::{ConnectError, Redis, RedisOptions, SentinelOptions};

use crate::servers::{Kind, Recipe, Server, connect_redis};

/// A Sentinel that asks for a password and watches `master`. It alone decides.
async fn sentinel(master: &Server) -> Result<Server> {
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
    recipe.more = master.port().to_string();
    Server::start_from(Kind::Redis, &recipe).await
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
