//! Reads a node's metrics.

use std::net::SocketAddr;

use anyhow::Result;

use crate::client::Client;

/// What a node says of itself at one time.
pub struct Metrics(String);

impl Metrics {
    /// Of the node at this address, now.
    pub async fn of(address: SocketAddr) -> Result<Self> {
        let mut client = Client::to(address).await?;
        client.ask(b"GET /metrics HTTP/1.1\r\nhost: bench\r\n\r\n").await?;
        Ok(Self(String::from_utf8_lossy(client.body()).into_owned()))
    }

    /// Each metric's name, labels and value, and the comments.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.lines()
    }

    /// The value of the metric with this name and labels and a space; `None`: the node reports none.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
    }
}
