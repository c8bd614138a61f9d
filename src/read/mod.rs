//! The page engine: plan, fetch, merge. `domain::timeline::plan` decides; this module does the I/O.
//!
//! Every page rests on one SQL snapshot. Either one statement reads everything, or one reads the inbox and cached
//! outboxes of exactly the same version complete it.

mod folding;
mod known;
mod known_authors;
pub mod lists;
mod marker;
mod outboxes;
mod outcome;
mod outside;
mod outside_inbox;
mod pause;
mod pulling;
mod remembered_cards;
mod search;
mod stretch;
mod top;
mod visits;

use std::{collections::HashMap, sync::Arc};

use tokio::time::Instant;

use self::{
    known_authors::KnownAuthors,
    outcome::{Outcome, Raw},
    outside_inbox::OutsideReader,
    pulling::Pulling,
    remembered_cards::RememberedCards,
};
use crate::{
    domain::{
        Content, ContentId, Entry, Page, PageRequest, UserId,
        timeline::{
            candidates::CardFacts,
            folding::Folded,
            plan::{Next, Snapshot, decide},
        },
    },
    store::{
        Contents, OutboxCache, StoreError, Timelines, cards::ContentCard, outside_states::OutsideStores,
        timelines::Depth,
    },
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
    pulling: Pulling,
    /// Readers with exclusions, whose pages cannot use cached outboxes.
    excluding: Pulling,
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
    /// Without a `cache`, one statement pulls every page that the inbox cannot give.
    pub fn new(
        timelines: Arc<dyn Timelines>,
        contents: Arc<dyn Contents>,
        cache: Option<Arc<dyn OutboxCache>>,
        visits: Arc<Visits>,
    ) -> Self {
        Self {
            timelines,
            contents,
            cache,
            visits,
            pulling: Pulling::default(),
            excluding: Pulling::default(),
            known: KnownAuthors::default(),
            cards: RememberedCards::default(),
            outside: None,
        }
    }

    /// Also reads inboxes outside SQL.
    #[must_use]
    pub fn with_outside(self, outside: Option<OutsideStores>) -> Self {
        Self { outside: outside.map(OutsideReader::new), ..self }
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
        self.read(reader, request, false).await.map(|raw| raw.page)
    }

    /// As [`Self::read_raw`], but reads everything from SQL.
    pub async fn read_uncached(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read_whole(reader, request, Depth::Everything).await.map(|raw| raw.page)
    }

    /// The raw page. It has facts only where they cost no extra statement.
    async fn read(&self, reader: UserId, request: &PageRequest, with_facts: bool) -> Result<Raw, StoreError> {
        if let Some(page) = self.read_outside(reader, request, with_facts).await? {
            return Ok(page);
        }
        match self.read_known(reader, request, with_facts).await? {
            Outcome::Page(page) => return Ok(page),
            Outcome::BelowFloor => return self.read_past_the_inbox(reader, request, with_facts, Depth::Outboxes).await,
            Outcome::Unknown => {}
        }
        // Cached outboxes do not contain the kinds of contents.
        let cache = self.cache.as_ref().filter(|_| request.kinds.is_all());
        let pulls = if cache.is_some() { &self.excluding } else { &self.pulling };
        if pulls.takes(reader) {
            return self.read_past_the_inbox(reader, request, with_facts, Depth::Everything).await;
        }
        let snapshot = self.timelines.read(reader, request, Depth::Inbox).await?;
        if snapshot.uncovered.is_empty() {
            self.known.forget_uncovered(reader);
        }
        let mut next = decide(request, &snapshot, None);
        if next == Next::PullOutboxes {
            match cache {
                None => self.pulling.note(reader),
                // Cached outboxes do not contain the original's author of a repost: docs/coverage.md#who-is-excluded.
                Some(_) if snapshot.excludes => self.excluding.note(reader),
                Some(_) if snapshot.floor.trusts_nothing() => {}
                Some(cache) => {
                    let outboxes = outboxes::pull(&**cache, &*self.contents, &snapshot, request).await?;
                    next = outboxes.map_or(next, |outboxes| decide(request, &snapshot, Some(&outboxes)));
                }
            }
        }
        match next {
            Next::Serve(page) => {
                count(if snapshot.uncovered.is_empty() { "inbox" } else { "outboxes" });
                Ok(Raw::of(page, snapshot.floor, HashMap::new()))
            }
            Next::PullOutboxes | Next::PullEverything => {
                self.read_past_the_inbox(reader, request, with_facts, Depth::Everything).await
            }
        }
    }

    /// The page from a stretch, or by a statement of this depth, which suffices.
    async fn read_past_the_inbox(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
        depth: Depth,
    ) -> Result<Raw, StoreError> {
        match self.read_stretch(reader, request, with_facts).await? {
            Some(page) => Ok(page),
            None => self.read_whole(reader, request, depth).await,
        }
    }

    async fn read_whole(&self, reader: UserId, request: &PageRequest, depth: Depth) -> Result<Raw, StoreError> {
        count("everything");
        let snapshot: Snapshot = self.timelines.read(reader, request, depth).await?;
        match decide(request, &snapshot, None) {
            Next::Serve(page) => {
                self.known.note_page(reader, request, (&page, snapshot.floor));
                Ok(Raw::of(page, snapshot.floor, HashMap::new()))
            }
            next => Err(StoreError::Unreadable(format!("a complete snapshot does not suffice for a page ({next:?})"))),
        }
    }
}

fn count(way: &'static str) {
    metrics::counter!(PAGES, "way" => way).increment(1);
}
