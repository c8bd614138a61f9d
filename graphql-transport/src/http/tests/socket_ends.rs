//! Tests how sockets end: in time, with a handshake, and without waiting for clients that do not read.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    client::{PATIENCE, Server, any_number, raw_frame},
    *,
};

#[tokio::test]
async fn silence_at_the_beginning_closes_with_4408_when_the_time_is_up() {
    assert_eq!(SocketLimits::default().init_time, Duration::from_secs(3));
    let server = Server::with(SocketLimits { init_time: Duration::from_millis(300), ..SocketLimits::default() }).await;
    let begin = Instant::now();
    let mut client = server.client().await;
    assert_eq!(client.closed().await, (4408, "Connection initialisation timeout".to_owned()));
    assert!((290..3000).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_client_that_only_pings_is_no_initialised_one() {
    let server = Server::with(SocketLimits { init_time: Duration::from_millis(200), ..SocketLimits::default() }).await;
    let mut client = server.client().await;
    client.say(json!({"type": "ping"})).await;
    assert_eq!(client.closed().await.0, 4408);
}

#[tokio::test]
async fn a_stopping_server_completes_every_operation_and_closes_with_1001() {
    let server = Server::start(HttpSettings::default()).await;
    let (mut busy, mut idle, mut new) =
        (server.acknowledged().await, server.acknowledged().await, server.client().await);
    busy.subscribe("a", "subscription { silence }").await;
    busy.subscribe("b", "{ slow(ms: 60000) }").await;
    busy.say(json!({"type": "ping"})).await;
    assert_eq!(busy.hear().await["type"], "pong");
    server.stop.cancel();
    let mut completed = [busy.hear().await, busy.hear().await].map(|message| message["id"].to_string());
    completed.sort();
    assert_eq!(completed, ["\"a\"", "\"b\""]);
    for client in [&mut busy, &mut idle, &mut new] {
        assert_eq!(client.closed().await.0, 1001);
    }
    server.emptied().await;
}

#[tokio::test]
async fn a_client_that_closes_is_answered_with_its_own_code() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("1", "subscription { silence }").await;
    client.0.close(Some(CloseFrame { code: CloseCode::Normal, reason: "done".into() })).await.unwrap();
    let answer = client.frame().await.unwrap().unwrap();
    assert!(matches!(&answer, Message::Close(Some(close)) if close.code == CloseCode::Normal), "{answer:?}");
    assert!(client.frame().await.is_none());
    server.emptied().await;
}

#[tokio::test]
async fn a_client_that_vanishes_takes_its_operations_with_it() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("1", "subscription { silence }").await;
    drop(client);
    server.emptied().await;
}

