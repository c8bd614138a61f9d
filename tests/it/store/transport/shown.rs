//! A server that shows a certificate and does nothing else: `openssl s_server`.

use std::{net::TcpListener, process::Stdio, sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use certificates::client;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_rustls::TlsConnector;

use super::{Files, NAMES};
use crate::servers::Validity;

/// Shows `server.pem` as it is now, until it is dropped.
pub struct Shown {
    /// On 127.0.0.1.
    pub port: u16,
    _server: Child,
}

impl Shown {
    /// Shows what the files hold now.
    pub async fn by(files: &Files) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = Command::new("openssl");
        server.args(["s_server", "-quiet", "-accept", &format!("127.0.0.1:{port}")]);
        server.arg("-cert").arg(files.path("server.pem")).arg("-key").arg(files.path("server.key"));
        server.stdin(Stdio::piped()).stdout(Stdio::null());
        let server = server.stderr(Stdio::null()).kill_on_drop(true).spawn()?;
        let listens = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), listens).await?;
        Ok(Self { port, _server: server })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lasting_client_uses_renewed_files_and_keeps_former_ones() -> Result<()> {
    let files = Files::new()?;
    let connector = TlsConnector::from(Arc::new(client(files.certificates())?));
    let shakes = async |port: u16| -> bool {
        let Ok(socket) = TcpStream::connect(("127.0.0.1", port)).await else { return false };
        let Ok(name) = "127.0.0.1".try_into() else { return false };
        connector.connect(name, socket).await.is_ok()
    };
    let ours = Shown::by(&files).await?;
    ensure!(shakes(ours.port).await, "the first certificate was refused");
    files.server(&files.stranger.sign(NAMES, Validity::Days(90))?)?;
    let others = Shown::by(&files).await?;
    ensure!(!shakes(others.port).await, "a stranger's certificate was taken");
    files.trusted(&files.stranger.file())?;
    ensure!(shakes(others.port).await && !shakes(ours.port).await, "the renewed file is not in use");
    std::fs::write(files.path("ca.pem"), "half a file")?;
    ensure!(shakes(others.port).await, "the former file is not in use");
    Ok(())
}
