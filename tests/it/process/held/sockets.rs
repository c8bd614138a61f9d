//! Tests incomplete WebSocket messages and request heads, and the documents and variables of subscriptions.

use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest as _, protocol::CloseFrame},
};

use super::*;

const ONE: usize = 262_144;
/// The bytes sent of an incomplete message, and the least number of them that the node must count.
const BEGIN: usize = 200_000;
const COUNTED: usize = 190_000;

pub(super) type Socket = WebSocketStream<TcpStream>;

/// A socket of `address`, acknowledged after `init`.
pub(super) async fn socket(peer: &Peer, address: &str, init: Value) -> Result<Socket> {
    let mut request = format!("ws://{}/graphql/ws", peer.address()).into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
    request.headers_mut().insert("x-forwarded-for", address.parse()?);
    let (mut socket, _) = client_async(request, Line::to(peer).await?.0).await?;
    socket.send(Message::text(json!({ "type": "connection_init", "payload": init }).to_string())).await?;
    ensure!(next_message(&mut socket).await?.into_text()?.contains("connection_ack"));
    Ok(socket)
}

pub(super) async fn next_message(socket: &mut Socket) -> Result<Message> {
    Ok(timeout(LIMIT, socket.next()).await.context("nothing is heard")?.context("the socket ends")??)
}

async fn closed(mut socket: Socket) -> Result<u16> {
    match next_message(&mut socket).await? {
        Message::Close(Some(CloseFrame { code, .. })) => Ok(code.into()),
        other => bail!("{other}"),
    }
}

/// A frame as a client sends it, with a mask of zeros (RFC 6455 section 5.2). `first`: its first byte.
pub(super) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short), _) if short < 126 => vec![first, 0x80 | short],
        (_, Ok(length)) => [&[first, 0xfe][..], &length.to_be_bytes()].concat(),
        _ => [&[first, 0xff][..], &(payload.len() as u64).to_be_bytes()].concat(),
    };
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

/// A `subscribe` of `length` bytes whose operation ends at once.
pub(super) fn padded(length: usize) -> String {
    let mut text = json!({ "type": "subscribe", "id": "1", "payload": { "query": "{ __typename }" } }).to_string();
    text.extend(std::iter::repeat_n(' ', length - text.len()));
    text
}

/// A socket of `address` that has sent so many bytes of a message of this length.
async fn begun(served: &Served, address: &str, (bytes, length): (usize, usize)) -> Result<Socket> {
    let mut socket = socket(&served.peer, address, json!({})).await?;
    socket.get_mut().write_all(&whole(length)[..bytes]).await?;
    Ok(socket)
}

fn whole(length: usize) -> Vec<u8> {
    frame(0x81, padded(length).as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incoming_messages_are_bounded_per_address_and_per_node() -> Result<()> {
    let (part, length, counted) = (100_000, 150_000, 90_000);
    let limits = format!("max_incoming_bytes = {}\nmax_incoming_bytes_per_address = {ONE}", 3 * part);
    let served = Served::start(&limits, None).await?;
    let mut ann = begun(&served, "192.0.2.1", (part, length)).await?;
    served.until_held("bodies", counted).await?;
    ensure!(closed(begun(&served, "192.0.2.1", (BEGIN, ONE)).await?).await? == 4429, "her address has no more room");
    let bob = begun(&served, "192.0.2.2", (part, length)).await?;
    served.until_held("bodies", 2 * counted).await?;
    // Until it holds as much as the others, what is unfinished of theirs would give way.
    ensure!(closed(begun(&served, "192.0.2.3", (BEGIN, ONE)).await?).await? == 1013, "the node has no more room");
    until("who was refused holds nothing", async || Ok(served.held("bodies").await? < 2 * part)).await?;

    ann.get_mut().write_all(&whole(length)[part..]).await?;
    let answer = next_message(&mut ann).await?;
    ensure!(answer.to_text()?.contains("__typename"), "who was let in is served: {answer}");
    drop(bob);
    served.until_all_is_given_back().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_unfinished_message_gives_way_when_there_is_no_room() -> Result<()> {
    let served = Served::start(&format!("max_incoming_bytes = {ONE}"), None).await?;
    let ann = begun(&served, "192.0.2.1", (BEGIN, ONE)).await?;
    served.until_held("bodies", COUNTED).await?;
    let mut bob = socket(&served.peer, "192.0.2.2", json!({})).await?;
    bob.send(Message::text(padded(BEGIN / 2))).await?;
    let answer = next_message(&mut bob).await?;
    ensure!(answer.to_text()?.contains("__typename"), "{answer}");
    ensure!(closed(ann).await? == 4429);
    served.until_all_is_given_back().await
}

/// A subscription keeps its document while it runs, in room of its own: of an address a quarter of what its requests
/// have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_of_a_subscription_counts_until_it_ends() -> Result<()> {
    let served = Served::start(&format!("max_incoming_bytes_per_address = {}", 4 * ONE), None).await?;
    let mut ann =
        socket(&served.peer, "192.0.2.1", json!({ "authorization": format!("Bearer {}", served.token) })).await?;
    let live = |id: &str, length: usize| {
        let spaces = " ".repeat(length);
        let query = format!("subscription {{ newFeed {{ __typename }} }}{spaces}");
        Message::text(json!({ "type": "subscribe", "id": id, "payload": { "query": query } }).to_string())
    };
    for id in ["1", "2", "3", "4", "5"] {
        ann.send(live(id, 51_500)).await?;
    }
    served.until_held("documents", 5 * 51_500).await?;
    ann.send(live("6", 5_000)).await?;
    let refused: Value = serde_json::from_str(next_message(&mut ann).await?.to_text()?)?;
    ensure!(refused["type"] == "error" && refused["id"] == "6", "{refused}");
    ensure!(refused["payload"][0]["extensions"]["code"] == "RATE_LIMITED", "{refused}");
    let mut other = socket(&served.peer, "192.0.2.1", json!({})).await?;
    other.send(Message::text(padded(BEGIN))).await?;
    let answer = next_message(&mut other).await?;
    ensure!(answer.to_text()?.contains("__typename"), "subscriptions leave the room of requests alone: {answer}");
    for id in ["1", "2", "3", "4", "5"] {
        ann.send(Message::text(json!({ "type": "complete", "id": id }).to_string())).await?;
    }
    served.until_all_is_given_back().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_on_their_way_have_room_for_the_node() -> Result<()> {
    // All peers are one trusted proxy here, which may forward many clients, so only the node's limit applies.
    let served = Served::start("max_body_bytes = 65536\nmax_incoming_bytes = 98304", None).await?;
    let head = format!("GET /graphql?query={} HTTP/1.1\r\nhost: a\r\n", "a".repeat(50_000));
    let half = async || -> Result<Line> {
        let mut line = Line::to(&served.peer).await?;
        line.0.write_all(head.as_bytes()).await?;
        Ok(line)
    };
    let mut lines = vec![half().await?, half().await?];
    served.until_held("heads", 2 * 40_000).await?;
    let mut third = half().await?;
    let mut rest = Vec::new();
    // Either kind of end is possible: unread bytes cause a reset.
    let _ = timeout(LIMIT, third.0.read_to_end(&mut rest)).await.context("the third is not cut off")?;
    ensure!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    lines[0].0.write_all(b"\r\n").await?;
    let status = lines[0].answer().await?.status;
    ensure!(status == 200, "who was let in is answered: {status}");
    drop(lines);
    until("all is given back", async || Ok(served.held("heads").await? == 0)).await
}
