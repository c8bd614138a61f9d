//! What an idle subscriber keeps: its connection, its socket, its subscription, and the follows of its reader.

use std::{
    alloc::System,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use graphql_transport::http::{ConnectionLimits, Routes, serve};
use serde_json::json;
use stats_alloc::Region;
use tokio::{net::TcpListener, task::spawn_blocking, time::sleep};
use tokio_util::sync::CancellationToken;

use super::ALLOCATOR;
use support::world::World;

/// What the demo's page asks.
const SUBSCRIBE: &str = "subscription Live($after: String) { newFeed(after: $after) { __typename \
    ... on EntryAdded { timelineEdge { cursor node { id kind text createdAt subjectId likeCount replyCount repostCount \
    viewerHasLiked viewerHasBookmarked author { id handle name avatarUrl viewerIsFollowing } } } resumeToken } \
    ... on ContentRemoved { contentId resumeToken } ... on AuthorRemoved { authorId resumeToken } \
    ... on RefetchNeeded { reason } } }";
const UPGRADE: &str = "GET /graphql/ws HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    sec-websocket-protocol: graphql-transport-ws\r\n\r\n";

/// A frame whose mask is of zeros.
fn frame(message: &serde_json::Value) -> Vec<u8> {
    let text = message.to_string();
    let length = u16::try_from(text.len()).unwrap();
    let head = if length < 126 {
        vec![0x81, 0x80 | u8::try_from(length).unwrap()]
    } else {
        [vec![0x81, 0xfe], length.to_be_bytes().to_vec()].concat()
    };
    [head, vec![0; 4], text.into_bytes()].concat()
}

/// Subscribes and keeps nothing but a file descriptor of its own.
fn subscribed(address: SocketAddr, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut received = [0; 4096];
    stream.write_all(UPGRADE.as_bytes()).unwrap();
    assert!(stream.read(&mut received).unwrap() > 0 && received.starts_with(b"HTTP/1.1 101"));
    let init = json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {token}") } });
    stream.write_all(&frame(&init)).unwrap();
    let read = stream.read(&mut received).unwrap();
    assert!(String::from_utf8_lossy(received.get(..read).unwrap()).contains("connection_ack"));
    let subscribe = json!({ "type": "subscribe", "id": "1", "payload": { "query": SUBSCRIBE } });
    stream.write_all(&frame(&subscribe)).unwrap();
    stream
}

/// Opens a subscription for each token, and waits until all have begun.
async fn subscribe_all(world: &World, address: SocketAddr, tokens: Vec<String>) -> Vec<TcpStream> {
    let wanted = world.hub.watching() + tokens.len();
    let open = move || tokens.iter().map(|token| subscribed(address, token)).collect();
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

/// Bytes that each of `tokens`' subscribers keeps, and that are left of each when they have gone.
pub async fn bytes_each(world: &World, tokens: Vec<String>) -> (usize, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let routes = Routes { all: world.router(), full: world.router() };
    #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
    let serving = tokio::spawn(serve(listener, routes, ConnectionLimits::default(), stop.clone()));
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
    stop.cancel();
    serving.await.unwrap();
    (kept / count, left / count)
}

fn kept_since(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}
