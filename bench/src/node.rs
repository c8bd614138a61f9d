//! Runs the tidefeed binary as a separate process.

use std::{net::SocketAddr, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, sleep};

use crate::{
    client::Client,
    servers::{Server, free_port},
};

/// Longer than a node takes to start, migrations included.
const PATIENCE: Duration = Duration::from_mins(3);
/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A configuration as environment variables: (`store.url`, value).
pub type Settings = Vec<(String, String)>;

/// A setting.
pub fn set(key: &str, value: &impl ToString) -> (String, String) {
    (key.to_owned(), value.to_string())
}

/// A process that answers `/readyz`.
pub struct Node {
    pub server: Server,
    pub address: SocketAddr,
    /// Time from its start to the first 200 from `/readyz`.
    pub ready_after: Duration,
}

impl Node {
    /// `tidefeed serve`, ready.
    pub async fn serve(binary: &Path, settings: &Settings, log: &Path) -> Result<Self> {
        let port = free_port()?;
        let mut program = command(binary, &["serve"], settings);
        program.env("TIDEFEED__SERVER__LISTEN", format!("127.0.0.1:{port}"));
        Self::ready(&mut program, port, log).await
    }

    /// The bare server, ready.
    pub async fn bare(folder: &Path, answer: &[u8], event: &str) -> Result<Self> {
        let (bytes, text) = (folder.join("answer"), folder.join("event"));
        std::fs::write(&bytes, answer)?;
        std::fs::write(&text, event)?;
        let port = free_port()?;
        let own = std::env::current_exe()?;
        let mut program = Command::new(&own);
        program.arg("--tidefeed").arg(&own).args(["bare", "--listen", &format!("127.0.0.1:{port}")]);
        program.arg("--answer").arg(bytes).arg("--event").arg(text);
        Self::ready(&mut program, port, &folder.join("bare.log")).await
    }

    async fn ready(program: &mut Command, port: u16, log: &Path) -> Result<Self> {
        let (address, started) = (SocketAddr::from(([127, 0, 0, 1], port)), Instant::now());
        let mut server = Server::start(program, port, log)?;
        while !is_ready(address).await {
            server.check().with_context(|| std::fs::read_to_string(log).unwrap_or_default())?;
            ensure!(started.elapsed() < PATIENCE, "The node does not become ready; its log is {}", log.display());
            sleep(POLL_INTERVAL).await;
        }
        Ok(Self { server, address, ready_after: started.elapsed() })
    }
}

async fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut client) = Client::to(address).await else { return false };
    let asked = client.ask(b"GET /readyz HTTP/1.1\r\nhost: bench\r\n\r\n").await;
    asked.is_ok_and(|head| head.status == 200)
}

/// Runs a command of the binary to its end.
pub fn run(binary: &Path, arguments: &[&str], settings: &Settings, log: &Path) -> Result<()> {
    let file = std::fs::File::options().create(true).append(true).open(log)?;
    let mut program = command(binary, arguments, settings);
    program.stdout(file.try_clone()?).stderr(file);
    let done = program.status().with_context(|| format!("{} does not start.", binary.display()))?;
    ensure!(done.success(), "tidefeed {arguments:?} failed: {}", std::fs::read_to_string(log)?);
    Ok(())
}

/// A command of the binary, with these settings.
pub fn command(binary: &Path, arguments: &[&str], settings: &Settings) -> Command {
    let mut program = Command::new(binary);
    program.args(arguments);
    for (key, value) in settings {
        program.env(format!("TIDEFEED__{}", key.replace('.', "__").to_uppercase()), value);
    }
    program
}
