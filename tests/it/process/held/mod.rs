//! Tests the bounds on the memory that clients make a node hold: incomplete request bodies and unread answers.

mod answers;
mod bodies;
#[cfg(target_os = "linux")]
mod fairness;
#[cfg(target_os = "linux")]
mod fleet;
#[cfg(target_os = "linux")]
mod floods;
#[cfg(target_os = "linux")]
mod idle;
mod parts;
mod refused;
mod sockets;
mod storms;
#[cfg(target_os = "linux")]
mod subscriptions;

use std::collections::HashMap;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::binary::{
    CommandLine,
    process::{LIMIT, Node, Peer, until},
};

/// A character of four bytes. The longest texts consist of it.
const TEXT: &str = "😀";
const TEXT_CHARS: usize = 5_000;
const TEXTS: usize = 25;
/// Lower bound of the bytes of [`large`]'s answer: more than the socket buffers of an unread answer, and below the
/// limit of an answer.
const LARGE_BYTES: usize = 12 * TEXTS * TEXT_CHARS * TEXT.len();

/// This machine is a proxy, which says who asks.
const PROXIES: &str = "[\"127.0.0.0/8\"]";
/// Bytes of memory that the node may write to, including stacks. A limit of the address space would include the code,
/// and what the allocator only reserves.
const LITTLE_MEMORY: &str = "--data=629145600";
/// Everybody's password.
const PASSWORD: &str = "correct horse battery";

/// A query that needs no token and has an answer of [`LARGE_BYTES`].
fn large() -> String {
    with_texts(12)
}

/// A query whose answer has each of Ann's texts so often.
fn with_texts(times: usize) -> String {
    let texts = (0..times).map(|alias| format!("a{alias}: text ")).collect::<Vec<_>>().concat();
    format!(r#"{{ user(handle: "ann") {{ contents(first: {TEXTS}) {{ edges {{ node {{ {texts} }} }} }} }} }}"#)
}

/// A node that trusts this machine as a proxy, without rate limits.
struct Served {
    /// Its folder is the node's.
    command: CommandLine,
    node: Node,
    peer: Peer,
    /// Ann's token.
    token: String,
}

impl Served {
    /// `server` has lines of the configuration's section of that name. `limit` is an option of `prlimit`.
    async fn start(server: &str, limit: Option<&str>) -> Result<Self> {
        Self::start_behind(PROXIES, server, limit).await
    }

    /// As [`Self::start`], with these trusted proxies.
    async fn start_behind(proxies: &str, server: &str, limit: Option<&str>) -> Result<Self> {
        let command = CommandLine::embedded()?;
        let command = if let Some(limit) = limit { command.within(limit) } else { command };
        Self::start_as(command, proxies, server).await
    }

    async fn start_as(command: CommandLine, proxies: &str, server: &str) -> Result<Self> {
        let configuration = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ntrusted_proxies = {proxies}\n{server}\n[log]\nformat = \"json\"\n\
             [rate_limit]\nviewer_points = 1000000000\nanonymous_points = 1000000000\n"
        );
        std::fs::write(command.path().join("tidefeed.toml"), configuration)?;
        let (node, peer) = Node::listening(&command, &["serve"], "Serving the API.").await?;
        let token = register(&peer, "ann").await?;
        Ok(Self { command, node, peer, token })
    }

    async fn publish_the_longest_texts(&self) -> Result<()> {
        let text = TEXT.repeat(TEXT_CHARS);
        let publish =
            format!(r#"mutation {{ publishContent(input: {{ text: "{text}" }}) {{ userErrors {{ code }} }} }}"#);
        for _ in 0..TEXTS {
            let answer = self.peer.query(Some(&self.token), &publish).await?;
            ensure!(answer["data"]["publishContent"]["userErrors"] == json!([]), "{answer}");
        }
        Ok(())
    }

    /// The bytes that the node holds of a kind: `bodies` or `answers`.
    async fn held(&self, what: &str) -> Result<usize> {
        let bytes = self.peer.metric(&format!("tidefeed_held_bytes{{what=\"{what}\"}}")).await?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
        Ok(bytes.unwrap_or_default() as usize)
    }

    async fn until_held(&self, what: &str, least: usize) -> Result<()> {
        until(&format!("{least} bytes of {what} are held"), async || Ok(self.held(what).await? >= least)).await
    }

    async fn until_all_is_given_back(&self) -> Result<()> {
        until("all is given back", async || {
            let held = [self.held("bodies").await?, self.held("documents").await?, self.held("answers").await?];
            Ok(held == [0; 3])
        })
        .await
    }
}

/// Registers a user; returns their token.
async fn register(peer: &Peer, handle: &str) -> Result<String> {
    let input = format!(r#"{{ handle: "{handle}", name: "Ann", password: "{PASSWORD}" }}"#);
    let answer = peer.query(None, &format!("mutation {{ registerUser(input: {input}) {{ token }} }}")).await?;
    Ok(answer["data"]["registerUser"]["token"].as_str().with_context(|| answer.to_string())?.to_owned())
}

#[expect(clippy::print_stdout, reason = "with --nocapture what floods did is a table")]
fn print(row: &str) {
    println!("{row}");
}

/// A raw connection: the test decides what to send, and when to read.
struct Line(TcpStream);

/// An answer, read to its end.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: Value,
}

impl Answer {
    /// Checks that it is a refusal for lack of room, with the time after which to retry.
    fn ensure_refused(&self, status: u16, code: &str) -> Result<()> {
        ensure!(self.status == status && self.body["errors"][0]["extensions"]["code"] == code, "{self:?}");
        let wait: u64 =
            self.headers.get("retry-after").with_context(|| format!("no Retry-After: {self:?}"))?.parse()?;
        ensure!(wait > 0 && self.body["errors"][0]["extensions"]["retryAfter"] == wait, "{self:?}");
        Ok(())
    }
}

impl Line {
    /// Connects with a small buffer for unread bytes.
    async fn to(peer: &Peer) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4_096)?;
        Ok(Self(socket.connect(peer.address().parse()?).await?))
    }

    /// Sends the head of a POST of `length` bytes from `address`, and the first bytes of its body. An error is
    /// ignored, because the node may have refused already.
    async fn post(&mut self, (address, accept): (&str, &str), length: usize, begin: &[u8]) {
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: a\r\nx-forwarded-for: {address}\r\naccept: {accept}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let _ = self.0.write_all(&[head.as_bytes(), begin].concat()).await;
    }

    /// Sends a query from `address`.
    async fn ask(&mut self, address: &str, accept: &str, query: &str) {
        let body = json!({ "query": query }).to_string();
        self.post((address, accept), body.len(), body.as_bytes()).await;
    }

    async fn answer(&mut self) -> Result<Answer> {
        timeout(LIMIT, self.read_answer()).await.context("no answer")?
    }

    async fn read_answer(&mut self) -> Result<Answer> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if self.0.read_buf(&mut bytes).await? == 0 {
                bail!("the connection ends: {}", String::from_utf8_lossy(&bytes));
            }
        };
        let head = String::from_utf8(bytes[..end].to_vec())?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status")?.parse()?;
        let headers: HashMap<_, _> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length: usize = headers.get("content-length").with_context(|| head.clone())?.parse()?;
        while bytes.len() < end + length {
            ensure!(self.0.read_buf(&mut bytes).await? > 0, "the answer breaks off");
        }
        Ok(Answer { status, headers, body: serde_json::from_slice(&bytes[end..])? })
    }
}
