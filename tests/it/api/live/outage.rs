//! Redis is killed and comes back empty while subscribers of two nodes watch: each one catches up or is told to
//! refetch.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use tidefeed::store::redis::RedisOptions;

use super::{people::People, watcher::Watcher};
use crate::{
    api::server::ApiServer,
    harness::TestApp,
    servers::{Kind, Server, on_each_backend},
};

/// For a machine that keeps commands waiting.
fn patient(url: String) -> RedisOptions {
    let (command_timeout_ms, connect_timeout_ms) = (20_000, 20_000);
    RedisOptions { urls: vec![url], command_timeout_ms, connect_timeout_ms, ..RedisOptions::default() }
}

/// Expects the published entry, or a refetch: the connection to Redis may be reconnecting.
async fn hears_of_it_or_reads_again(watcher: &mut Watcher, text: &str) -> Result<()> {
    let heard = watcher.hears().await?;
    ensure!(heard == format!("+{text}") || heard == "refetch MISSED", "{heard}");
    Ok(())
}

on_each_backend! {
    on mariadb, mysql;
    async fn after_redis_was_away_every_subscriber_is_caught_up_or_told(backend: Backend) -> Result<()> {
        let redis = Server::start(Kind::Redis).await?;
        let options = patient(redis.url());
        let near = ApiServer::start(TestApp::start_on(backend, options).await?).await?;
        let far = ApiServer::start(near.app.beside().await?).await?;
        let people = People::meet(&near).await?;
        let before = people.publish(&near, "before").await?;
        let after = people.resume_token(&near).await?;
        let mut knowing = [
            Watcher::resume(&near, &people.reader, &after).await?,
            Watcher::resume(&far, &people.reader, &after).await?,
        ];
        let mut unknowing = Watcher::start(&far, &people.reader).await?;
        redis.kill().await?;
        people.publish(&near, "dark").await?;
        people.delete(&near, &before).await?;
        redis.restart().await?;
        let gone = format!("-{}", before.as_str().unwrap_or_default());
        for watcher in &mut knowing {
            // A catch-up may have come between the two.
            let heard = BTreeSet::from([watcher.hears().await?, watcher.hears().await?]);
            ensure!(heard == BTreeSet::from([gone.clone(), "+dark".to_owned()]), "{heard:?}");
        }
        ensure!(unknowing.hears().await? == "refetch MISSED", "nobody knows what it holds");
        people.publish(&near, "light").await?;
        for watcher in &mut knowing {
            watcher.hears_all(&["+light".to_owned()]).await?;
        }
        hears_of_it_or_reads_again(&mut unknowing, "light").await
    }
}
