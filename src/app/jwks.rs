//! Fetches an issuer's key set over HTTP, bounded in time and size. Follows no redirects: only the operator's address
//! is asked.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;

use crate::{
    accounts::issuer::{KeySource, NoKeys},
    telemetry::causes::with_causes,
};

/// Limit from the request to the last byte.
const TIME: Duration = Duration::from_secs(5);
/// Most bytes of a key set.
const BYTES: usize = 256 * 1024;

/// Fetches key sets from one address.
pub struct HttpKeys {
    client: reqwest::Client,
    url: String,
}

impl HttpKeys {
    /// Sends nothing yet. Fails if this machine has no trusted certificates.
    pub fn try_new(url: &str) -> Result<Self, reqwest::Error> {
        // If the process has a provider already, that one is used.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_the_bound_of_an_issuers_keys() {
        let row = format!("| an issuer's keys (reqwest) | {} KiB |", BYTES / 1024);
        assert!(include_str!("../../docs/operations.md").contains(&row), "{row}");
    }
}
