//! Remembers the JSON of contents on pages, so that pages with equal selections do not resolve them again.
//!
//! The key is all that the JSON is made of, so nothing that is remembered is ever wrong. What has changed since is
//! asked for by another key.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, Value, parser::types::Field, registry::Registry,
};
use axum::body::Bytes;
use graphql_transport::{guard::OperationId, metered, written};
use metrics::Counter;
use quick_cache::{Weighter, sync::Cache};

use super::{hydration::Hydration, scope::failures, selection::ContentSelection};
use crate::{
    domain::{ContentId, Counters, Reference, ViewerReactions, limits::MAX_REMEMBERED_JSON_BYTES},
    store::cards::ContentCard,
    telemetry::metrics::REMEMBERED_JSON,
};

/// Initial capacity; grows as needed.
const EXPECTED: usize = 1_000;

/// A bounded memory of contents as JSON.
pub struct RememberedJson {
    contents: Cache<Key, Bytes, Weight>,
    hits: LazyLock<Counter>,
    misses: LazyLock<Counter>,
}

/// A selection and everything that it shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
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
}

impl ShownContent {
    /// What decides the JSON of a page's content. `None` if more does: fields that no card answers, or another content.
    pub fn of(
        card: &ContentCard,
        selection: ContentSelection,
        (is_reposted, is_viewers): (Option<bool>, bool),
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
        })
    }
}

impl Hydration {
    /// See [`ShownContent::of`]; `card` is of this hydration's viewer.
    pub async fn decides(&self, card: &ContentCard, selection: ContentSelection) -> Option<ShownContent> {
        let is_reposted = match selection.reposted {
            true => self.viewer_reposted(card.content.subject()).await.ok()?,
            false => None,
        };
        ShownContent::of(card, selection, (is_reposted, self.viewer_id() == Some(card.content.author)))
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Bytes> for Weight {
    fn weight(&self, _: &Key, json: &Bytes) -> u64 {
        (size_of::<Key>() + json.len()) as u64
    }
}

impl Default for RememberedJson {
    fn default() -> Self {
        Self {
            contents: Cache::with_weighter(EXPECTED, MAX_REMEMBERED_JSON_BYTES, Weight),
            hits: LazyLock::new(|| metrics::counter!(REMEMBERED_JSON, "outcome" => "hit")),
            misses: LazyLock::new(|| metrics::counter!(REMEMBERED_JSON, "outcome" => "miss")),
        }
    }
}

impl RememberedJson {
    fn get(&self, key: &Key) -> Option<Bytes> {
        let json = self.contents.get(key);
        let counter = if json.is_some() { &self.hits } else { &self.misses };
        counter.increment(1);
        json
    }
}

/// What a page shows of a content, from memory if the same was shown before. Clients see a `T`.
pub struct Remembered<T> {
    value: T,
    /// What decides the JSON, and the viewer's hydration. `None` if more decides it.
    shown: Option<(ShownContent, Arc<Hydration>)>,
}

impl<T> Remembered<T> {
    /// `value`, whose JSON `shown` decides.
    pub const fn new(value: T, shown: Option<(ShownContent, Arc<Hydration>)>) -> Self {
        Self { value, shown }
    }
}

impl<T: OutputType> OutputType for Remembered<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn qualified_type_name() -> String {
        T::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        let (Some((shown, hydration)), Some(&operation)) = (&self.shown, ctx.data_opt::<OperationId>()) else {
            return Box::pin(self.value.resolve(ctx, field)).await;
        };
        let key = Key { operation, field: (field.pos.line, field.pos.column), shown: shown.clone() };
        let memory = &hydration.services().json;
        if let Some(json) = memory.get(&key) {
            return Ok(metered::insert(ctx, field, json).await);
        }
        let before = failures(ctx);
        let value = Box::pin(self.value.resolve(ctx, field)).await?;
        if failures(ctx) == before
            && let Some(json) = written::json(&value)
        {
            memory.contents.insert(key, json);
        }
        Ok(value)
    }
}
