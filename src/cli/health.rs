//! `tidefeed health`: asks the node on this machine whether it is ready, for images that have neither shell nor curl.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, ensure};
use reqwest::{StatusCode, redirect::Policy};

use super::{completion::Completion, print};
use crate::config::Config;

/// Limit from the request to the last byte. A node whose store and Redis are silent answers sooner.
const TIME: Duration = Duration::from_secs(8);

/// Prints what `/readyz` answers on `server.listen`. Exit code 1 if the node is not ready, or nobody answers.
pub async fn run(config: &Config) -> anyhow::Result<Completion> {
    let listen = config.server.listen;
    ensure!(listen.port() != 0, "a node on port 0 cannot be found: set server.listen to the port that it has taken");
    let address = config.server.reachable();
    let (status, body) = ask(address).await.with_context(|| {
        format!("no node answers on {address}: start it, or set server.listen to the address that it uses")
    })?;
    print::line(body.trim_end())?;
    Ok(if status == StatusCode::OK { Completion::Done } else { Completion::ProblemsFound })
}

async fn ask(address: SocketAddr) -> Result<(StatusCode, String), reqwest::Error> {
    // The client wants a provider of cryptography, though nothing is encrypted here, and no certificates.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(TIME).redirect(Policy::none()).no_proxy().tls_certs_only([]);
    let answer = client.build()?.get(format!("http://{address}/readyz")).send().await?;
    Ok((answer.status(), answer.text().await?))
}
