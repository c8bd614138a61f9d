//! Tests `shownChanged`: a client that watches what it shows learns what to read again. Over Redis, where a node hears
//! only of what it wants.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::watcher::PATIENCE;
use crate::{
    api::{accounts::client::Socket, server::ApiServer},
    harness::{CacheBackend, TestApp, settings},
    servers::on_each_backend,
};

const SHOWN: &str = "subscription($ids: [ID!]!) { shownChanged(ids: $ids) { ids } }";

/// A subscription as server-sent events.
struct Hints {
    events: reqwest::Response,
    text: String,
}

impl Hints {
    async fn of(server: &ApiServer, token: &str, ids: &[&str]) -> Result<Self> {
        let request = server.http.post(format!("http://{}/graphql", server.address)).bearer_auth(token);
        let body = json!({ "query": SHOWN, "variables": { "ids": ids } });
        let events = request.header("accept", "text/event-stream").json(&body).send().await?;
        Ok(Self { events, text: String::new() })
    }

    /// The payload of the next event.
    async fn next(&mut self) -> Result<Value> {
        loop {
            if let Some((event, rest)) = self.text.clone().split_once("\n\n") {
                rest.clone_into(&mut self.text);
                if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return Ok(serde_json::from_str(data)?);
                }
            } else {
                let chunk = timeout(PATIENCE, self.events.chunk()).await??.context("the stream has ended")?;
                self.text += &String::from_utf8_lossy(&chunk);
            }
        }
    }

    /// Waits until each of `ids` was hinted at. Returns all that was.
    async fn until_hinted(&mut self, ids: &[&str]) -> Result<BTreeSet<String>> {
        let expected: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
        let mut hinted = BTreeSet::new();
        while !expected.is_subset(&hinted) {
            let event = self.next().await?;
            let Some(ids) = event["data"]["shownChanged"]["ids"].as_array() else { bail!("{event:#}") };
            hinted.extend(ids.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        Ok(hinted)
    }
}

/// The next message about subscription `id` of `socket`.
async fn message_of(socket: &mut Socket, id: &str) -> Result<Value> {
    loop {
        let message = socket.hear().await?.ok().context("closed")?;
        if message["id"] == id {
            return Ok(message);
        }
    }
}

async fn watch_by(socket: &mut Socket, id: &str, ids: &[&str]) -> Result<()> {
    let payload = json!({ "query": SHOWN, "variables": { "ids": ids } });
    socket.say(&json!({ "type": "subscribe", "id": id, "payload": payload })).await
}

/// Waits until subscription "1" of `socket` was hinted at each of `ids`, and returns all that it was.
async fn hinted_by(socket: &mut Socket, ids: &[&str]) -> Result<BTreeSet<String>> {
    let mut hinted = BTreeSet::new();
    while !ids.iter().all(|id| hinted.contains(*id)) {
        let message = message_of(socket, "1").await?;
        let Some(ids) = message["payload"]["data"]["shownChanged"]["ids"].as_array() else { bail!("{message:#}") };
        hinted.extend(ids.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    Ok(hinted)
}

async fn done(server: &ApiServer, token: &str, field: &str, input: Value) -> Result<String> {
    server.app.clock.advance(1);
    let kind = format!("{}{}Input", field[..1].to_uppercase(), &field[1..]);
    let selection = if field == "publishContent" { "timelineEdge { node { id } }" } else { "" };
    let query =
        format!("mutation($input: {kind}!) {{ {field}(input: $input) {{ {selection} userErrors {{ message }} }} }}");
    let data = server.data(token, &query, json!({ "input": input })).await?;
    Ok(data[field]["timelineEdge"]["node"]["id"].as_str().unwrap_or_default().to_owned())
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb in soak, mysql in soak;
        async fn what_is_shown_is_hinted_at_when_it_may_have_changed(backend: Backend) -> Result<()> {
            let server = ApiServer::start(TestApp::start(backend, CacheBackend::Redis).await?).await?;
            let (ann_id, ann) = server.register("ann").await?;
            let (_, bob) = server.register("bob").await?;
            let post = done(&server, &ann, "publishContent", json!({ "text": "low tide" })).await?;
            let other = done(&server, &ann, "publishContent", json!({ "text": "high tide" })).await?;
            let mut all = Hints::of(&server, &bob, &[&post, &other, &ann_id]).await?;
            all.until_hinted(&[&post, &other, &ann_id]).await?;
            done(&server, &bob, "likeContent", json!({ "contentId": post })).await?;
            done(&server, &bob, "bookmarkContent", json!({ "contentId": other })).await?;
            let hinted = all.until_hinted(&[&post]).await?;
            ensure!(!hinted.contains(&other), "a bookmark is nobody else's business");
            let reply = done(&server, &bob, "publishContent", json!({ "text": "seen", "replyTo": other })).await?;
            done(&server, &bob, "followUser", json!({ "userId": ann_id })).await?;
            all.until_hinted(&[&other, &ann_id]).await?;
            let mut thread = Hints::of(&server, &ann, &[&other, &reply]).await?;
            thread.until_hinted(&[&other, &reply]).await?;
            done(&server, &bob, "deleteContent", json!({ "contentId": reply })).await?;
            thread.until_hinted(&[&other, &reply]).await?;
            let many = vec![post.as_str(); 101];
            let refused = Hints::of(&server, &bob, &many).await?.next().await?;
            ensure!(refused["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT", "{refused:#}");
            Ok(())
        }

        async fn without_a_viewer_what_anybody_sees_is_hinted_at(backend: Backend) -> Result<()> {
            let mut settings = settings();
            settings.live.of_reader = 2;
            let app = TestApp::start_with(backend, CacheBackend::Redis, settings).await?;
            let server = ApiServer::start(app).await?;
            let (ann_id, ann) = server.register("ann").await?;
            let (bob_id, bob) = server.register("bob").await?;
            let post = done(&server, &ann, "publishContent", json!({ "text": "low tide" })).await?;
            let other = done(&server, &ann, "publishContent", json!({ "text": "high tide" })).await?;
            let mut socket = Socket::open(&server, None).await?;
            watch_by(&mut socket, "1", &[&post, &other, &ann_id]).await?;
            hinted_by(&mut socket, &[&post, &other, &ann_id]).await?;
            done(&server, &bob, "likeContent", json!({ "contentId": post })).await?;
            let hinted = hinted_by(&mut socket, &[&post]).await?;
            ensure!(!hinted.contains(&other), "nothing has become of it");
            done(&server, &ann, "blockUser", json!({ "userId": bob_id })).await?;
            done(&server, &ann, "publishContent", json!({ "text": "mine", "replyTo": other })).await?;
            hinted_by(&mut socket, &[&other, &ann_id]).await?;
            for id in ["2", "3"] {
                watch_by(&mut socket, id, &[&post]).await?;
            }
            let refused = message_of(&mut socket, "3").await?;
            ensure!(refused["payload"][0]["extensions"]["code"] == "RATE_LIMITED", "{refused:#}");
            ensure!(refused["payload"][0]["message"].as_str().is_some_and(|it| it.contains("sign in")), "{refused:#}");
            done(&server, &ann, "deleteContent", json!({ "contentId": post })).await?;
            hinted_by(&mut socket, &[&post]).await?;
            done(&server, &ann, "deleteViewer", json!({ "password": "correct horse battery" })).await?;
            hinted_by(&mut socket, &[&other, &ann_id]).await?;
            Ok(())
        }

        async fn nothing_is_told_of_what_a_block_hides(backend: Backend) -> Result<()> {
            let server = ApiServer::start(TestApp::start(backend, CacheBackend::Redis).await?).await?;
            let (_, ann) = server.register("ann").await?;
            let (bob_id, bob) = server.register("bob").await?;
            let (_, cid) = server.register("cid").await?;
            let post = done(&server, &ann, "publishContent", json!({ "text": "low tide" })).await?;
            let own = done(&server, &bob, "publishContent", json!({ "text": "high tide" })).await?;
            let mut hints = Hints::of(&server, &bob, &[&post, &own]).await?;
            hints.until_hinted(&[&post, &own]).await?;
            let like = async |content: &str| done(&server, &cid, "likeContent", json!({ "contentId": content })).await;
            let unlike = async |content: &str| done(&server, &cid, "unlikeContent", json!({ "contentId": content })).await;
            like(&post).await?;
            hints.until_hinted(&[&post]).await?;
            done(&server, &ann, "blockUser", json!({ "userId": bob_id })).await?;
            hints.until_hinted(&[&post, &own]).await?;
            unlike(&post).await?;
            like(&own).await?;
            let hinted = hints.until_hinted(&[&own]).await?;
            ensure!(!hinted.contains(&post), "it is behind a block");
            done(&server, &ann, "unblockUser", json!({ "userId": bob_id })).await?;
            hints.until_hinted(&[&post, &own]).await?;
            like(&post).await?;
            hints.until_hinted(&[&post]).await?;
            Ok(())
        }
    }
}
