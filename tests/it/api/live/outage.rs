//! Tests an outage of Redis, which is killed and comes back empty while subscribers of two nodes watch: each one
//! catches up or is asked to refetch.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use tidefeed::store::redis::RedisOptions;

use super::{people::People, watcher::Watcher};
use crate::{
    api::server::ApiServer,
    harness::TestApp,
    servers::{Kind, Server, on_each_backend},
};

/// Options for a machine on which commands wait long.
fn patient(url: String) -> RedisOptions {
    let (command_timeout_ms, connect_timeout_ms) = (20_000, 20_000);
    RedisOptions { urls: vec![url], command_timeout_ms, connect_timeout_ms, ..RedisOptions::default() }
}

/// Expects the published entry, or a refetch: the connection to Redis may be reconnecting.
async fn hears_of_it_or_reads_again(watcher: &mut Watcher, text: &str) -> Result<()> {
    let event = watcher.hears().await?;
    ensure!(event == format!("+{text}") || event == "refetch MISSED", "{event}");
    Ok(())
}

on_each_backend! {
    on mariadb, mysql in soak;
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
            // A catch-up may come between the two.
            let event = BTreeSet::from([watcher.hears().await?, watcher.hears().await?]);
            ensure!(event == BTreeSet::from([gone.clone(), "+dark".to_owned()]), "{event:?}");
        }
        ensure!(unknowing.hears().await? == "refetch MISSED", "nobody knows what it holds");
        people.publish(&near, "light").await?;
        for watcher in &mut knowing {
            watcher.hears_all(&["+light".to_owned()]).await?;
        }
        hears_of_it_or_reads_again(&mut unknowing, "light").await
    }
}
