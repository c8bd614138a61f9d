//! The page engine. `domain::timeline::route` decides what a page reads, and `domain::timeline::plan` whether it makes
//! the page; this module does the I/O.
//!
//! Every page rests on one SQL snapshot: one statement reads it whole, or cached outboxes of exactly the versions that
//! the statement gives complete it.

mod cached_outboxes;
mod candidates;
mod crowd;
mod definition;
mod folding;
mod known_authors;
pub mod lists;
mod marker;
mod outside_inbox;
mod page;
mod pause;
mod raw;
mod remembered_cards;
mod search;
mod top;
mod visits;

use std::{collections::HashMap, sync::Arc};

use tokio::time::Instant;

use self::{
    crowd::Crowd,
    known_authors::KnownAuthors,
    outside_inbox::OutsideReader,
    raw::{Asked, Raw},
    remembered_cards::RememberedCards,
};
use crate::{
    domain::{
        Content, ContentId, Entry, Page, PageRequest, UserId,
        timeline::{candidates::CardFacts, folding::Folded},
    },
    store::{Contents, InboxStore, OutboxCache, StoreError, Timelines, cards::ContentCard},
    telemetry::metrics::{PAGE_SECONDS, PAGES},
};

pub use marker::ReadMarker;
pub use search::Searcher;
pub use visits::Visits;

/// A count with an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The number of entries, at most the bound.
    pub count: usize,
    /// Whether there may be more: the count has met its bound, or has read as many entries as one count may.
    pub capped: bool,
}

/// Reads pages of timelines, and remembers what makes the next pages cheaper.
pub struct TimelineReader {
    timelines: Arc<dyn Timelines>,
    contents: Arc<dyn Contents>,
    cache: Option<Arc<dyn OutboxCache>>,
    visits: Arc<Visits>,
    crowd: Crowd,
    known: KnownAuthors,
    cards: RememberedCards,
    outside: Option<OutsideReader>,
}

/// A folded page, with the cards of those entries that this node remembers.
#[derive(Debug)]
pub struct TimelinePage {
    /// The folded page.
    pub folded: Folded,
    /// Cards whose facts come from the page's snapshot or a later one.
    pub cards: Vec<ContentCard>,
}

impl TimelineReader {
    /// Without a `cache`, the outboxes of uncovered authors are read from SQL, and all inboxes without `outside`.
    pub fn new(
        timelines: Arc<dyn Timelines>,
        contents: Arc<dyn Contents>,
        cache: Option<Arc<dyn OutboxCache>>,
        visits: Arc<Visits>,
        outside: Option<Arc<dyn InboxStore>>,
    ) -> Self {
        Self {
            timelines,
            contents,
            cache,
            visits,
            crowd: Crowd::default(),
            known: KnownAuthors::default(),
            cards: RememberedCards::default(),
            outside: outside.map(OutsideReader::new),
        }
    }

    /// The folded page of `reader`'s timeline, exact at one instant during the call.
    pub async fn page(&self, reader: UserId, request: &PageRequest) -> Result<Folded, StoreError> {
        self.visit(reader, request, false).await.map(|(page, _)| page)
    }

    /// As [`Self::page`], with the cards that this node can make from memory. If it remembers all contents and authors,
    /// one more statement reads the facts that the page's own did not give.
    pub async fn page_with_cards(&self, reader: UserId, request: &PageRequest) -> Result<TimelinePage, StoreError> {
        let (folded, mut facts) = self.visit(reader, request, true).await?;
        let unknown: Vec<_> = folded.entries.iter().filter(|entry| !facts.contains_key(&entry.content)).collect();
        if !unknown.is_empty() && self.cards.has_all(unknown.iter().copied()) {
            let contents: Vec<_> = unknown.iter().map(|entry| entry.content).collect();
            // Without facts, every field reads its own value, and fails alone.
            facts.extend(self.timelines.card_facts(reader, &contents).await.unwrap_or_default());
        }
        Ok(TimelinePage { cards: self.cards.cards(&folded.entries, &facts), folded })
    }

    /// Where visits of readers are recorded.
    pub fn visits(&self) -> &Visits {
        &self.visits
    }

    /// Remembers contents and profiles for later pages.
    pub fn remember_cards(&self, cards: &[ContentCard]) {
        self.cards.remember(cards);
    }

    /// Remembers contents for later pages.
    pub fn remember_contents(&self, contents: &[Arc<Content>]) {
        self.cards.remember_contents(contents);
    }

    async fn visit(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<(Folded, HashMap<ContentId, CardFacts>), StoreError> {
        let started = Instant::now();
        let (page, Raw { reached, facts, .. }) = self.read_folded(reader, request, with_facts).await?;
        metrics::histogram!(PAGE_SECONDS).record(started.elapsed());
        self.visits.note(reader, reached).await;
        Ok((page, facts))
    }

    /// The `contents` that are in `reader`'s timeline now.
    pub async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        self.timelines.visible(reader, contents).await
    }

    /// The raw page, for reads that are not a visit of the reader: it is not folded, and nothing is recorded or
    /// measured.
    pub async fn read_raw(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read(&Asked { reader, request, with_facts: false }).await.map(|raw| raw.page)
    }

    /// As [`Self::read_raw`], but by the definition of a timeline, with no use of inboxes and caches.
    pub async fn read_by_definition(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read_definition(&Asked { reader, request, with_facts: false }).await.map(|raw| raw.page)
    }
}

fn count(way: &'static str) {
    metrics::counter!(PAGES, "way" => way).increment(1);
}
