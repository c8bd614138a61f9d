//! Tests that each bound that refuses a client is counted, and says when to try again.

use futures_util::SinkExt as _;
use tokio_tungstenite::tungstenite::Message;

use super::*;

const CONFIGURATION: &str = r#"
[server]
listen = "127.0.0.1:0"
[log]
format = "json"
[auth]
registrations_per_hour = 1
[rate_limit]
viewer_points = 40000
viewer_points_per_s = 1
[websocket]
max_sockets = 1
[sse]
max_streams_per_client = 1
[live]
max_per_viewer = 1
max_anonymous_bytes = 40000
"#;
const FEED: &str = "subscription { newFeed { __typename } }";

/// What comes on `line` until it has the word.
async fn read_until(line: &mut Line, word: &str) -> Result<String> {
    let mut read = Vec::new();
    loop {
        let count = timeout(LIMIT, line.0.read_buf(&mut read)).await??;
        let text = String::from_utf8_lossy(&read);
        ensure!(count > 0, "{text}");
        if text.contains(word) {
            return Ok(text.into_owned());
        }
    }
}

async fn is_counted(peer: &Peer, bound: &str) -> Result<()> {
    let count = peer.metric(&format!("tidefeed_refused_total{{bound=\"{bound}\"}}")).await?;
    ensure!(count.is_some_and(|count| count > 0.0), "{bound}: {count:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_bound_that_refuses_a_client_is_counted() -> Result<()> {
    let command = CommandLine::embedded()?;
    std::fs::write(command.path().join("tidefeed.toml"), CONFIGURATION)?;
    let (_node, peer) = Node::listening(&command, &["serve"], "Serving the API.").await?;
    let token = register(&peer, "ann").await?;
    ensure!(register(&peer, "bob").await.is_err(), "two users of one address have registered");
    is_counted(&peer, "registrations").await?;

    let streaming = format!("text/event-stream\r\nauthorization: Bearer {token}");
    let mut stream = Line::to(&peer).await?;
    stream.ask("", &streaming, FEED).await;
    until("she has a stream", async || Ok(peer.metric("tidefeed_subscriptions").await? == Some(1.0))).await?;
    let mut second = Line::to(&peer).await?;
    second.ask("", &streaming, FEED).await;
    let refused = read_until(&mut second, "complete").await?;
    ensure!(refused.contains("\r\nretry-after: 1\r\n") && refused.contains("\"retryAfter\":1"), "{refused}");
    is_counted(&peer, "streams").await?;

    // One may have a tenth of the bytes, which is too little for the least.
    let mut without_token = Line::to(&peer).await?;
    without_token.ask("", "text/event-stream", "subscription { shownChanged(ids: []) { ids } }").await;
    let refused = read_until(&mut without_token, "complete").await?;
    ensure!(refused.contains("RATE_LIMITED") && refused.contains("\"retryAfter\":2"), "{refused}");
    is_counted(&peer, "anonymous_subscriptions").await?;

    let mut socket = sockets::socket(&peer, "", json!({ "authorization": format!("Bearer {token}") })).await?;
    ensure!(sockets::socket(&peer, "", json!({})).await.is_err(), "there are two sockets");
    is_counted(&peer, "sockets").await?;
    let subscribe = json!({ "type": "subscribe", "id": "1", "payload": { "query": FEED } });
    socket.send(Message::text(subscribe.to_string())).await?;
    let refused = sockets::next_message(&mut socket).await?.into_text()?;
    ensure!(refused.contains("RATE_LIMITED") && refused.contains("retryAfter"), "{refused}");
    is_counted(&peer, "subscriptions").await?;

    until("her points are spent", async || {
        let page = peer.query(Some(&token), "{ timeline(first: 50) { edges { node { id text } } } }").await?;
        Ok(page["errors"][0]["extensions"]["code"] == "RATE_LIMITED")
    })
    .await?;
    is_counted(&peer, "points").await
}
