//! Documents that have passed the gate and were executed without request errors, kept parsed.
//!
//! Apart, because parsing is a quarter of a request's time and this is the only memory of past requests. It refuses to
//! know operations and variables.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};

use super::limits::RequestLimits;
use crate::api::gate::{Gate, GateLimits, Refusal, SafeDocument};

/// The gate with a memory. Bounded by the number of documents and by the bytes of their text.
#[derive(Debug)]
pub(super) struct Documents {
    gate: Gate,
    known: Cache<Box<str>, Arc<SafeDocument>, TextBytes>,
}

/// A document, and whether it was remembered.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) document: Arc<SafeDocument>,
    known: bool,
}

impl Documents {
    pub(super) fn new(gate: GateLimits, limits: &RequestLimits) -> Self {
        let bytes = limits.cached_document_bytes as u64;
        let weighter = TextBytes { at_least: bytes.div_ceil(limits.cached_documents.max(1) as u64) };
        Self { gate: Gate::new(gate), known: Cache::with_weighter(limits.cached_documents, bytes, weighter) }
    }

    /// The document of `query`, parsed now or earlier.
    pub(super) fn open(&self, query: &str) -> Result<Opened, Refusal> {
        if let Some(document) = self.known.get(query) {
            return Ok(Opened { document, known: true });
        }
        Ok(Opened { document: Arc::new(self.gate.open(query)?), known: false })
    }

    /// Remembers a document that validation had nothing against.
    pub(super) fn keep(&self, query: &str, opened: Opened) {
        if !opened.known {
            self.known.insert(query.into(), opened.document);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// Weighs a document by its text, and none so little that more than the permitted number would fit.
#[derive(Debug, Clone)]
struct TextBytes {
    at_least: u64,
}

impl Weighter<Box<str>, Arc<SafeDocument>> for TextBytes {
    fn weight(&self, query: &Box<str>, _: &Arc<SafeDocument>) -> u64 {
        (query.len() as u64).max(self.at_least)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn documents(count: usize, bytes: usize) -> Documents {
        let limits =
            RequestLimits { cached_documents: count, cached_document_bytes: bytes, ..RequestLimits::default() };
        Documents::new(GateLimits::default(), &limits)
    }

    #[test]
    fn a_kept_document_is_found_again() {
        let documents = documents(8, 8192);
        assert!(!documents.open("{ a }").unwrap().known);
        assert!(!documents.open("{ a }").unwrap().known, "opening alone does not keep");
        documents.keep("{ a }", documents.open("{ a }").unwrap());
        assert!(documents.open("{ a }").unwrap().known);
    }

    #[test]
    fn neither_many_nor_long_documents_exceed_the_bounds() {
        for (length, most) in [(0, 100), (10_000, 10)] {
            let documents = documents(100, 100_000);
            for index in 0..300 {
                let query = format!("{{ a{index} }}{}", " ".repeat(length));
                documents.keep(&query, documents.open(&query).unwrap());
            }
            assert!((1..=most).contains(&documents.len()), "{} of {length} bytes", documents.len());
            assert!(documents.known.weight() <= 100_000);
        }
    }
}
