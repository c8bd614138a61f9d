//! Tests that a node gives back what many subscriptions took, also if nobody asks it for anything afterwards.

use futures_util::SinkExt as _;
use tokio_tungstenite::tungstenite::Message;

use super::*;

const SOCKETS: usize = 100;
const EACH: usize = 32;
const ALL: f64 = 3_200.0;
/// Nobody here answers pings, so none are sent while a slow machine subscribes.
const SETTINGS: &str = "[websocket]\nmax_sockets_per_client = 0\nping_ms = 3600000\n[live]\nmax_per_viewer = 10000";
/// What so many subscriptions take at least. With less the test would show nothing.
const TAKEN: u64 = 3 * 1024 * 1024;

impl Served {
    async fn subscriptions(&self) -> Result<f64> {
        Ok(self.peer.metric("tidefeed_subscriptions").await?.unwrap_or_default())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_node_gives_back_what_subscriptions_took() -> Result<()> {
    let served = Served::start(SETTINGS, None).await?;
    let init = json!({ "authorization": format!("Bearer {}", served.token) });
    let before = served.node.resident_bytes()?;
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let mut socket = sockets::socket(&served.peer, "192.0.2.1", init.clone()).await?;
        for id in 0..EACH {
            let query = json!({ "query": "subscription { newFeed { __typename } }" });
            let subscribe = json!({ "type": "subscribe", "id": id.to_string(), "payload": query });
            socket.send(Message::text(subscribe.to_string())).await?;
        }
        sockets.push(socket);
    }
    until("all have subscribed", async || Ok(served.subscriptions().await? >= ALL)).await?;
    let taken = served.node.resident_bytes()?.saturating_sub(before);
    ensure!(taken >= TAKEN, "only {taken} bytes were taken");
    drop(sockets);
    until("all have gone", async || Ok(served.subscriptions().await? <= 0.0)).await?;
    let most = before + taken / 3;
    let back = until("the memory is given back", async || Ok(served.node.resident_bytes()? <= most)).await;
    back.with_context(|| format!("{before} bytes before, {taken} taken, {:?} now", served.node.resident_bytes()))
}
