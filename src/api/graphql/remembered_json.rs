//! Remembers the JSON of contents on pages, so that pages with equal selections do not resolve them again: the only
//! memory of JSON.
//!
//! The key consists of everything that the JSON depends on. A content that has changed has another key, so remembered
//! JSON is never out of date.

use std::sync::LazyLock;

use async_graphql::{Positioned, parser::types::Field};
use axum::body::Bytes;
use graphql_transport::guard::OperationId;
use metrics::Counter;
use quick_cache::{Weighter, sync::Cache};

use super::selection::ContentSelection;
use crate::{
    domain::{ContentId, Counters, Reference, ViewerReactions, limits::MAX_REMEMBERED_JSON_BYTES},
    store::cards::ContentCard,
    telemetry::metrics::REMEMBERED,
};

/// Initial capacity; grows as needed.
const EXPECTED: usize = 1_000;

/// A bounded memory of contents as JSON.
pub struct RememberedJson {
    contents: Cache<ContentKey, Bytes, Weight>,
    hits: LazyLock<Counter>,
    misses: LazyLock<Counter>,
}

/// A selection and everything that it shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ContentKey {
    operation: OperationId,
    /// Line and column.
    field: (usize, usize),
    shown: ShownContent,
}

/// Everything that a card and the viewer decide of a content's JSON. Contents do not change, and of equal versions a
/// profile is the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShownContent {
    content: ContentId,
    author_version: Option<i64>,
    counters: Counters,
    reactions: Option<ViewerReactions>,
    is_followed: Option<bool>,
    is_reposted: Option<bool>,
    is_viewers: bool,
    shows_external_id: bool,
}

impl ContentKey {
    /// Of the selection of `field` in `operation`, and what it shows.
    pub fn new(operation: OperationId, field: &Positioned<Field>, shown: ShownContent) -> Self {
        Self { operation, field: (field.pos.line, field.pos.column), shown }
    }
}

impl ShownContent {
    /// What decides the JSON of a page's content. `None` if more does: fields that no card answers, or another content.
    pub fn of(
        card: &ContentCard,
        selection: ContentSelection,
        (is_reposted, is_viewers, shows_external_id): (Option<bool>, bool, bool),
    ) -> Option<Self> {
        let refers = selection.linked && card.content.reference != Reference::Nothing;
        if refers || !selection.of_card {
            return None;
        }
        Some(Self {
            content: card.content.id,
            author_version: card.author.as_ref().map(|author| author.profile.version),
            counters: card.counters?,
            reactions: card.reactions,
            is_followed: card.author.as_ref().and_then(|author| author.is_followed),
            is_reposted,
            is_viewers,
            shows_external_id,
        })
    }

    /// Whether the viewer has reposted it; `None` if that is not shown.
    pub const fn is_reposted(&self) -> Option<bool> {
        self.is_reposted
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<ContentKey, Bytes> for Weight {
    fn weight(&self, _: &ContentKey, json: &Bytes) -> u64 {
        (size_of::<ContentKey>() + json.len()) as u64
    }
}

impl Default for RememberedJson {
    fn default() -> Self {
        Self {
            contents: Cache::with_weighter(EXPECTED, MAX_REMEMBERED_JSON_BYTES, Weight),
            hits: LazyLock::new(|| metrics::counter!(REMEMBERED, "of" => "json", "outcome" => "hit")),
            misses: LazyLock::new(|| metrics::counter!(REMEMBERED, "of" => "json", "outcome" => "miss")),
        }
    }
}

impl RememberedJson {
    /// What `key` shows, if it is remembered.
    pub fn get(&self, key: &ContentKey) -> Option<Bytes> {
        let json = self.contents.get(key);
        let counter = if json.is_some() { &self.hits } else { &self.misses };
        counter.increment(1);
        json
    }

    /// Remembers what `key` shows.
    pub fn insert(&self, key: ContentKey, json: Bytes) {
        self.contents.insert(key, json);
    }
}
