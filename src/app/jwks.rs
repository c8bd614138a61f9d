//! An issuer's key set over HTTP. Bounded in time and size, without redirects: the address is the operator's, and only
//! that one is asked.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;

use crate::{
    accounts::issuer::{KeySource, NoKeys},
    telemetry::causes::with_causes,
};

/// From asking to the last byte.
const TIME: Duration = Duration::from_secs(5);
/// Bytes of a key set at most.
const BYTES: usize = 256 * 1024;

/// Asks an address for a key set.
pub struct HttpKeys {
    client: reqwest::Client,
    url: String,
}

impl HttpKeys {
    /// Nothing is asked yet. Fails if this machine has no certificates to trust.
    pub fn try_new(url: &str) -> Result<Self, reqwest::Error> {
        // The process may have a provider already; then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(TIME).redirect(Policy::none()).build()?;
        Ok(Self { client, url: url.to_owned() })
    }
}

#[async_trait]
impl KeySource for HttpKeys {
    async fn fetch(&self) -> Result<Vec<u8>, NoKeys> {
        let failed = |error: reqwest::Error| NoKeys(with_causes(&error));
        let mut answer = self.client.get(&self.url).send().await.map_err(failed)?;
        if !answer.status().is_success() {
            return Err(NoKeys(format!("{} answers {}", self.url, answer.status())));
        }
        let mut json = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if json.len() + chunk.len() > BYTES {
                return Err(NoKeys(format!("{} answers more than {BYTES} bytes", self.url)));
            }
            json.extend_from_slice(&chunk);
        }
        Ok(json)
    }
}
