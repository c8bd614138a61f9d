//! A `newFeed` subscription over a socket, with its events in a short notation.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::api::server::ApiServer;

pub const PATIENCE: Duration = Duration::from_mins(2);
pub const NEW_FEED: &str = "subscription($after: String) { newFeed(after: $after) { __typename
    ... on EntryAdded { timelineEdge { cursor node { text author { handle } } } resumeToken }
    ... on ContentRemoved { contentId resumeToken } ... on AuthorRemoved { authorId resumeToken }
    ... on RelationChanged { viewerIsFollowing resumeToken } ... on ReadMarkerMoved { readMarker resumeToken }
    ... on RefetchNeeded { reason } } }";
/// The kernel's buffer for a client that does not read.
const SMALL_BUFFER: u32 = 4_096;

/// One subscription over graphql-transport-ws.
pub struct Watcher {
    socket: WebSocketStream<TcpStream>,
    _counted: Arc<()>,
}

impl Watcher {
    /// Subscribes without `after`. Everything that happens after this returns is seen.
    pub async fn start(server: &ApiServer, token: &str) -> Result<Self> {
        Self::ask(server, token, NEW_FEED, &Value::Null).await
    }

    /// Subscribes with `after`.
    pub async fn resume(server: &ApiServer, token: &str, after: &Value) -> Result<Self> {
        Self::ask(server, token, NEW_FEED, after).await
    }

    /// Subscribes with another document.
    pub async fn ask(server: &ApiServer, token: &str, query: &str, after: &Value) -> Result<Self> {
        Self::ask_with(server, token, query, json!({ "after": after })).await
    }

    /// Subscribes with a document and variables.
    pub async fn ask_with(server: &ApiServer, token: &str, query: &str, variables: Value) -> Result<Self> {
        let mut request = format!("ws://{}/graphql/ws", server.address).into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(SMALL_BUFFER)?;
        let (socket, _) = client_async(request, socket.connect(server.address).await?).await?;
        let others = Arc::strong_count(&server.watchers) - 1;
        let mut watcher = Self { socket, _counted: Arc::clone(&server.watchers) };
        watcher
            .send(json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {token}") } }))
            .await?;
        ensure!(watcher.next().await?["type"] == "connection_ack");
        // A subscription that was just closed may still be watching, and must not be mistaken for this one.
        until_watching(server, others).await?;
        let payload = json!({ "query": query, "variables": variables });
        watcher.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await?;
        until_watching(server, others + 1).await?;
        Ok(watcher)
    }

    async fn send(&mut self, message: Value) -> Result<()> {
        Ok(self.socket.send(Message::text(message.to_string())).await?)
    }

    async fn next(&mut self) -> Result<Value> {
        loop {
            match timeout(PATIENCE, self.socket.next())
                .await
                .context("nothing came")?
                .context("the socket was closed")??
            {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Ping(_) | Message::Pong(_) => {}
                other => bail!("unexpected: {other:?}"),
            }
        }
    }

    /// The payload of the next event.
    pub async fn event(&mut self) -> Result<Value> {
        let message = self.next().await?;
        ensure!(message["type"] == "next", "{message:#}");
        Ok(message["payload"]["data"]["newFeed"].clone())
    }

    /// The next event in the notation of [`brief`].
    pub async fn hears(&mut self) -> Result<String> {
        Ok(brief(&self.event().await?))
    }

    /// Expects exactly these events next. Returns the last one's resume token.
    pub async fn hears_all(&mut self, expected: &[String]) -> Result<Value> {
        let mut token = Value::Null;
        for expected in expected {
            let event = self.event().await?;
            ensure!(&brief(&event) == expected, "{expected} was expected, not {event:#}");
            token = event["resumeToken"].clone();
        }
        Ok(token)
    }
}

async fn until_watching(server: &ApiServer, many: usize) -> Result<()> {
    let so_many = async {
        while server.app.hub.watching() != many {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, so_many).await.with_context(|| format!("{} watch, not {many}", server.app.hub.watching()))
}

/// `+text`, `-id`, `following`, `not following`, `refetch REASON`.
pub fn brief(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match event["__typename"].as_str() {
        Some("EntryAdded") => format!("+{}", text(&event["timelineEdge"]["node"]["text"])),
        Some("ContentRemoved") => format!("-{}", text(&event["contentId"])),
        Some("AuthorRemoved") => format!("-{}", text(&event["authorId"])),
        Some("RelationChanged") if event["viewerIsFollowing"] == true => "following".to_owned(),
        Some("RelationChanged") => "not following".to_owned(),
        Some("RefetchNeeded") => format!("refetch {}", text(&event["reason"])),
        _ => event.to_string(),
    }
}
