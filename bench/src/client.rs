//! Speaks HTTP/1.1 over one kept connection: sends requests prepared as bytes, reads answers with a length. It parses
//! only what it needs, so that the generator costs little beside what it measures.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_mins(2);
const READ_BYTES: usize = 64 * 1024;

/// One connection.
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    /// Range of the last answer's body in `received`.
    body: (usize, usize),
}

/// The head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Such as 200.
    pub status: u16,
    /// Whether it has `Retry-After`.
    pub has_retry_after: bool,
}

/// A POST of a GraphQL operation, as bytes on the wire.
pub fn request(token: Option<&str>, query: &str, variables: &Value) -> Vec<u8> {
    let body = json!({ "query": query, "variables": variables }).to_string();
    let bearer = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    format!(
        "POST /graphql HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n{bearer}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

impl Client {
    /// Connects.
    pub async fn to(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("{address} refuses connections."))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(READ_BYTES), body: (0, 0) })
    }

    /// Sends a request and waits for the whole answer, whose body is [`Client::body`] until the next one.
    pub async fn ask(&mut self, request: &[u8]) -> Result<Head> {
        timeout(PATIENCE, self.exchange(request)).await.context("No answer came within two minutes.")?
    }

    /// The body of the last answer.
    pub fn body(&self) -> &[u8] {
        &self.received[self.body.0..self.body.1]
    }

    /// Whether the last answer has data, no errors and no refusals.
    pub fn succeeded(&self) -> bool {
        let body = self.body();
        body.starts_with(b"{\"data\":") && (body.len() > 2_000 || !contains(body, b"\"userErrors\":[{"))
    }

    /// Runs an operation that has to succeed and returns its data.
    pub async fn data(&mut self, token: Option<&str>, query: &str, variables: Value) -> Result<Value> {
        let head = self.ask(&request(token, query, &variables)).await?;
        let said = String::from_utf8_lossy(self.body());
        ensure!(head.status == 200 && self.succeeded(), "{query} {variables}: {} {said}", head.status);
        let mut answer: Value = serde_json::from_slice(self.body())?;
        Ok(answer["data"].take())
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Head> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let mut searched = 0;
        let end = loop {
            if let Some(at) = find(&self.received[searched..], b"\r\n\r\n") {
                break searched + at;
            }
            searched = self.received.len().saturating_sub(3);
            self.read_more().await?;
        };
        let (head, length) = parse(&self.received[..end])?;
        self.body = (end + 4, end + 4 + length);
        while self.received.len() < self.body.1 {
            self.read_more().await?;
        }
        Ok(head)
    }

    async fn read_more(&mut self) -> Result<()> {
        self.received.reserve(READ_BYTES);
        ensure!(self.stream.read_buf(&mut self.received).await? > 0, "The connection ended.");
        Ok(())
    }
}

fn parse(head: &[u8]) -> Result<(Head, usize)> {
    let text = std::str::from_utf8(head)?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("The answer has no status.")?.parse()?;
    let (mut length, mut has_retry_after) = (None, false);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.parse()?);
        } else if name.eq_ignore_ascii_case("retry-after") {
            has_retry_after = true;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            bail!("The answer has no length.");
        }
    }
    Ok((Head { status, has_retry_after }, length.unwrap_or(0)))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Whether `what` stands in `text`.
pub fn contains(text: &[u8], what: &[u8]) -> bool {
    find(text, what).is_some()
}
