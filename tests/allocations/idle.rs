//! What an idle subscriber keeps: its connection, its socket, its subscription, and the follows of its reader, or what
//! it watches without one.

use std::{
    alloc::System,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use graphql_transport::http::{ConnectionLimits, Routes, serve};
use serde_json::{Value, json};
use stats_alloc::Region;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, spawn_blocking},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::ALLOCATOR;
use support::world::World;

/// What the demo's page asks.
const SUBSCRIBE: &str = "subscription Live($after: String) { newFeed(after: $after) { __typename \
    ... on EntryAdded { timelineEdge { cursor node { id kind text createdAt subjectId likeCount replyCount repostCount \
    viewerHasLiked viewerHasBookmarked author { id handle name avatarUrl viewerIsFollowing } } } resumeToken } \
    ... on ContentRemoved { contentId resumeToken } ... on AuthorRemoved { authorId resumeToken } \
    ... on RefetchNeeded { reason } } }";
const WATCH: &str = "subscription ShownChanged($ids: [ID!]!) { shownChanged(ids: $ids) { ids } }";
const UPGRADE: &str = "GET /graphql/ws HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    sec-websocket-protocol: graphql-transport-ws\r\n\r\n";

/// A frame whose mask is of zeros.
fn frame(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    let length = u16::try_from(text.len()).unwrap();
    let head = if length < 126 {
        vec![0x81, 0x80 | u8::try_from(length).unwrap()]
    } else {
        [vec![0x81, 0xfe], length.to_be_bytes().to_vec()].concat()
    };
    [head, vec![0; 4], text.into_bytes()].concat()
}

/// Subscribes as often as there are payloads, and keeps nothing but a file descriptor of its own.
fn subscribed<'a>(address: SocketAddr, init: &Value, payloads: impl IntoIterator<Item = &'a Value>) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut received = [0; 4096];
    stream.write_all(UPGRADE.as_bytes()).unwrap();
    assert!(stream.read(&mut received).unwrap() > 0 && received.starts_with(b"HTTP/1.1 101"));
    let init = json!({ "type": "connection_init", "payload": init });
    stream.write_all(&frame(&init)).unwrap();
    let read = stream.read(&mut received).unwrap();
    assert!(String::from_utf8_lossy(received.get(..read).unwrap()).contains("connection_ack"));
    for (id, payload) in payloads.into_iter().enumerate() {
        let subscribe = json!({ "type": "subscribe", "id": id.to_string(), "payload": payload });
        stream.write_all(&frame(&subscribe)).unwrap();
    }
    stream
}

/// Opens a subscription for each token, and waits until all have begun.
async fn subscribe_all(world: &World, address: SocketAddr, tokens: Vec<String>) -> Vec<TcpStream> {
    let wanted = world.hub.watching() + tokens.len();
    let payload = json!({ "query": SUBSCRIBE });
    let init = |token: &String| json!({ "authorization": format!("Bearer {token}") });
    let open = move || tokens.iter().map(|token| subscribed(address, &init(token), [&payload])).collect();
    let streams: Vec<TcpStream> = spawn_blocking(open).await.unwrap();
    while world.hub.watching() < wanted {
        sleep(Duration::from_millis(5)).await;
    }
    streams
}

async fn end_all(world: &World, streams: Vec<TcpStream>) {
    drop(streams);
    while world.hub.subscribers() > 0 {
        sleep(Duration::from_millis(5)).await;
    }
}

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Server {
    async fn of(world: &World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let routes = Routes { all: world.router(), full: world.router() };
        #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
        let serving = tokio::spawn(serve(listener, routes, ConnectionLimits::default(), stop.clone()));
        Self { address, stop, serving }
    }

    async fn end(self) {
        self.stop.cancel();
        self.serving.await.unwrap();
    }
}

/// Bytes that each of `tokens`' subscribers keeps, and that are left of each when they have gone.
pub async fn bytes_each(world: &World, tokens: Vec<String>) -> (usize, usize) {
    let server = Server::of(world).await;
    let address = server.address;
    // What the first ones make is there for all.
    let warm = subscribe_all(world, address, tokens.iter().take(10).cloned().collect()).await;
    end_all(world, warm).await;
    let count = tokens.len();
    let region = Region::new(ALLOCATOR);
    let streams = subscribe_all(world, address, tokens).await;
    // The last ones still settle.
    sleep(Duration::from_millis(200)).await;
    let kept = kept_since(&region);
    end_all(world, streams).await;
    sleep(Duration::from_millis(200)).await;
    let left = kept_since(&region);
    server.end().await;
    (kept / count, left / count)
}

/// Bytes that each watch without a viewer keeps which shows so many contents of its own, before its first hint: then
/// all of them wait to be hinted at.
pub async fn bytes_of_watch(world: &World, shown: u64) -> usize {
    let (sockets, watches_of_each) = (4, 20);
    let server = Server::of(world).await;
    let address = server.address;
    let watching = || world.hub.shown.watching();
    let mut kept = 0;
    // What the first ones make is there for all.
    for _ in 0..2 {
        let region = Region::new(ALLOCATOR);
        let open = move || {
            let payloads = |socket: u64| {
                let ids = move |watch: u64| {
                    let first = (socket * watches_of_each + watch) * shown + 1;
                    (first..first + shown).map(content_id).collect::<Vec<_>>()
                };
                let payload = move |watch| json!({ "query": WATCH, "variables": { "ids": ids(watch) } });
                (0..watches_of_each).map(payload).collect::<Vec<_>>()
            };
            (0..sockets).map(|socket| subscribed(address, &json!({}), &payloads(socket))).collect()
        };
        let streams: Vec<TcpStream> = spawn_blocking(open).await.unwrap();
        let all = usize::try_from(sockets * watches_of_each).unwrap();
        while watching() < all {
            sleep(Duration::from_millis(5)).await;
        }
        sleep(Duration::from_millis(100)).await;
        kept = kept_since(&region) / all;
        drop(streams);
        while watching() > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    }
    server.end().await;
    kept
}

/// As the API writes it.
fn content_id(number: u64) -> String {
    format!("C_{}", URL_SAFE_NO_PAD.encode(number.to_be_bytes()))
}

fn kept_since(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}
