//! Tests that sockets which send without an end and read nothing make a node neither keep memory nor die. With
//! `--nocapture` the memory of each node is printed in MiB, before and at most. `make soak` does it on MariaDB with
//! Redis, too, with one node and with two.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::Value as Json;
use tokio::time::{sleep, timeout};

use super::{
    fleet::{Fleet, Memory, Nodes, in_words},
    *,
};

const ADDRESS: &str = "192.0.2.1";
/// A flood ends after so many MiB, or as many as `FLOOD_MIB` says (`make soak`), or when a socket is not read from for
/// so long.
const FLOOD_MIB: usize = 24;
const STALL_TIME: Duration = Duration::from_secs(2);
/// What the node works for ends after so long.
const WORK_TIME: Duration = Duration::from_secs(3);
const SHORT_TIME: Duration = Duration::from_millis(500);
/// After a refused socket, the next one is opened so much later.
const REFUSED_TIME: Duration = Duration::from_millis(20);
/// Bytes written at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// What two flooding sockets may take beside what the node took before, and two hundred.
const OF_TWO: u64 = 12 * 1024 * 1024;
const OF_MANY: u64 = 128 * 1024 * 1024;

/// What a connection sends: `begin` once, then `again` without an end.
struct Flood {
    what: &'static str,
    over: Over,
    begin: Vec<u8>,
    again: Vec<u8>,
    time: Duration,
}

#[derive(Clone, Copy)]
enum Over {
    WebSocket,
    Http,
}

fn flood(what: &'static str, unit: &[u8]) -> Flood {
    Flood {
        what,
        over: Over::WebSocket,
        begin: Vec::new(),
        again: unit.repeat(CHUNK_BYTES.div_ceil(unit.len())),
        time: LIMIT,
    }
}

fn work(what: &'static str, unit: &[u8]) -> Flood {
    Flood { time: WORK_TIME, ..flood(what, unit) }
}

/// What ends its socket at once, so that most of the work is to open others.
fn ending(what: &'static str, unit: &[u8]) -> Flood {
    Flood { time: SHORT_TIME, ..flood(what, unit) }
}

/// Requests of which no answer is read.
fn requests(what: &'static str, (method, headers): (&str, &str), body: &str) -> Flood {
    let length = body.len();
    let head = format!("{method} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: {ADDRESS}\r\n{headers}");
    let unit = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    Flood { over: Over::Http, time: SHORT_TIME, ..flood(what, unit.as_bytes()) }
}

fn message(message: &Json) -> Vec<u8> {
    sockets::frame(0x81, message.to_string().as_bytes())
}

fn ping(length: usize) -> Json {
    json!({ "type": "ping", "payload": { "text": "x".repeat(length) } })
}

/// Many operations, each with an id of its own.
fn operations(query: &str) -> Vec<u8> {
    let subscribe = |id: usize| json!({ "type": "subscribe", "id": id.to_string(), "payload": { "query": query } });
    (0..1_000).flat_map(|id| message(&subscribe(id))).collect()
}

