//! A server on a real port, and a client that can send anything.

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
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
        let (Endpoints { router: all, early_refusals }, ending) = (endpoints(transport).unwrap(), stop.clone());
        let full =
            Router::new().route("/healthz", get(async || "alive")).fallback(async || StatusCode::SERVICE_UNAVAILABLE);
        let routes = Routes { all, full, early_refusals: Some(early_refusals) };
        let mut serving = tokio::task::JoinSet::new();
        serving.spawn(serve(listener, routes, limits, ending));
        Self { address, stop, sockets, serving }
    }

    pub(super) async fn with(socket: SocketLimits) -> Self {
        Self::start(HttpSettings { socket, ..HttpSettings::default() }).await
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
