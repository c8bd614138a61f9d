//! The bare server: axum answers everybody with the same bytes and broadcasts events to all WebSockets. Its cost is
//! that of HTTP and sockets without a product behind them.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use axum::{
    Router,
    body::Bytes,
    extract::{
        State,
        ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade},
    },
    http::header::CONTENT_TYPE,
    response::IntoResponse,
    routing::{any, get, post},
};
use tokio::{net::TcpListener, sync::broadcast};

struct Bare {
    answer: Bytes,
    event: Utf8Bytes,
    events: broadcast::Sender<Utf8Bytes>,
}

/// Serves until it is killed.
pub async fn serve(listen: SocketAddr, answer: &Path, event: &Path) -> Result<()> {
    let answer = std::fs::read(answer).context("The answer cannot be read.")?.into();
    let event = std::fs::read_to_string(event).context("The event cannot be read.")?.into();
    let (events, _) = broadcast::channel(16);
    let router = Router::new()
        .route("/graphql", post(answered))
        .route("/graphql/ws", any(upgraded))
        .route("/publish", post(published))
        .route("/readyz", get(async || "ready\n"))
        .with_state(Arc::new(Bare { answer, event, events }));
    crate::processes::open_many_sockets();
    axum::serve(TcpListener::bind(listen).await?, router).await?;
    Ok(())
}

async fn answered(State(bare): State<Arc<Bare>>, _asked: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], bare.answer.clone())
}

async fn published(State(bare): State<Arc<Bare>>) -> impl IntoResponse {
    // No listener is not an error.
    let heard = bare.events.send(bare.event.clone()).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], format!("{{\"data\":{heard}}}"))
}

async fn upgraded(State(bare): State<Arc<Bare>>, upgrade: WebSocketUpgrade) -> impl IntoResponse {
    let events = bare.events.subscribe();
    upgrade.protocols(["graphql-transport-ws"]).on_upgrade(move |socket| told(socket, events))
}

/// Answers the client's first messages as the protocol requires, then sends each event until the client leaves.
async fn told(mut socket: WebSocket, mut events: broadcast::Receiver<Utf8Bytes>) {
    loop {
        let sent = tokio::select! {
            event = events.recv() => match event {
                Ok(event) => socket.send(Message::Text(event)).await,
                Err(_) => return,
            },
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(text))) if text.contains("connection_init") => {
                    socket.send(Message::Text("{\"type\":\"connection_ack\"}".into())).await
                }
                Some(Ok(_)) => Ok(()),
                _ => return,
            },
        };
        if sent.is_err() {
            return;
        }
    }
}
