//! A WebSocket client that speaks as much of graphql-transport-ws as a subscriber needs, in few bytes a socket.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::client::contains;

/// Time limit of every wait.
const PATIENCE: Duration = Duration::from_mins(2);
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// Value of the length field when the length follows in two bytes.
const LONG: u8 = 0x7e;

/// One socket that is open for operations.
pub struct Socket {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Socket {
    /// Connects from any port of `source` and waits for `connection_ack`.
    pub async fn open(source: Ipv4Addr, address: SocketAddr, token: &str) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((source, 0)))?;
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        let mut socket = Self { stream, received: Vec::new() };
        let upgrade = "GET /graphql/ws HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                       sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                       sec-websocket-protocol: graphql-transport-ws\r\n\r\n";
        socket.stream.write_all(upgrade.as_bytes()).await?;
        timeout(PATIENCE, socket.upgraded()).await.context("The socket was not upgraded within two minutes.")??;
        let init = json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {token}") } });
        socket.send(TEXT, init.to_string().as_bytes()).await?;
        let text = socket.text().await?;
        ensure!(
            contains(&text, b"connection_ack"),
            "The server did not acknowledge the connection: {}",
            String::from_utf8_lossy(&text)
        );
        Ok(socket)
    }

    /// Begins a subscription under this number; the server sends no acknowledgement.
    pub async fn subscribe(&mut self, number: usize, query: &str) -> Result<()> {
        let subscribe = json!({ "type": "subscribe", "id": number.to_string(), "payload": { "query": query } });
        self.send(TEXT, subscribe.to_string().as_bytes()).await
    }

    /// The next text message, of any type.
    pub async fn text(&mut self) -> Result<Vec<u8>> {
        timeout(PATIENCE, self.next_text()).await.context("No message came within two minutes.")?
    }

    async fn upgraded(&mut self) -> Result<()> {
        while !self.received.ends_with(b"\r\n\r\n") {
            let byte = self.stream.read_u8().await?;
            self.received.push(byte);
        }
        let head = String::from_utf8_lossy(&self.received);
        ensure!(head.starts_with("HTTP/1.1 101"), "The socket was not upgraded: {head}");
        self.received.clear();
        Ok(())
    }

    async fn next_text(&mut self) -> Result<Vec<u8>> {
        loop {
            while let Some((code, payload)) = self.take_frame() {
                match code {
                    TEXT => return Ok(payload),
                    PING => self.send(PONG, &payload).await?,
                    CLOSE => bail!("The server has closed: {}", String::from_utf8_lossy(&payload)),
                    _ => {}
                }
            }
            let mut piece = [0; 4096];
            let read = self.stream.read(&mut piece).await?;
            ensure!(read > 0, "The socket ended.");
            self.received.extend_from_slice(&piece[..read]);
        }
    }

    /// A whole frame, if one has come.
    fn take_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let (first, second) = (*self.received.first()?, *self.received.get(1)?);
        let (from, length) = match second & 0x7f {
            126 => (4, usize::from(u16::from_be_bytes(self.received.get(2..4)?.try_into().ok()?))),
            127 => (10, usize::try_from(u64::from_be_bytes(self.received.get(2..10)?.try_into().ok()?)).ok()?),
            length => (2, usize::from(length)),
        };
        let payload = self.received.get(from..from + length)?.to_vec();
        self.received.drain(..from + length);
        if self.received.is_empty() {
            self.received = Vec::new();
        }
        Some((first & 0x0f, payload))
    }

    /// A client's frames are masked; a mask of zeros leaves them as they are.
    async fn send(&mut self, code: u8, payload: &[u8]) -> Result<()> {
        let mut frame = vec![0x80 | code];
        match u16::try_from(payload.len())? {
            short @ 0..=125 => frame.push(0x80 | u8::try_from(short)?),
            long => {
                frame.push(0x80 | LONG);
                frame.extend(long.to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend_from_slice(payload);
        Ok(self.stream.write_all(&frame).await?)
    }
}