/// Every kind of message and request that can be sent again and again.
fn floods() -> Vec<Flood> {
    let feed =
        json!({ "type": "subscribe", "id": "1", "payload": { "query": "subscription { newFeed { __typename } }" } });
    let end = json!({ "type": "complete", "id": "1" });
    let malformed = json!({ "type": "subscribe", "id": "1", "payload": { "extensions": { "persistedQuery": {} } } });
    vec![
        flood("pings of the protocol", &sockets::frame(0x89, &[b'x'; 125])),
        flood("pongs of the protocol", &sockets::frame(0x8a, b"")),
        flood("pings", &message(&ping(400))),
        flood("long pings", &message(&ping(250_000))),
        flood("pongs", &message(&json!({ "type": "pong" }))),
        flood("completes", &message(&json!({ "type": "complete", "id": "1" }))),
        flood("subscribes that are none", &message(&malformed)),
        work("operations that are refused", &operations("{ missing }")),
        work("operations", &operations("{ __typename }")),
        work("subscriptions that begin and end", &[message(&feed), message(&end)].concat()),
        ending("second connection_inits", &message(&json!({ "type": "connection_init" }))),
        ending("types that are none", &message(&json!({ "type": "none" }))),
        ending("binary frames", &sockets::frame(0x82, &[0; 1_000])),
        ending("closing frames", &sockets::frame(0x88, b"")),
        requests("queries", ("POST /graphql", "accept: application/json\r\n"), r#"{"query":"{ __typename }"}"#),
        requests("streams", ("POST /graphql", "accept: text/event-stream\r\n"), r#"{"query":"{ __typename }"}"#),
        requests("preflights", ("OPTIONS /graphql", "origin: https://a.example\r\n"), ""),
        requests("unknown paths", ("GET /missing", ""), ""),
        Flood { begin: sockets::frame(0x01, b"x"), ..flood("a message of empty parts", &sockets::frame(0, b"")) },
    ]
}

async fn open((peer, token): (&Peer, &str), over: Over) -> Result<TcpStream> {
    match over {
        Over::Http => Ok(Line::to(peer).await?.0),
        Over::WebSocket => {
            let init = json!({ "authorization": format!("Bearer {token}") });
            Ok(sockets::socket(peer, ADDRESS, init).await?.into_inner())
        }
    }
}

/// Opens a connection, again and again: a node that is full refuses a new socket of this address, too. `None` if the
/// flood is sent already.
async fn let_in(to: (&Peer, &str), flood: &Flood, bytes: &AtomicUsize) -> Option<TcpStream> {
    while bytes.load(Ordering::Relaxed) < flood_bytes() {
        if let Ok(stream) = open(to, flood.over).await {
            return Some(stream);
        }
        sleep(REFUSED_TIME).await;
    }
    None
}

/// Sends a flood over one connection after another, until it is sent or the node reads no more. Its time begins when
/// the node has let the first one in: `stands` asks that the flood was sent at all.
async fn send(to: (&Peer, &str), flood: &Flood, bytes: &AtomicUsize) {
    let Ok(mut place) = timeout(LIMIT, let_in(to, flood, bytes)).await else { return };
    let sending = async {
        while let Some(mut stream) = place {
            // An error means that the node has ended the socket.
            let mut is_open = stream.write_all(&flood.begin).await.is_ok();
            while is_open && bytes.fetch_add(flood.again.len(), Ordering::Relaxed) < flood_bytes() {
                let Ok(written) = timeout(STALL_TIME, stream.write_all(&flood.again)).await else { return };
                is_open = written.is_ok();
            }
            drop(stream);
            place = let_in(to, flood, bytes).await;
        }
    };
    // A flood that is not over by then was long enough.
    timeout(flood.time, sending).await.ok();
}

fn flood_bytes() -> usize {
    std::env::var("FLOOD_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(FLOOD_MIB) * 1024 * 1024
}

impl Fleet {
    /// Nodes with contents to read, that have read them.
    async fn to_flood(nodes: Nodes) -> Result<Self> {
        let fleet = Self::start(nodes, "").await?;
        fleet.served.publish_the_longest_texts().await?;
        fleet.serves_pages().await?;
        Ok(fleet)
    }

    /// Sends floods over `each` sockets at once. Fails if a node takes more than `most` bytes beside what it took
    /// before, or dies.
    async fn stands(&self, nodes: Nodes, floods: &[Flood], (each, most): (usize, u64)) -> Result<()> {
        let before = self.begin_flood()?;
        let budgets: Vec<_> = floods.iter().map(|_| AtomicUsize::new(0)).collect();
        let sending = floods.iter().zip(&budgets).flat_map(|(flood, bytes)| {
            (0..each).map(move |place| send((self.peer(place), &self.served.token), flood, bytes))
        });
        join_all(sending).await;
        for (flood, bytes) in floods.iter().zip(&budgets) {
            ensure!(bytes.load(Ordering::Relaxed) >= CHUNK_BYTES, "no socket was let in: {}", flood.what);
        }
        until("pages are served again", async || {
            self.memory()?;
            Ok(self.serves_pages().await.is_ok())
        })
        .await?;
        let peak = self.peak()?;
        let what: Vec<_> = floods.iter().map(|flood| flood.what).collect();
        let what = what.join(", ");
        print(&format!("| {nodes:?} | {each} x {what} | {} | {} |", in_words(&before), in_words(&peak)));
        let is_little = before.iter().zip(&peak).all(|(before, peak)| *peak <= before + most);
        ensure!(is_little, "{before:?} bytes before, {peak:?} at most");
        Ok(())
    }

    async fn gives_all_back(&self, before: &Memory) -> Result<()> {
        self.served.until_all_is_given_back().await?;
        self.is_back_within(before).await
    }
}

/// Each flood by itself. One that a node does not stand does not keep the others from being tried.
async fn over_two_sockets(nodes: Nodes) -> Result<()> {
    let mut fleet = Fleet::to_flood(nodes).await?;
    let before = fleet.memory()?;
    let mut failed = String::new();
    for flood in floods() {
        let Err(error) = fleet.stands(nodes, std::slice::from_ref(&flood), (2, OF_TWO)).await else { continue };
        print(&format!("| {nodes:?} | 2 x {} | not stood |", flood.what));
        writeln!(failed, "{}: {error:#}", flood.what)?;
        fleet = Fleet::to_flood(nodes).await?;
    }
    ensure!(failed.is_empty(), "{failed}");
    fleet.gives_all_back(&before).await
}

/// All floods at once.
async fn over_two_hundred_sockets(nodes: Nodes) -> Result<()> {
    let fleet = Fleet::to_flood(nodes).await?;
    let before = fleet.memory()?;
    let mut floods = floods();
    // So that all of them are under way at once.
    for flood in &mut floods {
        flood.time = flood.time.max(WORK_TIME);
    }
    fleet.stands(nodes, &floods, (200 / floods.len(), OF_MANY)).await?;
    fleet.gives_all_back(&before).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_flooding_sockets_take_little_memory_which_comes_back() -> Result<()> {
    over_two_sockets(Nodes::OnSqlite).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_flooding_sockets_take_bounded_memory_which_comes_back() -> Result<()> {
    over_two_hundred_sockets(Nodes::OnSqlite).await
}

/// On MariaDB with Redis, one node and two.
mod mariadb {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn two_flooding_sockets_take_little_memory_which_comes_back() -> Result<()> {
        over_two_sockets(Nodes::OnMariaDb(1)).await?;
        over_two_sockets(Nodes::OnMariaDb(2)).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make soak` runs it"]
    async fn two_hundred_flooding_sockets_take_bounded_memory_which_comes_back() -> Result<()> {
        over_two_hundred_sockets(Nodes::OnMariaDb(1)).await?;
        over_two_hundred_sockets(Nodes::OnMariaDb(2)).await
    }
}
