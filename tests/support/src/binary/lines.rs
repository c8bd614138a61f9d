//! A client that reads lines while it sends lines, over a connection of its own. Client libraries read an answer when
//! they have sent the whole body.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use super::process::LIMIT;

/// A request whose body and whose answer are under way.
pub struct Exchange {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
    body: Option<Body>,
    received: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Chunked,
    /// So many bytes are left.
    Sized(usize),
    Ended,
}

impl Exchange {
    /// Sends the head of a POST.
    pub async fn begin(address: &str, path: &str, headers: &[(&str, &str)]) -> Result<Self> {
        let (from, mut to) = TcpStream::connect(address).await?.into_split();
        let mut head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nTransfer-Encoding: chunked\r\n");
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        to.write_all(format!("{head}\r\n").as_bytes()).await?;
        Ok(Self { from: BufReader::new(from), to, body: None, received: Vec::new() })
    }

    /// Sends text as one piece.
    pub async fn say(&mut self, text: &str) -> Result<()> {
        let piece = format!("{:x}\r\n{text}\r\n", text.len());
        Ok(timeout(LIMIT, self.to.write_all(piece.as_bytes())).await.context("The server does not read.")??)
    }

    /// Sends a line.
    pub async fn say_line(&mut self, line: &Value) -> Result<()> {
        self.say(&format!("{line}\n")).await
    }

    /// Ends the body.
    pub async fn end(&mut self) -> Result<()> {
        Ok(self.to.write_all(b"0\r\n\r\n").await?)
    }

    /// The status, and the header `Retry-After`.
    pub async fn status(&mut self) -> Result<(u16, Option<String>)> {
        let (mut lines, mut wait, mut body) = (Vec::new(), None, Body::Ended);
        loop {
            let line = self.text_line().await?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").unwrap_or((line.as_str(), ""));
            match name.to_ascii_lowercase().as_str() {
                "retry-after" => wait = Some(value.to_owned()),
                "transfer-encoding" => body = Body::Chunked,
                "content-length" => body = Body::Sized(value.parse()?),
                _ => {}
            }
            lines.push(line);
        }
        self.body = Some(body);
        let status = lines.first().and_then(|line| line.split(' ').nth(1)).context("There is no status.")?;
        Ok((status.parse()?, wait))
    }

    /// The next line of the answer; `None` at its end. An answer that breaks off is an error.
    pub async fn hear(&mut self) -> Result<Option<Value>> {
        if self.body.is_none() {
            let (status, _) = self.status().await?;
            ensure!(status == 200, "The status is {status}.");
        }
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            match self.body {
                Some(Body::Chunked) => {
                    let size = usize::from_str_radix(&self.text_line().await?, 16)?;
                    self.take(size).await?;
                    ensure!(self.text_line().await?.is_empty(), "A piece has no end.");
                    if size == 0 {
                        self.body = Some(Body::Ended);
                    }
                }
                Some(Body::Sized(size)) => {
                    self.take(size).await?;
                    self.body = Some(Body::Ended);
                }
                _ => return Ok(None),
            }
        }
    }

    /// All lines up to the end of the answer.
    pub async fn rest(&mut self) -> Result<Vec<Value>> {
        let mut lines = Vec::new();
        while let Some(line) = self.hear().await? {
            lines.push(line);
        }
        Ok(lines)
    }

    async fn take(&mut self, size: usize) -> Result<()> {
        let mut piece = vec![0; size];
        timeout(LIMIT, self.from.read_exact(&mut piece)).await.context("Nothing comes.")??;
        self.received.extend(piece);
        Ok(())
    }

    async fn text_line(&mut self) -> Result<String> {
        let mut line = String::new();
        timeout(LIMIT, self.from.read_line(&mut line)).await.context("Nothing comes.")??;
        ensure!(line.ends_with('\n'), "The answer has broken off.");
        Ok(line.trim_end().to_owned())
    }
}
