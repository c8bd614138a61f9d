//! A server on a real port, and a client that can send anything.

use std::{net::SocketAddr, num::NonZeroU32, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error as WsError, Message, client::IntoClientRequest as _},
};

use axum::routing::get;

use super::*;

/// Longer than anything takes, even on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

const UPGRADE: &str = "GET /graphql/ws HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    sec-websocket-protocol: graphql-transport-ws\r\n\r\n";

/// For tests of something else.
pub(super) fn any_number() -> TokenBucket {
    TokenBucket { points: NonZeroU32::MAX, per_second: NonZeroU32::MAX }
}

/// A frame as a client sends it, masked with zeros.
pub(super) fn raw_frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short), _) if short < 126 => vec![first, 0x80 | short],
        (_, Ok(length)) => [&[first, 0xfe][..], &length.to_be_bytes()].concat(),
        _ => [&[first, 0xff][..], &(payload.len() as u64).to_be_bytes()].concat(),
    };
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

/// A server on its own port, which stops with the test.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) sockets: TaskTracker,
    serving: tokio::task::JoinSet<()>,
}

impl Server {
    pub(super) async fn start(settings: HttpSettings) -> Self {
        Self::among(settings, ConnectionLimits::default()).await
    }

    /// As [`Self::of`], with the test transport of these settings.
    pub(super) async fn among(settings: HttpSettings, limits: ConnectionLimits) -> Self {
        Self::of(transport(settings), limits).await
    }

    /// A server of this transport. Raises the limits for an init and for a close to twice [`PATIENCE`] unless the test
    /// sets them, so that they never end a socket by accident.
    pub(super) async fn of(mut transport: Transport<TestSchema, Person>, limits: ConnectionLimits) -> Self {
        let (socket, usual) = (&mut transport.settings.socket, SocketLimits::default());
        for (time, usual) in [(&mut socket.init_time, usual.init_time), (&mut socket.close_time, usual.close_time)] {
            if *time == usual {
                *time = PATIENCE * 2;
            }
        }
        let (stop, sockets) = (transport.stop.clone(), transport.sockets.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (all, ending) = (router(transport).unwrap(), stop.clone());
        let full =
            Router::new().route("/healthz", get(async || "alive")).fallback(async || StatusCode::SERVICE_UNAVAILABLE);
        let routes = Routes { all, full };
        let mut serving = tokio::task::JoinSet::new();
        serving.spawn(serve(listener, routes, limits, ending));
        Self { address, stop, sockets, serving }
    }

    pub(super) async fn with(socket: SocketLimits) -> Self {
        Self::start(HttpSettings { socket, ..HttpSettings::default() }).await
    }

    /// Waits until all sockets are gone.
    pub(super) async fn emptied(&self) {
        self.sockets.close();
        let gone = timeout(PATIENCE, self.sockets.wait()).await;
        assert!(gone.is_ok(), "{} sockets are left", self.sockets.len());
    }

    /// A client that was acknowledged, and sends only what the test writes, not even a pong. It has little room for
    /// what it does not read.
    pub(super) async fn mute(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        stream.write_all(UPGRADE.as_bytes()).await.unwrap();
        let mut answer = [0_u8; 1024];
        let length = stream.read(&mut answer).await.unwrap();
        assert!(String::from_utf8_lossy(&answer[..length]).starts_with("HTTP/1.1 101"));
        stream.write_all(&raw_frame(0x81, br#"{"type":"connection_init"}"#)).await.unwrap();
        stream
    }

    /// Waits until it has stopped by itself.
    pub(super) async fn ended(mut self) {
        timeout(PATIENCE, self.serving.join_next()).await.unwrap().unwrap().unwrap();
    }

    /// Opens a socket; `Err` has the status of a refusal.
    pub(super) async fn open(&self, headers: &[(&'static str, &str)]) -> Result<Client, u16> {
        let mut request = format!("ws://{}/graphql/ws", self.address).into_client_request().unwrap();
        for (name, value) in [("sec-websocket-protocol", "graphql-transport-ws")].iter().chain(headers) {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match connect_async(request).await {
            Ok((stream, response)) => {
                assert_eq!(response.headers()["sec-websocket-protocol"], "graphql-transport-ws");
                assert!(response.headers().contains_key("x-request-id"));
                Ok(Client(stream))
            }
            Err(WsError::Http(response)) => Err(response.status().as_u16()),
            Err(error) => unreachable!("{error}"),
        }
    }

    pub(super) async fn client(&self) -> Client {
        self.open(&[]).await.unwrap()
    }

    /// A client whose init was acknowledged.
    pub(super) async fn acknowledged(&self) -> Client {
        let mut client = self.client().await;
        client.say(json!({"type": "connection_init"})).await;
        assert_eq!(client.hear().await, json!({"type": "connection_ack"}));
        client
    }
}

/// A client that can send anything.
pub(super) struct Client(pub(super) WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    pub(super) async fn say(&mut self, message: Json) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    pub(super) async fn subscribe(&mut self, id: &str, query: &str) {
        self.say(json!({"type": "subscribe", "id": id, "payload": {"query": query}})).await;
    }

    /// The next frame that is not a ping.
    pub(super) async fn frame(&mut self) -> Option<Result<Message, WsError>> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.unwrap() {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                frame => return frame,
            }
        }
    }

    pub(super) async fn hear(&mut self) -> Json {
        let frame = self.frame().await.unwrap().unwrap();
        serde_json::from_str(frame.to_text().unwrap()).unwrap_or_else(|_| unreachable!("{frame:?}"))
    }

    /// As [`Self::hear`], for a result, whose request id is checked and removed.
    pub(super) async fn result(&mut self) -> Json {
        let mut message = self.hear().await;
        without_id(&mut message["payload"]);
        message
    }

    /// The server's close code and reason, followed by a clean end of the handshake.
    pub(super) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.frame().await.unwrap().unwrap() {
                Message::Close(Some(close)) => {
                    assert!(self.frame().await.is_none(), "the connection ends after the handshake");
                    return (close.code.into(), close.reason.to_string());
                }
                Message::Close(None) => unreachable!("a close without a code"),
                _ => {}
            }
        }
    }
}

/// Removes the request id from a result, which must have one.
pub(super) fn without_id(payload: &mut Json) {
    let extensions = payload["extensions"].as_object_mut().unwrap();
    let id = extensions.remove("requestId").unwrap();
    assert_eq!(id.as_str().map(str::len), Some(32), "{id}");
    if extensions.is_empty() {
        payload.as_object_mut().unwrap().remove("extensions");
    }
}
