//! Finds documents by text, by hash, or by an id in the operator's manifest.
//!
//! Documents stay parsed if they passed the guard and ran without request errors, because parsing takes a quarter of a
//! request's time.

use std::sync::Arc;

use async_graphql::ServerError;
use quick_cache::{Weighter, sync::Cache};

use super::{
    codes::{BAD_USER_INPUT, PERSISTED_NOT_FOUND, PERSISTED_NOT_IN_LIST, PERSISTED_NOT_SUPPORTED, coded},
    document::{DocumentHash, ParsedDocument},
    limits::RequestLimits,
    params::Source,
    trusted::Trusted,
};
use crate::guard::{Guard, Refusal};

/// Why no document was found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoDocument {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("PersistedQueryNotFound")]
    NotFound,
    #[error("PersistedQueryNotSupported")]
    NotSupported,
    #[error("\"sha256Hash\" is not the SHA-256 of \"query\". Send the hash of the exact text.")]
    WrongHash,
    #[error("This server runs only the documents of its manifest, and this is not one of them.")]
    NotTrusted,
}

impl NoDocument {
    /// The errors in the answer.
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

/// Which documents can be requested by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Naming {
    /// A hash finds any document that was sent before.
    pub(super) automatic: bool,
    /// Only documents of the manifest are found or run.
    pub(super) only_trusted: bool,
}

/// The guard with a cache, bounded by the number and the weight of documents.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) guard: Guard,
    trusted: Trusted,
    naming: Naming,
    kept: Cache<DocumentHash, ParsedDocument, TextBytes>,
}

/// A document with the hash to cache it by; `None` if it is cached already.
#[derive(Debug)]
pub(super) struct FoundDocument {
    pub(super) kept: ParsedDocument,
    new_hash: Option<DocumentHash>,
}

impl FoundDocument {
    fn kept(kept: &ParsedDocument) -> Self {
        Self { kept: kept.clone(), new_hash: None }
    }
}

impl Documents {
    pub(super) fn new(guard: Guard, trusted: Trusted, naming: Naming, limits: &RequestLimits) -> Self {
        let bytes = limits.cached_document_bytes as u64;
        let weighter = TextBytes { at_least: bytes.div_ceil(limits.cached_documents.max(1) as u64) };
        Self { guard, trusted, naming, kept: Cache::with_weighter(limits.cached_documents, bytes, weighter) }
    }

    /// The document of `source`, from the cache or parsed now. Before parsing, `pay` is called with the cost in
    /// points.
    pub(super) fn open<E: From<NoDocument>>(
        &self,
        source: &Source,
        pay: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<FoundDocument, E> {
        let (text, hash) = match source {
            Source::Text(text) => (text, DocumentHash::of(text)),
            Source::Hash { hash, text: Some(text) } if DocumentHash::of(text) == *hash => (text, *hash),
            named => return self.named(named).map_err(E::from),
        };
        if let Some(kept) = self.known_text(&hash)? {
            return Ok(kept);
        }
        pay(self.guard.reading(text))?;
        let document = self.guard.open(text).map_err(NoDocument::from)?;
        let kept = ParsedDocument { document: Arc::new(document), text: text.as_str().into() };
        Ok(FoundDocument { kept, new_hash: Some(hash) })
    }

    /// The document of `source`, if it is parsed already and may run.
    pub(super) fn find(&self, source: &Source) -> Option<ParsedDocument> {
        let found = match source {
            Source::Text(text) => self.known_text(&DocumentHash::of(text)).ok().flatten(),
            named => self.named(named).ok(),
        };
        found.map(|found| found.kept)
    }

    /// The document with an id or a hash.
    fn named(&self, source: &Source) -> Result<FoundDocument, NoDocument> {
        match source {
            Source::Id(id) => self.trusted.by_id(id).map(FoundDocument::kept).ok_or_else(|| self.nothing()),
            Source::Text(_) | Source::Hash { text: Some(_), .. } => Err(NoDocument::WrongHash),
            Source::Hash { hash, text: None } => match (self.trusted.by_hash(hash), self.naming) {
                (Some(kept), _) => Ok(FoundDocument::kept(kept)),
                (None, Naming { only_trusted: true, .. }) => Err(NoDocument::NotTrusted),
                (None, Naming { automatic: false, .. }) => Err(NoDocument::NotSupported),
                (None, _) => self.kept.get(hash).map(|it| FoundDocument::kept(&it)).ok_or(NoDocument::NotFound),
            },
        }
    }

    /// The document with this hash, if it is parsed already.
    fn known_text(&self, hash: &DocumentHash) -> Result<Option<FoundDocument>, NoDocument> {
        if let Some(kept) = self.trusted.by_hash(hash) {
            return Ok(Some(FoundDocument::kept(kept)));
        }
        if self.naming.only_trusted {
            return Err(NoDocument::NotTrusted);
        }
        Ok(self.kept.get(hash).map(|kept| FoundDocument::kept(&kept)))
    }

    const fn nothing(&self) -> NoDocument {
        if self.naming.only_trusted { NoDocument::NotTrusted } else { NoDocument::NotFound }
    }

    /// Caches a document that validation has accepted.
    pub(super) fn keep(&self, opened: FoundDocument) {
        if let Some(hash) = opened.new_hash {
            self.kept.insert(hash, opened.kept);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }
}

/// Weighs a document by its text and its prepared operations. A minimum weight bounds the number of documents.
#[derive(Debug, Clone)]
struct TextBytes {
    at_least: u64,
}

impl Weighter<DocumentHash, ParsedDocument> for TextBytes {
    fn weight(&self, _: &DocumentHash, kept: &ParsedDocument) -> u64 {
        (kept.document.weight() as u64).max(self.at_least)
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

    fn open(documents: &Documents, source: &Source) -> Result<FoundDocument, NoDocument> {
        documents.open(source, |_| Ok(()))
    }

    fn text(text: &str) -> Source {
        Source::Text(text.to_owned())
    }

    #[test]
    fn a_remembered_document_is_found_by_text_and_by_hash() {
        let documents = documents(8, 8192);
        let hash = DocumentHash::of("{ a }");
        assert!(open(&documents, &text("{ a }")).unwrap().new_hash.is_some());
        assert!(open(&documents, &text("{ a }")).unwrap().new_hash.is_some(), "opening alone does not keep");
        assert_eq!(open(&documents, &Source::Hash { hash, text: None }).unwrap_err(), NoDocument::NotFound);
        documents.keep(open(&documents, &text("{ a }")).unwrap());
        assert!(open(&documents, &text("{ a }")).unwrap().new_hash.is_none());
        assert!(open(&documents, &Source::Hash { hash, text: None }).unwrap().new_hash.is_none());
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
            let admitted = documents.guard.admit(&opened.kept.document, None, &mut Variables::default()).unwrap();
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
            assert!(documents.kept.weight() <= 100_000);
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
