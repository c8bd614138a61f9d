//! Tests silent connections, and too many connections.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use super::{
    client::{PATIENCE, Server},
    *,
};

/// Longer than a test lasts.
const NEVER: Duration = Duration::from_mins(10);
/// How often a test is repeated if a busy machine delays its next step too long.
const TRIES: u32 = 20;

async fn server(limits: ConnectionLimits) -> Server {
    Server::among(HttpSettings::default(), limits).await
}

/// A connection on which `head` was sent.
async fn connected(server: &Server, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Everything that the server sends until it closes the connection.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut text)).await.unwrap();
    assert!(read.is_ok() || text.is_empty(), "{read:?}");
    String::from_utf8(text).unwrap()
}

/// The head of the answer to one request on a connection that stays open.
async fn answered(stream: &mut TcpStream, path: &str) -> String {
    // If the server has closed the connection, nothing can be read.
    let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await;
    let mut answer = vec![0_u8; 8192];
    let length = timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().unwrap_or_default();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn a_connection_without_a_whole_head_is_closed() {
    let head_time = Duration::from_millis(300);
    let server = server(ConnectionLimits { head_time, ..ConnectionLimits::default() }).await;
    for head in ["", "P", "GET /graphql HTTP/1.1\r\nhost: a\r\n", "PRI * HTTP/2.0\r\n"] {
        let begin = Instant::now();
        let mut stream = connected(&server, head).await;
        let answer = read_to_end(&mut stream).await;
        assert!(!answer.contains("200"), "{answer}");
        assert!(head.starts_with("PRI") || begin.elapsed() >= head_time, "{head:?}: it had its time");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_the_idle_time_only() {
    let (head_time, idle_time) = (Duration::from_millis(300), Duration::from_millis(1_500));
    let server = server(ConnectionLimits { head_time, idle_time, ..ConnectionLimits::default() }).await;
    for _ in 0..TRIES {
        let begin = Instant::now();
        let mut stream = connected(&server, "").await;
        let first = answered(&mut stream, "/graphql?query=%7Bhello%7D").await;
        let is_early = begin.elapsed() < head_time;
        while begin.elapsed() < head_time * 2 {
            tokio::task::yield_now().await;
        }
        let second = answered(&mut stream, "/graphql?query=%7Bhello%7D").await;
        if is_early && begin.elapsed() < idle_time {
            assert!([first, second].iter().all(|answer| answer.starts_with("HTTP/1.1 200")));
            assert_eq!(read_to_end(&mut stream).await, "");
            return;
        }
    }
    unreachable!("the machine was too slow {TRIES} times");
}

#[tokio::test]
async fn a_socket_outlives_the_time_for_heads() {
    let (head_time, idle_time) = (Duration::from_secs(2), Duration::from_secs(2));
    let server = server(ConnectionLimits { head_time, idle_time, ..ConnectionLimits::default() }).await;
    let mut client = server.acknowledged().await;
    client.subscribe("1", "{ slow(ms: 4000) }").await;
    assert_eq!(client.hear().await["payload"]["data"]["slow"], 4000);
}

#[tokio::test]
async fn at_the_connection_limit_probes_are_answered_and_others_get_503() {
    let limits =
        ConnectionLimits { connections: 3, per_address: 0, spare: 2, head_time: NEVER, ..ConnectionLimits::default() };
    let server = server(limits).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(connected(&server, "").await);
    }
    for (path, status) in [("/healthz", "200"), ("/graphql?query=%7Bhello%7D", "503"), ("/healthz", "200")] {
        let mut late = connected(&server, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        let answer = read_to_end(&mut late).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
    drop(silent);
    let room = async {
        while !answered(&mut connected(&server, "").await, "/graphql?query=%7Bhello%7D").await.contains("200 OK") {}
    };
    timeout(PATIENCE, room).await.unwrap();
}

#[tokio::test]
async fn connections_per_address_are_bounded_except_for_trusted_proxies() {
    let limits = ConnectionLimits { per_address: 2, head_time: NEVER, ..ConnectionLimits::default() };
    let server = server(limits.clone()).await;
    let (_socket, _silent) = (server.acknowledged().await, connected(&server, "").await);
    let mut third = connected(&server, "GET /graphql?query=%7Bhello%7D HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(read_to_end(&mut third).await.starts_with("HTTP/1.1 503"));
    let trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let server = self::server(ConnectionLimits { trusted_proxies, ..limits }).await;
    let mut several = Vec::new();
    for _ in 0..5 {
        let mut stream = connected(&server, "").await;
        assert!(answered(&mut stream, "/graphql?query=%7Bhello%7D").await.starts_with("HTTP/1.1 200"));
        several.push(stream);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected() {
    let stall_time = Duration::from_millis(300);
    let limits = ConnectionLimits { stall_time, connections: 1, per_address: 0, ..ConnectionLimits::default() };
    let server = server(limits).await;
    let mut greedy = connected(&server, "").await;
    // Unread answers fill the kernel's buffers. Then the server reads no more requests.
    let ask = "GET /graphql?query=%7Bhello%7D HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000);
    let asks = async { while greedy.write_all(ask.as_bytes()).await.is_ok() {} };
    timeout(Duration::from_mins(1), asks).await.unwrap();
}

#[tokio::test]
async fn a_stopping_server_lets_go_of_silent_connections_and_ends() {
    let limits = ConnectionLimits { head_time: NEVER, idle_time: NEVER, ..ConnectionLimits::default() };
    let server = server(limits).await;
    let mut stream = connected(&server, "").await;
    assert!(answered(&mut stream, "/graphql?query=%7Bhello%7D").await.starts_with("HTTP/1.1 200"));
    let mut silent = connected(&server, "").await;
    server.stop.cancel();
    assert_eq!((read_to_end(&mut stream).await, read_to_end(&mut silent).await), (String::new(), String::new()));
    server.ended().await;
}

#[tokio::test]
async fn an_endless_request_head_is_refused_with_431() {
    let server = server(ConnectionLimits { head_time: NEVER, ..ConnectionLimits::default() }).await;
    let begin = "GET /graphql HTTP/1.1\r\nhost: a\r\nx-a: ";
    let endless = format!("{begin}{}", "x".repeat(crate::http::connections::BUFFER_BYTES - begin.len()));
    let mut stream = connected(&server, &endless).await;
    assert!(read_to_end(&mut stream).await.starts_with("HTTP/1.1 431 "));
}
