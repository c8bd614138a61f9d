//! Devices that subscribe over sockets through every fault. Each reads a page, subscribes with its token, applies the
//! events, and reconnects to any node with its last token (docs/live.md).

use std::collections::BTreeMap;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tidefeed::{
    domain::{Position, ResumePoint, timeline::cursor},
    rng::SharedRng,
};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::api::{Answer, Api, content_id};
use crate::clients::{Clients, below};
use crate::history::User;

/// A node that does not take a connection up in this time is given up.
const PATIENCE: Duration = Duration::from_secs(8);
/// Between two connections.
const REST: Duration = Duration::from_millis(100);
/// Events of a connection at most, drawn anew for each.
const LONGEST: usize = 200;

const PAGE: &str =
    "query($first: Int) { timeline(first: $first) { resumeToken edges { cursor node { author { id } } } } }";
const NEW_FEED: &str = "subscription($after: String) { newFeed(after: $after) { __typename \
    ... on EntryAdded { timelineEdge { cursor node { author { id } } } resumeToken } \
    ... on ContentRemoved { contentId resumeToken } ... on AuthorRemoved { authorId resumeToken } \
    ... on RelationChanged { resumeToken } ... on ReadMarkerMoved { resumeToken } } }";

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A device of one reader.
pub struct Device {
    pub reader: User,
    /// Events that all devices received.
    events: Arc<AtomicU64>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Entries with the author's id, if the content still existed when the event arrived.
    entries: BTreeMap<Position, Option<String>>,
    /// `None`: it must read a page.
    token: Option<String>,
    /// Faults of the events that it received.
    wrong: Vec<String>,
}

impl Device {
    pub fn of(reader: User, events: Arc<AtomicU64>) -> Self {
        Self { reader, events, held: Mutex::default() }
    }

    /// Watches until it is dropped. Fails with errors that no fault explains.
    pub async fn live(&self, clients: &Clients, rng: &SharedRng) -> Result<()> {
        loop {
            let node = below(rng, clients.api.nodes());
            // Broken connections are expected here.
            if let Some(socket) = self.connect(&clients.api, node, rng).await? {
                let most = 1 + below(rng, LONGEST);
                self.listen(socket, most).await;
            }
            sleep(REST).await;
        }
    }

    /// What it holds above its floor, newest first; `None` if it has to read yet.
    pub fn above_floor(&self) -> Result<Option<(Position, Vec<Position>)>> {
        let held = self.held();
        let Some(token) = &held.token else { return Ok(None) };
        let floor = ResumePoint::decode(token)?.floor();
        Ok(Some((floor, held.entries.keys().rev().copied().filter(|it| *it > floor).collect())))
    }

    /// Faults since the last call.
    pub fn wrong(&self) -> Vec<String> {
        std::mem::take(&mut self.held().wrong)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribed; `None` if something broke on the way.
    async fn connect(&self, api: &Api, node: usize, rng: &SharedRng) -> Result<Option<Socket>> {
        let known = self.held().token.clone();
        let token = match known {
            Some(token) => token,
            None => match self.read(api, node, 1 + below(rng, 40)).await? {
                Answer::Done(token) => token,
                Answer::Unknown => return Ok(None),
            },
        };
        let mut request = format!("ws://{}/graphql/ws", api.address(node)).into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
        let authorization = json!({ "authorization": format!("Bearer {}", api.token(self.reader)) });
        let greeting = json!({ "type": "connection_init", "payload": authorization });
        let payload = json!({ "query": NEW_FEED, "variables": { "after": token } });
        let opened = timeout(PATIENCE, async {
            let (mut socket, _) = connect_async(request).await?;
            socket.send(Message::text(greeting.to_string())).await?;
            socket
                .send(Message::text(json!({ "id": "1", "type": "subscribe", "payload": payload }).to_string()))
                .await?;
            anyhow::Ok(socket)
        });
        Ok(opened.await.ok().and_then(Result::ok))
    }

    async fn read(&self, api: &Api, node: usize, size: usize) -> Result<Answer<String>> {
        let Answer::Done(data) = api.call(node, Some(self.reader), PAGE, json!({ "first": size })).await? else {
            return Ok(Answer::Unknown);
        };
        let timeline = &data["timeline"];
        let edges = timeline["edges"].as_array().with_context(|| data.to_string())?;
        let entries = edges.iter().map(entry).collect::<Result<_>>()?;
        let token = timeline["resumeToken"].as_str().with_context(|| data.to_string())?.to_owned();
        let mut held = self.held();
        (held.entries, held.token) = (entries, Some(token.clone()));
        Ok(Answer::Done(token))
    }

    /// Until the connection breaks, it must read again, or has heard enough; what it does not understand is wrong.
    async fn listen(&self, mut socket: Socket, most: usize) {
        let mut received = 0;
        while received < most {
            let Some(Ok(message)) = socket.next().await else { return };
            let Message::Text(text) = message else { continue };
            let Ok(message) = serde_json::from_str::<Value>(&text) else { return self.found(&text) };
            match message["type"].as_str() {
                Some("connection_ack" | "ping") => {}
                Some("next") if message["payload"]["errors"].is_null() => {
                    received += 1;
                    self.events.fetch_add(1, Relaxed);
                    if let Err(why) = self.apply(&message["payload"]["data"]["newFeed"]) {
                        self.found(&format!("{why:#}: {text}"));
                    }
                    if self.held().token.is_none() {
                        return;
                    }
                }
                // Some store is away.
                Some("next" | "error" | "complete") => return,
                _ => return self.found(&text),
            }
        }
    }

    fn found(&self, what: &str) {
        self.held().wrong.push(format!("the device of {} received: {what}", self.reader));
    }

    fn apply(&self, event: &Value) -> Result<()> {
        let mut held = self.held();
        if event["__typename"] == "RefetchNeeded" {
            (held.entries, held.token) = (BTreeMap::new(), None);
            return Ok(());
        }
        let before = held.token.as_deref().context("a device without a token")?;
        let floor = ResumePoint::decode(before)?.floor();
        held.token = Some(event["resumeToken"].as_str().context("an event has no token")?.to_owned());
        if let Some(author) = event["authorId"].as_str() {
            held.entries.retain(|_, it| it.as_deref() != Some(author));
        }
        if let Some(content) = event["contentId"].as_str() {
            held.entries.retain(|position, _| content_id(*position) != content);
        }
        if event["timelineEdge"].is_object() {
            let (position, author) = entry(&event["timelineEdge"])?;
            let twice = held.entries.insert(position, author).is_some() && position > floor;
            ensure!(!twice, "received a content that it holds");
        }
        Ok(())
    }
}

fn entry(edge: &Value) -> Result<(Position, Option<String>)> {
    let position = cursor::decode(edge["cursor"].as_str().with_context(|| edge.to_string())?)?;
    Ok((position, edge["node"]["author"]["id"].as_str().map(str::to_owned)))
}
