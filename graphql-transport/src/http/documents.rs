//! Finds documents by text, by hash, or by an id of the operator's manifest.
//!
//! Documents that passed the guard and ran without request errors stay parsed: parsing is a quarter of a request's
//! time.

use std::sync::Arc;

use async_graphql::ServerError;
use quick_cache::{Weighter, sync::Cache};

use super::{
    codes::{BAD_USER_INPUT, PERSISTED_NOT_FOUND, PERSISTED_NOT_IN_LIST, PERSISTED_NOT_SUPPORTED, coded},
    document::{DocumentHash, Known},
    limits::RequestLimits,
    params::Source,
    trusted::Trusted,
};
use crate::guard::{Guard, Refusal};

/// Why there is no document.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoDocument {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("PersistedQueryNotFound")]
    NotFound,
    #[error("PersistedQueryNotSupported")]
    NotSupported,
    #[error("\"sha256Hash\" is not the SHA-256 of \"query\". Send the hash of the very text.")]
    WrongHash,
    #[error("This server runs only the documents of its manifest, and this is none of them.")]
    NotTrusted,
}

impl NoDocument {
    /// As responses tell it.
    pub(super) fn into_errors(self) -> Vec<ServerError> {
        let code = match self {
            Self::Refused(refusal) => return refusal.into_errors(),
            Self::NotFound => PERSISTED_NOT_FOUND,
            Self::NotSupported => PERSISTED_NOT_SUPPORTED,
            Self::WrongHash => BAD_USER_INPUT,
            Self::NotTrusted => PERSISTED_NOT_IN_LIST,
        };
        vec![coded(code, self.to_string())]
    }
}

/// Which documents are found by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Naming {
    /// A hash finds what anybody has sent before.
    pub(super) automatic: bool,
    /// Nothing is found, or run, that is not in the manifest.
    pub(super) only_trusted: bool,
}

/// The guard with a memory. Bounded by the number of documents and by what they weigh.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) guard: Guard,
    trusted: Trusted,
    naming: Naming,
    known: Cache<DocumentHash, Known, TextBytes>,
}

/// A document, and under which hash it is to be kept; none if it is known.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) known: Known,
    unkept: Option<DocumentHash>,
}

impl Opened {
    fn known(known: &Known) -> Self {
        Self { known: known.clone(), unkept: None }
    }
}

impl Documents {
    pub(super) fn new(guard: Guard, trusted: Trusted, naming: Naming, limits: &RequestLimits) -> Self {
        let bytes = limits.cached_document_bytes as u64;
        let weighter = TextBytes { at_least: bytes.div_ceil(limits.cached_documents.max(1) as u64) };
        Self { guard, trusted, naming, known: Cache::with_weighter(limits.cached_documents, bytes, weighter) }
    }

