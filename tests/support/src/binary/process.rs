//! Runs a node as a separate process: reads its log, sends it requests and ends it. Every wait has a limit.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
    sync::watch,
    time::{sleep, timeout},
};

use super::CommandLine;

/// Time limit of every wait, enough for a busy machine.
pub const LIMIT: Duration = Duration::from_mins(5);
/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running node. It is killed when this value is dropped, if not before.
pub struct Node {
    process: Child,
    log: watch::Receiver<Vec<String>>,
    read_lines: usize,
}

impl Node {
    /// Starts it; it may not listen yet. It must log as JSON.
    pub fn start(it: &CommandLine, arguments: &[&str]) -> Result<Self> {
        let mut process = it.command(arguments).stderr(Stdio::piped()).spawn()?;
        let stderr = process.stderr.take().context("The process has no standard error.")?;
        let (sender, log) = watch::channel(Vec::new());
        tokio::spawn(keep(stderr, sender));
        Ok(Self { process, log, read_lines: 0 })
    }

    /// Starts it and waits until it logs `message` with its address.
    pub async fn listening(it: &CommandLine, arguments: &[&str], message: &str) -> Result<(Self, Peer)> {
        let mut node = Self::start(it, arguments)?;
        let said = node.said(message).await?;
        let peer = Peer::at(said["address"].as_str().with_context(|| format!("The log line has no address: {said}"))?)?;
        Ok((node, peer))
    }

    /// The next log line with this message.
    pub async fn said(&mut self, message: &str) -> Result<Value> {
        let (mut found, mut next) = (None, self.read_lines);
        let seen = self.log.wait_for(|lines| {
            while found.is_none() && next < lines.len() {
                found = matching(&lines[next], message);
                next += 1;
            }
            found.is_some()
        });
        let ended = timeout(LIMIT, seen).await.map(|seen| seen.is_err());
        self.read_lines = next;
        match (found, ended) {
            (Some(line), _) => line,
            (None, Ok(_)) => bail!("The node ended without saying `{message}`:\n{}", self.log_text()),
            (None, Err(_)) => bail!("`{message}` was not said within {LIMIT:?}:\n{}", self.log_text()),
        }
    }

    /// The log that it has written so far.
    pub fn log(&self) -> Vec<String> {
        self.log.borrow().clone()
    }

    fn log_text(&self) -> String {
        self.log().join("\n")
    }

    /// Limits the size of each file it writes from now on, in bytes; `None` removes the limit.
    pub async fn limit_files(&self, bytes: Option<u64>) -> Result<()> {
        let pid = self.process.id().context("The node has ended.")?.to_string();
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let set = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={limit}:")]).status().await?;
        ensure!(set.success(), "The limit of {pid} cannot be set.");
        Ok(())
    }

    /// Its resident memory at this moment, in bytes.
    pub fn resident_bytes(&self) -> Result<u64> {
        self.memory("VmRSS:")
    }

    /// The most resident memory that it has had since it started or was told to forget it, in bytes.
    pub fn most_resident_bytes(&self) -> Result<u64> {
        self.memory("VmHWM:")
    }

    /// Lets [`Node::most_resident_bytes`] begin anew.
    pub fn forget_most_resident(&self) -> Result<()> {
        let pid = self.process.id().context("The node has ended.")?;
        Ok(std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
    }

    fn memory(&self, what: &str) -> Result<u64> {
        let pid = self.process.id().context("The node has ended.")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(what)).with_context(|| status.clone())?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }

    /// Sends a signal, such as `TERM`, by the shell's own `kill`.
    pub async fn signal(&self, name: &str) -> Result<()> {
        send_signal(name, self.process.id().context("The node has ended.")?).await
    }

    /// Its exit code, once it has ended.
    pub async fn code(&mut self) -> Result<Option<i32>> {
        let status = timeout(LIMIT, self.process.wait()).await;
        Ok(status.with_context(|| format!("The node still runs:\n{}", self.log_text()))??.code())
    }

    /// Kills it without a shutdown, as a failing machine would.
    pub async fn crash(mut self) -> Result<()> {
        timeout(LIMIT, self.process.kill()).await.context("The node cannot be killed.")??;
        Ok(())
    }
}

/// Reads continuously, because a full pipe would block the node.
async fn keep(stderr: ChildStderr, log: watch::Sender<Vec<String>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.send_modify(|lines| lines.push(line));
    }
}

/// The line, if its message is `message`. Lines that are not JSON are errors.
fn matching(line: &str, message: &str) -> Option<Result<Value>> {
    match serde_json::from_str::<Value>(line) {
        Ok(line) => line["message"].as_str().is_some_and(|said| said.starts_with(message)).then_some(Ok(line)),
        Err(error) => Some(Err(error).context(line.to_owned())),
    }
}

/// Sends a signal to a process of the test's own.
pub async fn send_signal(name: &str, pid: u32) -> Result<()> {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).status().await?;
    ensure!(sent.success(), "Process {pid} did not get the signal {name}.");
    Ok(())
}

/// A client with a time limit for each request. It reads and trusts no certificates: nodes speak plain HTTP.
pub fn http_client(limit: Duration) -> Result<reqwest::Client> {
    // reqwest needs a default cryptography provider; other code of this process may have installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().timeout(limit).no_proxy().tls_certs_only([]).build()?)
}

/// A client of the node at the address that it logged.
pub struct Peer {
    address: String,
    http: reqwest::Client,
}

impl Peer {
    /// A client of the server at this address.
    pub fn at(address: &str) -> Result<Self> {
        Ok(Self { address: address.to_owned(), http: http_client(LIMIT)? })
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The whole answer to a GraphQL document.
    pub async fn query(&self, token: Option<&str>, query: &str) -> Result<Value> {
        let mut request = self.http.post(format!("http://{}/graphql", self.address));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Ok(request.json(&json!({ "query": query })).send().await?.json().await?)
    }

    /// The first event of the stream that answers a document.
    pub async fn stream(&self, query: &str) -> Result<Value> {
        let request = self.http.post(format!("http://{}/graphql", self.address)).header("accept", "text/event-stream");
        let text = request.json(&json!({ "query": query })).send().await?.text().await?;
        let data = text.lines().find_map(|line| line.strip_prefix("data: ")).with_context(|| text.clone())?;
        Ok(serde_json::from_str(data)?)
    }

    /// Status and body of a page.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let answer = self.http.get(format!("http://{}/{path}", self.address)).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// The value of a measurement, named as `/metrics` shows it with its labels; `None` if `/metrics` does not show
    /// it.
    pub async fn metric(&self, name: &str) -> Result<Option<f64>> {
        let (status, text) = self.get("metrics").await?;
        ensure!(status == 200, "/metrics: {status} {text}");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        Ok(value)
    }
}

/// Polls until the condition holds.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let looking = async {
        while !is_so().await? {
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    };
    timeout(LIMIT, looking).await.with_context(|| format!("This did not happen within {LIMIT:?}: {what}"))?
}
