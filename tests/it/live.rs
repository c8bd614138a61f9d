//! `newFeed` over real sockets: what one node publishes arrives at the subscribers of every node, and equals the timeline.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::{
    api_client::ApiServer,
    harness::{Around, TestHouse},
    servers::{Backend, on_each_backend},
};

const PATIENCE: Duration = Duration::from_secs(20);
const NEW_FEED: &str =
    "subscription { newFeed { timelineEdge { cursor node { text author { handle } } } removedContentId refetch } }";

/// One subscription over graphql-transport-ws.
struct Watcher(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Watcher {
    /// Subscribed: what happens after this returns is seen.
    async fn start(server: &ApiServer, token: &str) -> Result<Self> {
        let mut request = format!("ws://{}/graphql/ws", server.address).into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
        let (socket, _) = connect_async(request).await?;
        let mut watcher = Self(socket);
        watcher
            .send(json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {token}") } }))
            .await?;
        ensure!(watcher.next().await?["type"] == "connection_ack");
        let before = server.house.hub.watching();
        watcher.send(json!({ "id": "1", "type": "subscribe", "payload": { "query": NEW_FEED } })).await?;
        timeout(PATIENCE, async {
            while server.house.hub.watching() <= before {
                tokio::task::yield_now().await;
            }
        })
        .await
        .context("the subscription did not begin")?;
        Ok(watcher)
    }

    async fn send(&mut self, message: Value) -> Result<()> {
        Ok(self.0.send(Message::text(message.to_string())).await?)
    }

    async fn next(&mut self) -> Result<Value> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.context("nothing came")?.context("the socket was closed")?? {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Ping(_) | Message::Pong(_) => {}
                other => bail!("unexpected: {other:?}"),
            }
        }
    }

    /// The payload of the next event.
    async fn event(&mut self) -> Result<Value> {
        let message = self.next().await?;
        ensure!(message["type"] == "next", "{message:#}");
        Ok(message["payload"]["data"]["newFeed"].clone())
    }
}

async fn events_arrive(backend: Backend, around: Around) -> Result<()> {
    let here = ApiServer::start(TestHouse::start(backend, around).await?).await?;
    let there = match around {
        Around::Redis | Around::Cluster => Some(ApiServer::start(here.house.beside().await?).await?),
        Around::NoCache | Around::Memory => None,
    };
    let publishing = there.as_ref().unwrap_or(&here);
    let (_, reader) = here.register("reader").await?;
    let (author_id, author) = here.register("author").await?;
    let follow = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }";
    let mut watcher = Watcher::start(&here, &reader).await?;
    publishing.data(&reader, follow, json!({ "id": author_id })).await?;
    ensure!(watcher.event().await?["refetch"] == true, "a follow on another device asks for a refetch");
    let relation = watcher.event().await?;
    ensure!(relation["refetch"] == false && relation["timelineEdge"].is_null(), "{relation:#}");

    let publish = "mutation { publishContent(input: { text: \"fresh\" }) { timelineEdge { cursor node { id } } userErrors { message } } }";
    let published = publishing.data(&author, publish, json!({})).await?;
    let event = watcher.event().await?;
    let edge = &published["publishContent"]["timelineEdge"];
    ensure!(event["timelineEdge"]["cursor"] == edge["cursor"], "{event:#}");
    ensure!(event["timelineEdge"]["node"] == json!({ "text": "fresh", "author": { "handle": "author" } }), "{event:#}");
    let page = here.data(&reader, "{ timeline(first: 1) { edges { cursor } } }", json!({})).await?;
    ensure!(
        page["timeline"]["edges"][0]["cursor"] == event["timelineEdge"]["cursor"],
        "the page lags behind: {page:#}"
    );

    let delete = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
    publishing.data(&author, delete, json!({ "id": edge["node"]["id"] })).await?;
    ensure!(watcher.event().await?["removedContentId"] == edge["node"]["id"]);
    Ok(())
}

on_each_backend! {
    async fn what_is_published_arrives_live_and_equals_the_timeline(backend: Backend) -> Result<()> {
        events_arrive(backend, Around::Memory).await
    }
}

mod two_nodes {
    use super::*;

    on_each_backend! {
        on mariadb, mysql;
        async fn what_one_publishes_arrives_at_the_other_through_redis(backend: Backend) -> Result<()> {
            events_arrive(backend, Around::Redis).await
        }

        async fn what_one_publishes_arrives_at_the_other_through_a_cluster(backend: Backend) -> Result<()> {
            events_arrive(backend, Around::Cluster).await
        }
    }
}
