//! Tests what clients cannot make a socket do: keep what they do not read, or work for nothing.

use std::{num::NonZeroU32, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::tungstenite::Message;

use super::{
    client::{PATIENCE, Server, any_number, raw_frame},
    *,
};
use crate::guard::GuardLimits;

/// Far more than the kernel keeps of what one side does not read.
const ENDLESS_BYTES: usize = 64 << 20;
/// Longer than a test lasts.
const NEVER: Duration = Duration::from_mins(10);

/// A server that waits for readers, and lets clients send what costs nothing.
async fn patient() -> Server {
    let limits = SocketLimits { send_time: NEVER, free_messages: any_number(), ..SocketLimits::default() };
    Server::with(limits).await
}

/// A server that lets a client send this many messages that cost nothing.
async fn strict(points: u32) -> Server {
    let free_messages = TokenBucket { points: NonZeroU32::new(points).unwrap(), per_second: NonZeroU32::MIN };
    Server::with(SocketLimits { free_messages, ..SocketLimits::default() }).await
}

fn text(message: &Json) -> Vec<u8> {
    raw_frame(0x81, message.to_string().as_bytes())
}

/// Sends `frame` again and again until the server drops the connection. Returns the number of bytes sent before that,
/// at most [`ENDLESS_BYTES`].
async fn sent_until_dropped(stream: &mut TcpStream, frame: &[u8]) -> usize {
    let frames = frame.repeat(64 * 1024 / frame.len() + 1);
    let mut sent = 0;
    while sent < ENDLESS_BYTES && timeout(PATIENCE, stream.write_all(&frames)).await.unwrap().is_ok() {
        sent += frames.len();
    }
    sent
}

/// The code with which the server closes the socket, whatever it sends before.
async fn close_code(stream: &mut TcpStream) -> u16 {
    loop {
        let head = [read_byte(stream).await, read_byte(stream).await];
        let length = match head[1] {
            126 => usize::from(u16::from_be_bytes([read_byte(stream).await, read_byte(stream).await])),
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        timeout(PATIENCE, stream.read_exact(&mut payload)).await.unwrap().unwrap();
        if head[0] == 0x88 {
            return u16::from_be_bytes([payload[0], payload[1]]);
        }
    }
}

async fn read_byte(stream: &mut TcpStream) -> u8 {
    timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_client_that_takes_no_pong_is_dropped() {
    let ping = json!({"type": "ping", "payload": {"text": "x".repeat(400)}});
    for frame in [raw_frame(0x89, &[b'x'; 125]), text(&ping)] {
        let server = patient().await;
        let mut stream = server.mute().await;
        let sent = sent_until_dropped(&mut stream, &frame).await;
        assert!(sent < ENDLESS_BYTES, "{sent} bytes of {}", String::from_utf8_lossy(&frame));
        server.emptied().await;
    }
}

#[tokio::test]
async fn as_many_pings_as_come_in_one_packet_are_answered() {
    let server = patient().await;
    let mut stream = server.mute().await;
    let pings = [raw_frame(0x89, b"frame"), text(&json!({"type": "ping", "payload": {"a": "message"}}))].concat();
    stream.write_all(&pings.repeat(300)).await.unwrap();
    let mut received = Vec::new();
    let ends = |received: &[u8]| {
        let count = |part: &[u8]| received.windows(part.len()).filter(|window| *window == part).count();
        (count(b"\x8a\x05frame"), count(br#"{"type":"pong","payload":{"a":"message"}}"#))
    };
    while ends(&received) != (300, 300) {
        let read = timeout(PATIENCE, stream.read_buf(&mut received)).await.unwrap().unwrap();
        assert!(read > 0, "dropped after {:?} answers", ends(&received));
    }
}

#[tokio::test]
async fn operations_of_a_client_that_reads_nothing_have_a_bound() {
    let server = patient().await;
    let mut stream = server.mute().await;
    let frames = text(&json!({"type": "subscribe", "id": "1", "payload": {"query": "{ missing }"}})).repeat(500);
    let mut sent = 0;
    // The server reads no more. Its kernel takes some MiB all the same.
    while let Ok(written) = timeout(Duration::from_secs(5), stream.write_all(&frames)).await {
        written.unwrap();
        sent += frames.len();
        assert!(sent < ENDLESS_BYTES / 2, "it reads on");
    }
    drop(stream);
    server.emptied().await;
}

#[tokio::test]
async fn a_socket_has_a_rate_of_messages_that_cost_nothing() {
    let pong = text(&json!({"type": "pong"}));
    let malformed = json!({"persistedQuery": {}});
    for message in [
        raw_frame(0x89, b"x"),
        raw_frame(0x8a, b""),
        text(&json!({"type": "ping"})),
        pong.clone(),
        text(&json!({"type": "complete", "id": "1"})),
        text(&json!({"type": "subscribe", "id": "1", "payload": {"extensions": malformed}})),
    ] {
        let server = strict(20).await;
        let mut stream = server.mute().await;
        // A `complete` of what was begun is free.
        stream.write_all(&message.repeat(45)).await.unwrap();
        assert_eq!(close_code(&mut stream).await, 4429, "{}", String::from_utf8_lossy(&message));
    }
    let server = strict(20).await;
    let mut client = server.acknowledged().await;
    for _ in 0..20 {
        client.say(json!({"type": "pong"})).await;
    }
    client.subscribe("1", "{ hello }").await;
    assert_eq!(client.hear().await["payload"]["data"]["hello"], "world", "twenty messages are within the rate");
    client.say(json!({"type": "ping"})).await;
    let why = (4429, "Too many messages: send at most 1 pings, pongs and the like a second".to_owned());
    assert_eq!(client.closed().await, why, "what is left of the operation is sent first");
}

#[tokio::test]
async fn operations_and_their_ends_have_no_rate() {
    let server = strict(1).await;
    let mut client = server.acknowledged().await;
    for round in 0..200 {
        let id = round.to_string();
        client.subscribe(&id, "{ hello }").await;
        assert_eq!(client.hear().await["type"], "next");
        assert_eq!(client.hear().await["type"], "complete");
        // It crosses the server's, and goes out with the next message.
        client.0.feed(Message::text(json!({"type": "complete", "id": id}).to_string())).await.unwrap();
    }
    client.0.feed(Message::text(json!({"type": "complete", "id": "never begun"}).to_string())).await.unwrap();
    client.subscribe("last", "{ hello }").await;
    assert_eq!(client.hear().await["type"], "next");
}

#[tokio::test]
async fn a_pong_repeats_a_short_payload_only() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.client().await;
    let short = json!({"text": "x".repeat(400)});
    client.say(json!({"type": "ping", "payload": short})).await;
    assert_eq!(client.hear().await, json!({"type": "pong", "payload": short}));
    client.say(json!({"type": "ping", "payload": {"text": "x".repeat(600)}})).await;
    assert_eq!(client.hear().await, json!({"type": "pong"}));
}

#[tokio::test]
async fn an_unfinished_message_beyond_the_limit_closes_with_1009() {
    let server = Server::start(HttpSettings::default()).await;
    let limit = SocketLimits::default().message_bytes;
    let announced = |length: usize| [&[0x81, 0xff][..], &(length as u64).to_be_bytes(), &[0; 4]].concat();
    let part = |first: u8, length: usize| raw_frame(first, &vec![b'x'; length]);
    for begin in [
        announced(limit + 1),
        announced(2 * limit),
        [announced(2 * limit), vec![b'x'; limit + limit / 2]].concat(),
        [part(0x01, limit / 2), part(0, limit / 2), part(0, 1)].concat(),
        // Parts without content.
        [part(0x01, 1), raw_frame(0, b"").repeat(2 * limit / 6 + 1_000)].concat(),
    ] {
        let mut stream = server.mute().await;
        // The server may have closed before everything is written.
        let _ = stream.write_all(&begin).await;
        assert_eq!(close_code(&mut stream).await, 1009, "{} bytes", begin.len());
    }
    let mut stream = server.mute().await;
    let whole = text(&json!({"type": "ping", "payload": {"a": "x".repeat(limit - 36)}}));
    stream.write_all(&whole).await.unwrap();
    let mut received = Vec::new();
    while !received.ends_with(br#"{"type":"pong"}"#) {
        assert!(timeout(PATIENCE, stream.read_buf(&mut received)).await.unwrap().unwrap() > 0, "{received:?}");
    }
}

#[tokio::test]
async fn an_answer_as_long_as_any_goes_out_beside_pings() {
    let request = RequestLimits { answer_bytes: 2 << 20, ..RequestLimits::default() };
    let guard = GuardLimits { variable_bytes: 2 << 20, ..GuardLimits::default() };
    let socket = SocketLimits { message_bytes: 2 << 20, free_messages: any_number(), ..SocketLimits::default() };
    let server = Server::start(HttpSettings { guard, request, socket, ..HttpSettings::default() }).await;
    let mut client = server.acknowledged().await;
    let long = "x".repeat((2 << 20) - 200);
    let variables = json!({"text": &long});
    for id in ["1", "2"] {
        let payload = json!({"query": "query($text: String!) { echo(text: $text) }", "variables": variables});
        client.say(json!({"type": "subscribe", "id": id, "payload": payload})).await;
        client.0.send(Message::Ping(vec![7; 125].into())).await.unwrap();
    }
    let (mut answers, mut pongs) = (0, 0);
    while (answers, pongs) != (2, 2) {
        match timeout(PATIENCE, client.0.next()).await.unwrap().unwrap().unwrap() {
            Message::Pong(bytes) => pongs += usize::from(bytes.len() == 125),
            Message::Text(text) if text.contains("\"next\"") => answers += usize::from(text.contains(&long)),
            Message::Text(text) => assert!(text.contains("complete"), "{text:.300}"),
            other => unreachable!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn pipelined_requests_whose_answers_nobody_reads_are_not_read_without_a_bound() {
    let limits = ConnectionLimits { stall_time: NEVER, ..ConnectionLimits::default() };
    let server = Server::among(HttpSettings::default(), limits).await;
    let requests = "GET /graphql?query=%7Bhello%7D HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_secs(5), stream.write_all(requests.as_bytes())).await {
        written.unwrap();
        sent += requests.len();
        assert!(sent < ENDLESS_BYTES / 2, "it reads on");
    }
}
