//! graphql-transport-ws on a real port: the handshake, an operation, and why a socket is closed.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use graphql_transport::http::{ConnectionLimits, Routes, serve};
use serde_json::{Value as Json, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _},
};
use tokio_util::sync::CancellationToken;

use super::Service;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A server, which ends when it is dropped, and its address.
async fn server() -> (JoinSet<()>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("ws://{}/graphql/ws", listener.local_addr().unwrap());
    let all = Service::usual().router;
    let routes = Routes { full: all.clone(), all };
    let mut serving = JoinSet::new();
    serving.spawn(serve(listener, routes, ConnectionLimits::default(), CancellationToken::new()));
    (serving, address)
}

/// A socket that offers `subprotocol`; `Err`: the status with which it was refused.
async fn open(address: &str, subprotocol: &str) -> Result<Socket, u16> {
    let mut request = address.into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", subprotocol.parse().unwrap());
    match connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => unreachable!("{error}"),
    }
}

async fn say(socket: &mut Socket, message: Json) {
    socket.send(Message::text(message.to_string())).await.unwrap();
}

/// The next message, or the code of a close frame.
async fn hear(socket: &mut Socket) -> Result<Json, u16> {
    loop {
        match timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap() {
            Message::Text(text) => return Ok(serde_json::from_str(&text).unwrap()),
            Message::Close(Some(close)) => return Err(close.code.into()),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_socket_is_acknowledged_and_an_operation_runs_to_complete() {
    let (_serving, address) = server().await;
    let mut socket = open(&address, "graphql-transport-ws").await.unwrap();
    say(&mut socket, json!({"type": "connection_init", "payload": {"authorization": "Bearer 7"}})).await;
    assert_eq!(hear(&mut socket).await, Ok(json!({"type": "connection_ack"})));
    say(&mut socket, json!({"type": "subscribe", "id": "a", "payload": {"query": "subscription { count(to: 2) }"}}))
        .await;
    for count in [1, 2] {
        let next = hear(&mut socket).await.unwrap();
        assert_eq!(
            (&next["type"], &next["id"], &next["payload"]["data"]["count"]),
            (&json!("next"), &json!("a"), &json!(count))
        );
    }
    assert_eq!(hear(&mut socket).await, Ok(json!({"type": "complete", "id": "a"})));
    say(&mut socket, json!({"type": "subscribe", "id": "b", "payload": {"query": "{ reader }"}})).await;
    assert_eq!(hear(&mut socket).await.unwrap()["payload"]["data"]["reader"], 7);
}

#[tokio::test]
async fn protocol_violations_close_the_socket_with_their_code() {
    let (_serving, address) = server().await;
    let init = json!({"type": "connection_init"});
    let subscribe = json!({"type": "subscribe", "id": "a", "payload": {"query": "{ hello }"}});
    let expired = json!({"type": "connection_init", "payload": {"authorization": "Bearer x"}});
    for (messages, code) in [
        (vec![subscribe], 4401),
        (vec![expired], 4403),
        (vec![init.clone(), init], 4429),
        (vec![json!({"type": "start"})], 4400),
    ] {
        let mut socket = open(&address, "graphql-transport-ws").await.unwrap();
        for message in &messages {
            say(&mut socket, message.clone()).await;
        }
        let closed = loop {
            if let Err(closed) = hear(&mut socket).await {
                break closed;
            }
        };
        assert_eq!(closed, code, "{messages:?}");
    }
}

#[tokio::test]
async fn another_subprotocol_is_refused() {
    let (_serving, address) = server().await;
    assert_eq!(open(&address, "graphql-ws").await.err(), Some(400));
    assert!(open(&address, "graphql-ws, graphql-transport-ws").await.is_ok());
}