    /// The document that `source` names, parsed now or earlier. Before one is parsed, `pay` is told what that costs in
    /// points.
    pub(super) fn open<E: From<NoDocument>>(
        &self,
        source: &Source,
        pay: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<Opened, E> {
        let (text, hash) = match source {
            Source::Text(text) => (text, DocumentHash::of(text)),
            Source::Hash { hash, text: Some(text) } if DocumentHash::of(text) == *hash => (text, *hash),
            named => return self.named(named).map_err(E::from),
        };
        if let Some(known) = self.known_text(&hash)? {
            return Ok(known);
        }
        pay(self.guard.reading(text))?;
        let document = self.guard.open(text).map_err(NoDocument::from)?;
        let known = Known { document: Arc::new(document), text: text.as_str().into() };
        Ok(Opened { known, unkept: Some(hash) })
    }

    /// The document of an id or of a hash alone.
    fn named(&self, source: &Source) -> Result<Opened, NoDocument> {
        match source {
            Source::Id(id) => self.trusted.by_id(id).map(Opened::known).ok_or_else(|| self.nothing()),
            Source::Text(_) | Source::Hash { text: Some(_), .. } => Err(NoDocument::WrongHash),
            Source::Hash { hash, text: None } => match (self.trusted.by_hash(hash), self.naming) {
                (Some(known), _) => Ok(Opened::known(known)),
                (None, Naming { only_trusted: true, .. }) => Err(NoDocument::NotTrusted),
                (None, Naming { automatic: false, .. }) => Err(NoDocument::NotSupported),
                (None, _) => self.known.get(hash).map(|it| Opened::known(&it)).ok_or(NoDocument::NotFound),
            },
        }
    }

    /// The document with a text of this hash, if it need not be parsed.
    fn known_text(&self, hash: &DocumentHash) -> Result<Option<Opened>, NoDocument> {
        if let Some(known) = self.trusted.by_hash(hash) {
            return Ok(Some(Opened::known(known)));
        }
        if self.naming.only_trusted {
            return Err(NoDocument::NotTrusted);
        }
        Ok(self.known.get(hash).map(|known| Opened::known(&known)))
    }

    const fn nothing(&self) -> NoDocument {
        if self.naming.only_trusted { NoDocument::NotTrusted } else { NoDocument::NotFound }
    }

    /// Remembers a document that validation had nothing against.
    pub(super) fn keep(&self, opened: Opened) {
        if let Some(hash) = opened.unkept {
            self.known.insert(hash, opened.known);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// Weighs a document by its text and by what is prepared of it, and none so little that more than the permitted number
/// would fit.
#[derive(Debug, Clone)]
struct TextBytes {
    at_least: u64,
}

impl Weighter<DocumentHash, Known> for TextBytes {
    fn weight(&self, _: &DocumentHash, known: &Known) -> u64 {
        (known.document.weight() as u64).max(self.at_least)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::Variables;

    use super::*;

    const OPEN: Naming = Naming { automatic: true, only_trusted: false };

    fn documents(count: usize, bytes: usize) -> Documents {
        let limits =
            RequestLimits { cached_documents: count, cached_document_bytes: bytes, ..RequestLimits::default() };
        Documents::new(Guard::default(), Trusted::default(), OPEN, &limits)
    }

    fn open(documents: &Documents, source: &Source) -> Result<Opened, NoDocument> {
        documents.open(source, |_| Ok(()))
    }

    fn text(text: &str) -> Source {
        Source::Text(text.to_owned())
    }

    #[test]
    fn a_kept_document_is_found_again_by_its_text_and_by_its_hash() {
        let documents = documents(8, 8192);
        let hash = DocumentHash::of("{ a }");
        assert!(open(&documents, &text("{ a }")).unwrap().unkept.is_some());
        assert!(open(&documents, &text("{ a }")).unwrap().unkept.is_some(), "opening alone does not keep");
        assert_eq!(open(&documents, &Source::Hash { hash, text: None }).unwrap_err(), NoDocument::NotFound);
        documents.keep(open(&documents, &text("{ a }")).unwrap());
        assert!(open(&documents, &text("{ a }")).unwrap().unkept.is_none());
        assert!(open(&documents, &Source::Hash { hash, text: None }).unwrap().unkept.is_none());
    }

    #[test]
    fn a_known_document_is_read_once_and_its_operation_prepared_once() {
        let documents = documents(8, 8192);
        let (mut readings, mut operations) = (0, Vec::new());
        for _ in 0..5 {
            let opened = documents.open(&text("{ a b { c } }"), |_| {
                readings += 1;
                Ok::<_, NoDocument>(())
            });
            let opened = opened.unwrap();
            let admitted = documents.guard.admit(&opened.known.document, None, &mut Variables::default()).unwrap();
            operations.push(admitted.operation);
            documents.keep(opened);
        }
        assert_eq!(readings, 1);
        assert!(operations.iter().all(|operation| Arc::ptr_eq(operation, &operations[0])));
    }

    #[test]
    fn neither_many_nor_long_documents_exceed_the_bounds() {
        for (length, most) in [(0, 100), (10_000, 10)] {
            let documents = documents(100, 100_000);
            for index in 0..300 {
                let query = text(&format!("{{ a{index} }}{}", " ".repeat(length)));
                documents.keep(open(&documents, &query).unwrap());
            }
            assert!((1..=most).contains(&documents.len()), "{} of {length} bytes", documents.len());
            assert!(documents.known.weight() <= 100_000);
        }
    }

    #[test]
    fn a_hash_is_read_in_either_case_and_nothing_else_is_one() {
        let hash = DocumentHash::of("{ a }");
        assert_eq!(DocumentHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(DocumentHash::parse(&hash.to_string().to_uppercase()), Some(hash));
        for text in ["", "ab", &"g".repeat(64), &"é".repeat(32), &"a".repeat(65), &format!("+{}", "a".repeat(63))] {
            assert_eq!(DocumentHash::parse(text), None, "{text}");
        }
    }
}
