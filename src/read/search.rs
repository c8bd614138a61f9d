//! Searches contents: walks along the rarest source, block by block, until the page is full or its budget is spent.
//! Contents that wait to be indexed are read beside it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use quick_cache::{Weighter, sync::Cache};

use crate::{
    domain::{
        ContentId, Entry, PageSize, Position, UserId,
        limits::{MAX_CANDIDATES, MAX_COMPARED_BYTES, MAX_REMEMBERED_TEXTS_BYTES, MAX_SEARCH_BLOCKS, MAX_UNINDEXED},
        search::{
            Found, Search, Source,
            terms::{Form, Text},
        },
    },
    store::{SearchTerms, StoreError, search_terms::Unindexed},
};

/// Searches contents.
pub struct Searcher {
    terms: Arc<dyn SearchTerms>,
    /// Contents that waited to be indexed, as searches see them. A content never changes.
    texts: Cache<ContentId, Arc<Text>, Bytes>,
    /// Whether everything is known to be indexed in the current form. Nothing changes that.
    is_current: AtomicBool,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<ContentId, Arc<Text>> for Bytes {
    fn weight(&self, _: &ContentId, text: &Arc<Text>) -> u64 {
        (size_of::<ContentId>() + text.bytes()) as u64
    }
}

/// Which part of a search is read.
#[derive(Clone, Copy)]
struct Part {
    viewer: Option<UserId>,
    after: Option<Position>,
    size: PageSize,
}

impl Searcher {
    /// Searches the terms in `terms`.
    pub fn new(terms: Arc<dyn SearchTerms>) -> Self {
        let texts = Cache::with_weighter(MAX_UNINDEXED, MAX_REMEMBERED_TEXTS_BYTES, Bytes);
        Self { terms, texts, is_current: AtomicBool::new(false) }
    }

    /// The newest contents below `after` that match `search` and that `viewer` may see, at most `size`. The page is
    /// shorter only at the end of the results, after [`MAX_SEARCH_BLOCKS`] blocks or [`MAX_COMPARED_BYTES`] of texts.
    /// Costs at most one statement for each block, and two more; one more if there are contents that wait to be
    /// indexed. While contents are indexed anew, a search whose terms have changed costs twice that.
    pub async fn page(
        &self,
        viewer: Option<UserId>,
        search: &Search,
        after: Option<Position>,
        size: PageSize,
    ) -> Result<Found, StoreError> {
        let part = Part { viewer, after, size };
        let mut pages = Vec::new();
        // A content leaves those that wait, and the former form, for the index: so they are read before.
        if search.has_words() {
            pages.push(self.unindexed(search, part).await?);
        }
        if search.has_former_terms() && !self.is_current().await? {
            pages.push(self.walk(search, Form::Former, part).await?);
        }
        pages.push(self.walk(search, Form::Current, part).await?);
        Ok(Found::joined(pages, size))
    }

    /// The contents among those that wait to be indexed.
    async fn unindexed(&self, search: &Search, part: Part) -> Result<Found, StoreError> {
        let span = search.span(part.after);
        let Unindexed { mut entries, reached } = self.terms.unindexed(part.viewer, search.author(), span).await?;
        let unknown: Vec<ContentId> =
            entries.iter().map(|entry| entry.content).filter(|content| self.texts.peek(content).is_none()).collect();
        let mut read = Vec::new();
        if !unknown.is_empty() {
            for (content, text) in self.terms.texts(&unknown).await? {
                let text = Arc::new(Text::of(&text));
                self.texts.insert(content, Arc::clone(&text));
                read.push((content, text));
            }
        }
        entries.retain(|entry| {
            let known = read.iter().find(|(content, _)| *content == entry.content).map(|(_, text)| Arc::clone(text));
            known.or_else(|| self.texts.get(&entry.content)).is_some_and(|text| search.matches(&text))
        });
        let end = reached.or(entries.last().map(Entry::position));
        Ok(Found { entries, has_older: reached.is_some(), end })
    }

    /// The contents that are indexed in this form.
    async fn walk(&self, search: &Search, form: Form, part: Part) -> Result<Found, StoreError> {
        let (mut span, mut found) = (search.span(part.after), Found::nothing());
        let Some(look) = search.look(self.counted(search, form, part.after).await?) else { return Ok(found) };
        let (mut limit, mut bytes) = (part.size.get() + 1, MAX_COMPARED_BYTES);
        for _ in 0..MAX_SEARCH_BLOCKS {
            let mut candidates = self.terms.candidates(part.viewer, &look, span, limit).await?;
            if search.has_words() {
                bytes = candidates.cut(bytes);
            }
            span.below = candidates.reached.or(span.below);
            if found.take(search, candidates, part.size) || bytes == 0 {
                break;
            }
            limit = MAX_CANDIDATES;
        }
        Ok(found)
    }

    /// The sources with their counts. A single source is not counted.
    async fn counted(
        &self,
        search: &Search,
        form: Form,
        after: Option<Position>,
    ) -> Result<Vec<(Source, usize)>, StoreError> {
        let sources = search.sources(form);
        let counts = match sources.len() {
            1 => vec![1],
            _ => self.terms.count(&sources, search.span(after)).await?,
        };
        Ok(sources.into_iter().zip(counts).collect())
    }

    async fn is_current(&self) -> Result<bool, StoreError> {
        if !self.is_current.load(Ordering::Relaxed) && self.terms.is_current().await? {
            self.is_current.store(true, Ordering::Relaxed);
        }
        Ok(self.is_current.load(Ordering::Relaxed))
    }
}
