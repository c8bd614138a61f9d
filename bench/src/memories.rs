//! Reads from a node's metrics how often its memories answered, and which way its pages took.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use anyhow::{Context as _, Result};

use crate::metrics::Metrics;

/// Counters with an outcome, `hit` or `miss` among them, and pages by way, with what the table calls them. A label
/// before the outcome says what was counted.
const COUNTERS: [(&str, &str); 3] = [
    ("tidefeed_timeline_pages_total", "pages by"),
    ("tidefeed_remembered_total", "remembered"),
    ("tidefeed_outbox_cache_lookups_total", "outboxes"),
];

/// The counters at one time.
#[derive(Debug, Clone)]
pub struct Counts(BTreeMap<(String, String), f64>);

impl Counts {
    /// Of the node at this address, now.
    pub async fn of(address: SocketAddr) -> Result<Self> {
        let mut counts = BTreeMap::new();
        for line in Metrics::of(address).await?.lines() {
            let Some((name, rest)) = line.split_once('{') else { continue };
            let Some((_, shown)) = COUNTERS.iter().find(|(counter, _)| *counter == name) else { continue };
            let (labels, value) = rest.split_once("} ").context("A metric has no value.")?;
            let labels: Vec<&str> = labels.split('"').skip(1).step_by(2).collect();
            let (outcome, of) = labels.split_last().context("A metric has no label.")?;
            let counter = of.first().map_or((*shown).to_owned(), |of| format!("{shown} {of}"));
            counts.insert((counter, (*outcome).to_owned()), value.parse()?);
        }
        Ok(Self(counts))
    }

    /// The share of each outcome since `before`, such as `remembered json hit 97.1 %, miss 2.9 %`.
    pub fn shares_since(&self, before: &Self) -> String {
        let mut all = Vec::new();
        let counters: BTreeSet<&String> = self.0.keys().map(|(counter, _)| counter).collect();
        for counter in counters {
            let of_it = self.0.iter().filter(|((name, _), _)| name == counter);
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
