//! Reads from a node's metrics how often its memories answered, and which way its pages took.

use std::{collections::BTreeMap, net::SocketAddr};

use anyhow::{Context as _, Result};

use crate::client::Client;

/// Counters with an outcome, `hit` or `miss` among them, and pages by way, with what the table calls them.
const COUNTERS: [(&str, &str); 4] = [
    ("tidefeed_timeline_pages_total", "pages by"),
    ("tidefeed_remembered_cards_total", "cards"),
    ("tidefeed_remembered_json_total", "JSON"),
    ("tidefeed_outbox_cache_lookups_total", "outboxes"),
];

/// The counters at one time.
#[derive(Debug, Clone)]
pub struct Counts(BTreeMap<(&'static str, String), f64>);

impl Counts {
    /// Of the node at this address, now.
    pub async fn of(address: SocketAddr) -> Result<Self> {
        let mut client = Client::to(address).await?;
        client.ask(b"GET /metrics HTTP/1.1\r\nhost: bench\r\n\r\n").await?;
        let mut counts = BTreeMap::new();
        for line in String::from_utf8_lossy(client.body()).lines() {
            let Some((name, rest)) = line.split_once('{') else { continue };
            let Some((_, shown)) = COUNTERS.iter().find(|(counter, _)| *counter == name) else { continue };
            let (labels, value) = rest.split_once("} ").context("A metric has no value.")?;
            let label = labels.split('"').nth(1).context("A metric has no label.")?;
            counts.insert((*shown, label.to_owned()), value.parse()?);
        }
        Ok(Self(counts))
    }

    /// The share of each outcome since `before`, such as `cards hit 97.1 %, miss 2.9 %`.
    pub fn shares_since(&self, before: &Self) -> String {
        let mut all = Vec::new();
        for (_, counter) in COUNTERS {
            let of_it = self.0.iter().filter(|((name, _), _)| *name == counter);
            let grown: Vec<_> = of_it
                .map(|(key, now)| (&key.1, now - before.0.get(key).copied().unwrap_or_default()))
                .filter(|(_, grown)| *grown > 0.0)
                .collect();
            let total: f64 = grown.iter().map(|(_, grown)| grown).sum();
            let shares: Vec<_> =
                grown.iter().map(|(outcome, grown)| format!("{outcome} {:.1} %", grown / total * 100.0)).collect();
            if !shares.is_empty() {
                all.push(format!("{counter} {}", shares.join(", ")));
            }
        }
        all.join("; ")
    }
}