#[tokio::test]
async fn a_client_ignoring_the_close_is_dropped_after_the_close_time() {
    let server = Server::with(SocketLimits { close_time: Duration::from_millis(200), ..SocketLimits::default() }).await;
    let _client = server.acknowledged().await;
    server.stop.cancel();
    server.emptied().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_read_from_and_then_dropped() {
    let send_time = Duration::from_millis(500);
    let server = Server::with(SocketLimits { send_time, queued_messages: 4, ..SocketLimits::default() }).await;
    let mut client = server.acknowledged().await;
    client.subscribe("1", "subscription { flood }").await;
    let begin = Instant::now();
    server.emptied().await;
    assert!(begin.elapsed() >= send_time, "it had its time: {:?}", begin.elapsed());
}

#[tokio::test]
async fn a_client_that_does_not_read_can_still_complete() {
    let send_time = Duration::from_mins(1);
    let server = Server::with(SocketLimits { send_time, queued_messages: 4, ..SocketLimits::default() }).await;
    let mut client = server.acknowledged().await;
    client.subscribe("1", "subscription { flood }").await;
    // The flood fills the kernel's buffers of a client that does not read. At 64 KiB each, that takes a moment.
    tokio::time::sleep(Duration::from_millis(500)).await;
    client.say(json!({"type": "complete", "id": "1"})).await;
    client.subscribe("2", "{ hello }").await;
    let mut floods = 0;
    loop {
        let message = client.hear().await;
        if message["id"] == "2" {
            assert_eq!(message["payload"]["data"]["hello"], "world");
            break;
        }
        floods += 1;
        assert!(floods < 2000, "the flood goes on after its complete");
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_closes_with_1009() {
    let server = Server::with(SocketLimits { message_bytes: 1000, ..SocketLimits::default() }).await;
    let mut client = server.acknowledged().await;
    client.0.send(Message::text("x".repeat(1001))).await.unwrap();
    assert_eq!(client.closed().await, (1009, "Message too large: the limit is 1000 bytes".to_owned()));
    // What the server has not read must not reset the connection before the client knows why it ends.
    for bytes in [3_000, 300_000, 3_000_000] {
        let mut client = server.acknowledged().await;
        client.0.send(Message::text("x".repeat(bytes))).await.unwrap();
        assert_eq!(client.closed().await.0, 1009, "{bytes} bytes");
    }
}

/// The reason of an earlier message is not lost either.
#[tokio::test]
async fn a_client_that_goes_on_sending_learns_why_it_is_closed() {
    let server = Server::with(SocketLimits { message_bytes: 1000, ..SocketLimits::default() }).await;
    for bytes in [3_000, 300_000, 3_000_000] {
        let mut client = server.acknowledged().await;
        client.0.feed(Message::text("{}")).await.unwrap();
        client.0.send(Message::text("x".repeat(bytes))).await.unwrap();
        assert_eq!(client.closed().await.0, 4400, "{bytes} bytes");
    }
}

#[tokio::test]
async fn a_client_that_answers_pings_is_kept() {
    let server = Server::with(SocketLimits { ping_every: Duration::from_millis(20), ..SocketLimits::default() }).await;
    let mut answering = server.acknowledged().await;
    for _ in 0..20 {
        let frame = timeout(PATIENCE, answering.0.next()).await.unwrap().unwrap().unwrap();
        assert!(matches!(frame, Message::Ping(_)), "{frame:?}");
    }
    answering.say(json!({"type": "ping"})).await;
    assert_eq!(answering.hear().await["type"], "pong");
}

#[tokio::test]
async fn a_client_that_answers_no_ping_is_closed_with_4408() {
    let (ping_every, pong_time) = (Duration::from_millis(100), Duration::from_millis(300));
    // It does not answer the close frame either.
    let close_time = Duration::from_millis(200);
    let server = Server::with(SocketLimits { ping_every, pong_time, close_time, ..SocketLimits::default() }).await;
    let mut stream = server.mute().await;
    let received = timeout(PATIENCE, hear_close(&mut stream)).await.unwrap();
    let pings = received.windows(2).filter(|head| *head == [0x89, 0]).count();
    assert_eq!(pings, 1, "the second waits for the first one's answer");
    assert_eq!(close_code(&received), 4408);
    server.emptied().await;
}

/// Everything that the server sends, up to its close frame.
async fn hear_close(stream: &mut TcpStream) -> Vec<u8> {
    let (mut received, mut part) = (Vec::new(), [0_u8; 1024]);
    while !received.contains(&0x88) {
        let length = stream.read(&mut part).await.unwrap();
        assert!(length > 0, "no close frame: {received:?}");
        received.extend_from_slice(&part[..length]);
    }
    received
}

fn close_code(received: &[u8]) -> u16 {
    let at = received.iter().position(|&byte| byte == 0x88).unwrap();
    u16::from_be_bytes([received[at + 2], received[at + 3]])
}

#[tokio::test]
async fn a_message_still_arriving_counts_as_a_sign_of_life() {
    let (ping_every, pong_time) = (Duration::from_millis(50), Duration::from_millis(500));
    let server = Server::with(SocketLimits { ping_every, pong_time, ..SocketLimits::default() }).await;
    let mut stream = server.mute().await;
    let frame = raw_frame(
        0x81,
        br#"{"type":"ping","payload":{"text":"a hundred bytes, each of them for itself, so that it takes long"}}"#,
    );
    for byte in frame {
        stream.write_all(&[byte]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    let (mut received, mut part) = (Vec::new(), [0_u8; 1024]);
    let answered = async {
        while !String::from_utf8_lossy(&received).contains("each of them for itself") {
            let length = stream.read(&mut part).await.unwrap();
            assert!(length > 0 && !received.contains(&0x88), "given up: {received:?}");
            received.extend_from_slice(&part[..length]);
        }
    };
    timeout(PATIENCE, answered).await.unwrap();
}

#[tokio::test]
async fn a_message_that_never_ends_closes_with_1008() {
    let (message_time, free_messages) = (Duration::from_millis(200), any_number());
    let limits = SocketLimits { message_time, free_messages, ..SocketLimits::default() };
    let server = Server::with(limits).await;
    let mut stream = server.mute().await;
    stream.write_all(&raw_frame(0x01, &vec![b'x'; 50_000])).await.unwrap();
    let (mut received, mut part) = (Vec::new(), [0_u8; 1024]);
    let closes = async {
        // A ping may arrive between the parts of a message, and shows that the server is alive.
        while !received.windows(2).any(|head: &[u8]| head[0] == 0x88) {
            stream.write_all(&raw_frame(0x89, b"here")).await.unwrap();
            let length = stream.read(&mut part).await.unwrap();
            received.extend_from_slice(&part[..length]);
        }
    };
    timeout(PATIENCE, closes).await.unwrap();
    let at = received.windows(2).position(|head| head[0] == 0x88).unwrap();
    assert_eq!(u16::from_be_bytes([received[at + 2], received[at + 3]]), 1008);
}

#[tokio::test]
async fn many_whole_messages_do_not_exceed_the_message_time() {
    let (message_time, free_messages) = (Duration::from_secs(1), any_number());
    let limits = SocketLimits { message_time, free_messages, ..SocketLimits::default() };
    let server = Server::with(limits).await;
    let mut client = server.acknowledged().await;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(1_300) {
        client.say(json!({"type": "ping", "payload": {"text": "x".repeat(20_000)}})).await;
        assert_eq!(client.hear().await, json!({"type": "pong"}), "a long payload is not repeated");
        client.0.send(Message::Ping(vec![7; 120].into())).await.unwrap();
    }
}

#[tokio::test]
async fn sockets_are_bounded_per_address_and_per_viewer() {
    let server = Server::with(SocketLimits { per_client: 2, ..SocketLimits::default() }).await;
    let (_first, second) = (server.client().await, server.client().await);
    assert_eq!(server.open(&[]).await.err(), Some(429));
    drop(second);
    let mut anns = Vec::new();
    let room = async {
        while anns.len() < 2 {
            let Ok(mut client) = server.open(&[("authorization", "Bearer good")]).await else { continue };
            client.say(json!({"type": "connection_init"})).await;
            assert_eq!(client.hear().await["type"], "connection_ack");
            anns.push(client);
        }
    };
    timeout(PATIENCE, room).await.unwrap();
    let mut third = server.open(&[("authorization", "Bearer good")]).await.unwrap();
    third.say(json!({"type": "connection_init"})).await;
    assert_eq!(third.closed().await, (4429, "Too many sockets: the limit is 2 for one viewer".to_owned()));
}

#[tokio::test]
async fn no_more_sockets_than_there_is_room_for() {
    let server = Server::with(SocketLimits { sockets: 2, ..SocketLimits::default() }).await;
    let (first, _second) = (server.acknowledged().await, server.acknowledged().await);
    assert_eq!(server.open(&[]).await.err(), Some(503));
    drop(first);
    let room = async {
        while server.open(&[]).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    assert!(timeout(PATIENCE, room).await.is_ok());
}

#[tokio::test]
async fn a_socket_closes_with_4403_when_its_token_ends_and_completes_nothing() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.open(&[("authorization", "Bearer brief")]).await.unwrap();
    client.say(json!({"type": "connection_init"})).await;
    assert_eq!(client.hear().await["type"], "connection_ack");
    client.subscribe("1", "subscription { silence }").await;
    let frame = client.frame().await.unwrap().unwrap();
    assert!(matches!(&frame, Message::Close(Some(close)) if u16::from(close.code) == 4403), "{frame:?}");
    assert!(client.frame().await.is_none());
    server.emptied().await;
}
