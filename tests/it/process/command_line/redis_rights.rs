//! Tests which rights a user of Redis needs: those that docs/operations.md lists, and each of them.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tidefeed::domain::limits::INBOX_BUCKETS;

use super::{
    CommandLine,
    process::{Node, Peer, until},
};
use crate::servers::{Kind, Server, connect_redis};

/// The listed command, word by word.
fn listed() -> Result<Vec<&'static str>> {
    let text = include_str!("../../../../docs/operations.md");
    let line = text.lines().find(|line| line.starts_with("ACL SETUSER ")).context("no rights are listed")?;
    Ok(line.split(' ').collect())
}

/// Follows, publishes and reads, so that queue, caches, announcements and an inbox in Redis are used. Who comes before
/// their bucket is admitted keeps an inbox in SQL until a later visit, so nobody registers before.
async fn everything_is_used(peer: &Peer) -> Result<()> {
    until("all buckets are admitted", async || {
        let admitted = peer.metric(r#"tidefeed_outside_inbox_buckets_total{change="admitted"}"#).await?;
        Ok(admitted == Some(INBOX_BUCKETS.into()))
    })
    .await?;
    let register = async |handle: &str| -> Result<(String, String)> {
        let input = format!(r#"{{ handle: "{handle}", name: "{handle}", password: "correct horse battery" }}"#);
        let asked = format!("mutation {{ registerUser(input: {input}) {{ user {{ id }} token }} }}");
        let answer = peer.query(None, &asked).await?;
        let text = |it: &Value| it.as_str().map(str::to_owned).with_context(|| answer.to_string());
        Ok((text(&answer["data"]["registerUser"]["user"]["id"])?, text(&answer["data"]["registerUser"]["token"])?))
    };
    let ((ann_id, ann), (_, bob)) = (register("ann").await?, register("bob").await?);
    let follow = format!(r#"mutation {{ followUser(input: {{ userId: "{ann_id}" }}) {{ viewer {{ id }} }} }}"#);
    peer.query(Some(&bob), &follow).await?;
    for text in 1..=5 {
        let publish =
            format!(r#"mutation {{ publishContent(input: {{ text: "{text}" }}) {{ timelineEdge {{ cursor }} }} }}"#);
        peer.query(Some(&ann), &publish).await?;
    }
    until("the inbox is in Redis, and delivered to", async || {
        let page = peer.query(Some(&bob), "{ timeline(first: 50) { edges { node { text } } } }").await?;
        ensure!(page["data"]["timeline"]["edges"].as_array().is_some_and(|edges| edges.len() == 5), "{page}");
        let ways = peer.metric(r#"tidefeed_outside_inbox_reads_total{outcome="believed"}"#).await?;
        let unfinished = peer.metric("tidefeed_deliveries_unfinished").await?;
        Ok(ways.is_some_and(|pages| pages > 0.0) && unfinished == Some(0.0))
    })
    .await
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_user_of_redis_needs_no_more_rights_than_are_listed() -> Result<()> {
        let redis = Server::start(Kind::Redis).await?;
        let mut line = connect_redis(&redis.url()).await?;
        let listed = listed()?;
        let mut order = async |words: &[&str]| -> Result<redis::Value> {
            Ok(redis::cmd(words[0]).arg(&words[1..]).query_async(&mut line).await?)
        };
        order(&listed).await?;
        let url = redis.url().replace("redis://", "redis://tidefeed:PASSWORD@");
        let it = CommandLine::embedded()?
            .with("TIDEFEED__LOG__FORMAT", "json")
            .with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0")
            .with("TIDEFEED__REDIS__URL", &url)
            .with("TIDEFEED__INBOX__STORE", "redis")
            .with("TIDEFEED__UPKEEP__SWEEP_MS", "100");
        let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
        everything_is_used(&peer).await?;
        let doctor = it.done(&["doctor"]).await?;
        ensure!(!doctor.contains("NOPERM"), "{doctor:?}");
        let refused = order(&["ACL", "LOG"]).await?;
        ensure!(refused == redis::Value::Array(Vec::new()), "{refused:?}");

        order(&["ACL", "SETUSER", "tidefeed", "-set"]).await?;
        let doctor = it.run(&["doctor"]).await?;
        ensure!(doctor.code == Some(1) && doctor.out.contains("'set' command"), "{doctor:?}");
        Ok(())
    }
}
