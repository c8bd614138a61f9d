//! Tests a node whose disk or Redis is full: it keeps what it acknowledged, reports the problem, and recovers by
//! itself when there is room again.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{
    CommandLine,
    process::{Node, Peer, until},
};
use crate::servers::{Kind, Server, connect_redis};

const TAKES_WRITES: &str = "tidefeed_store_takes_writes";

fn embedded() -> Result<CommandLine> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    Ok(it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0").surviving_file_limits())
}

/// Ann publishes, Bob follows her and reads.
struct People<'a> {
    peer: &'a Peer,
    ann: String,
    bob: String,
    /// The acknowledged texts, newest first.
    kept: Vec<String>,
    /// The errors of the refused ones.
    refused: Vec<Value>,
}

impl<'a> People<'a> {
    async fn meet(peer: &'a Peer) -> Result<Self> {
        let ((author, ann), (_, bob)) = (register(peer, "ann").await?, register(peer, "bob").await?);
        let follow =
            format!(r#"mutation {{ followUser(input: {{ userId: "{author}" }}) {{ viewer {{ followingCount }} }} }}"#);
        let answer = peer.query(Some(&bob), &follow).await?;
        ensure!(answer["data"]["followUser"]["viewer"]["followingCount"] == 1, "{answer}");
        Ok(Self { peer, ann, bob, kept: Vec::new(), refused: Vec::new() })
    }

    /// Publishes contents. Every refusal must be for lack of room.
    async fn publish(&mut self, names: impl Iterator<Item = u32>) -> Result<()> {
        for name in names {
            let asked = format!(
                r#"mutation {{ publishContent(input: {{ text: "{name}" }}) {{ timelineEdge {{ cursor }} }} }}"#
            );
            let mut answer = self.peer.query(Some(&self.ann), &asked).await?;
            if answer["data"]["publishContent"]["timelineEdge"]["cursor"].is_string() {
                self.kept.insert(0, name.to_string());
            } else {
                let message = answer["errors"][0]["message"].as_str().with_context(|| answer.to_string())?;
                ensure!(message.starts_with("The store takes no writes at the moment"), "{answer}");
                self.refused.push(answer["errors"].take());
            }
        }
        Ok(())
    }

    /// Both read everything that was acknowledged, and nothing else.
    async fn read(&self) -> Result<()> {
        self.read_from(self.peer).await
    }

    async fn read_from(&self, peer: &Peer) -> Result<()> {
        for token in [&self.ann, &self.bob] {
            let page = "{ timeline(first: 50) { edges { node { text } } } }";
            let answer = peer.query(Some(token), page).await?;
            let edges = answer["data"]["timeline"]["edges"].as_array().with_context(|| answer.to_string())?;
            let texts: Vec<_> = edges.iter().filter_map(|edge| edge["node"]["text"].as_str()).collect();
            ensure!(texts == self.kept, "{texts:?}, and acknowledged were {:?}", self.kept);
        }
        Ok(())
    }
}

/// Registers a user; returns their id and token.
async fn register(peer: &Peer, handle: &str) -> Result<(String, String)> {
    let input = format!(r#"{{ handle: "{handle}", name: "{handle}", password: "correct horse battery" }}"#);
    let asked = format!("mutation {{ registerUser(input: {input}) {{ user {{ id }} token }} }}");
    let answer = peer.query(None, &asked).await?;
    let registered = &answer["data"]["registerUser"];
    let text = |it: &Value| it.as_str().map(str::to_owned).with_context(|| answer.to_string());
    Ok((text(&registered["user"]["id"])?, text(&registered["token"])?))
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_changes_and_loses_none_that_were_acknowledged() -> Result<()> {
    let it = embedded()?;
    let (mut node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let mut people = People::meet(&peer).await?;
    people.publish(1..=4).await?;
    ensure!(people.refused.is_empty() && peer.get("readyz").await?.0 == 200);
    ensure!(peer.metric(TAKES_WRITES).await? == Some(1.0));

    node.limit_files(Some(4_096)).await?;
    people.publish(5..=14).await?;
    ensure!(people.refused.len() == 10, "{:?}", people.kept);
    node.said("The store does not accept writes.").await?;
    let (status, body) = peer.get("readyz").await?;
    ensure!(status == 503 && body.contains(r#""store":"takes no writes""#) && body.contains("code 778"), "{body}");
    ensure!(peer.metric(TAKES_WRITES).await? == Some(0.0));
    people.read().await?;

    node.limit_files(None).await?;
    until("it is ready again, though nobody writes", async || Ok(peer.get("readyz").await?.0 == 200)).await?;
    node.said("The store accepts writes again.").await?;
    people.publish(15..=24).await?;
    ensure!(people.refused.len() == 10, "{:?}", people.refused);
    people.read().await?;
    node.crash().await?;
    let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    people.read_from(&peer).await
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_full_redis_changes_no_page_and_is_logged() -> Result<()> {
        let redis = Server::start(Kind::Redis).await?;
        let it = embedded()?.with("TIDEFEED__REDIS__URL", &redis.url()).with("TIDEFEED__UPKEEP__SWEEP_MS", "100");
        let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
        let mut people = People::meet(&peer).await?;
        let mut line = connect_redis(&redis.url()).await?;
        let mut order = async |words: &[&str]| -> Result<redis::Value> {
            let mut command = redis::cmd(words[0]);
            Ok(command.arg(&words[1..]).query_async(&mut line).await?)
        };
        let redis_is = async |expected: &str| -> Result<()> {
            let (status, body) = peer.get("readyz").await?;
            ensure!(status == 200 && body.contains(&format!(r#""redis":"{expected}""#)), "{status} {body}");
            Ok(())
        };

        order(&["CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1"]).await?;
        people.publish(1..=5).await?;
        people.read().await?;
        redis_is("takes no writes").await?;
        let doctor = it.run(&["doctor"]).await?;
        ensure!(doctor.code == Some(1) && doctor.out.contains("OOM"), "{doctor:?}");
        order(&["CONFIG", "SET", "maxmemory", "0"]).await?;
        people.publish(6..=7).await?;
        redis_is("up").await?;

        // A dump cannot replace a folder, so saving fails.
        std::fs::create_dir(redis.folder().join("dump.rdb"))?;
        order(&["CONFIG", "SET", "save", "3600 1"]).await?;
        order(&["BGSAVE"]).await?;
        until("the dump has failed", async || {
            let mut line = connect_redis(&redis.url()).await?;
            let info: String = redis::cmd("INFO").arg("persistence").query_async(&mut line).await?;
            Ok(info.contains("rdb_last_bgsave_status:err"))
        })
        .await?;
        people.publish(8..=12).await?;
        people.read().await?;
        redis_is("takes no writes").await?;
        let doctor = it.run(&["doctor"]).await?;
        ensure!(doctor.code == Some(1) && doctor.out.contains("MISCONF"), "{doctor:?}");
        order(&["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"]).await?;
        redis_is("up").await?;
        ensure!(people.refused.is_empty(), "{:?}", people.refused);
        people.read().await
    }
}
