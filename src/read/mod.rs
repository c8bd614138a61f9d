//! The timeline engine: plan, fetch, merge. `domain::timeline::plan` decides, this module awaits.
//!
//! Every answer rests on one SQL snapshot: either the statement that reads everything, or the one that reads the
//! inbox, completed by cached outboxes that prove to be of exactly that snapshot.

mod folding;
mod known;
mod known_authors;
pub mod lists;
mod marker;
mod outboxes;
mod outcome;
mod outside;
mod outside_inbox;
mod pulling;
mod remembered_cards;
mod search;
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
            authors::CardFacts,
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

/// A number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Up to what was asked for.
    pub count: usize,
    /// Whether there are more than that, or the count has looked at as many entries as it may.
    pub capped: bool,
}

/// Reads timelines.
pub struct TimelineReader {
    timelines: Arc<dyn Timelines>,
    contents: Arc<dyn Contents>,
    cache: Option<Arc<dyn OutboxCache>>,
    visits: Arc<Visits>,
    pulling: Pulling,
    /// Those who exclude somebody, and pull past the cache.
    excluding: Pulling,
    known: KnownAuthors,
    cards: RememberedCards,
    outside: Option<OutsideReader>,
}

/// A page as it is shown, and the cards of those of its entries that need not be read.
#[derive(Debug)]
pub struct TimelinePage {
    /// The page.
    pub folded: Folded,
    /// Of one snapshot with the page.
    pub cards: Vec<ContentCard>,
}

impl TimelineReader {
    /// Without a `cache` a page that the inbox alone cannot give is one statement that pulls what it must.
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

    /// The page of `reader`'s timeline as it is shown: exactly what it is at one instant during the call, reposts
    /// folded.
    pub async fn page(&self, reader: UserId, request: &PageRequest) -> Result<Folded, StoreError> {
        self.visit(reader, request, false).await.map(|(page, _)| page)
    }

    /// As [`Self::page`], with the cards that this node can make of what it remembers.
    pub async fn page_with_cards(&self, reader: UserId, request: &PageRequest) -> Result<TimelinePage, StoreError> {
        let (folded, facts) = self.visit(reader, request, true).await?;
        let card = |entry: &Entry| self.cards.card(entry, facts.get(&entry.content)?);
        Ok(TimelinePage { cards: folded.entries.iter().filter_map(card).collect(), folded })
    }

    /// Where it is noted that a reader is there.
    pub fn visits(&self) -> &Visits {
        &self.visits
    }

    /// Remembers what was read to be shown, for the pages that come.
    pub fn remember_cards(&self, cards: &[ContentCard]) {
        self.cards.remember(cards);
    }

    /// As [`Self::remember_cards`], of contents alone.
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

    /// Those of `contents` that are in `reader`'s timeline now.
    pub async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        self.timelines.visible(reader, contents).await
    }

    /// The raw page, nothing folded, for somebody who looks on: no visit is noted, nothing is measured as a reader's
    /// page.
    pub async fn look(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read(reader, request, false).await.map(|raw| raw.page)
    }

    /// As [`Self::look`], with everything read from SQL.
    pub async fn look_past_the_cache(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read_everything(reader, request).await.map(|raw| raw.page)
    }

    /// The page; with facts only where reading them costs no statement.
    async fn read(&self, reader: UserId, request: &PageRequest, with_facts: bool) -> Result<Raw, StoreError> {
        if let Some(page) = self.read_outside(reader, request).await? {
            return Ok(page);
        }
        match self.read_known(reader, request, with_facts).await? {
            Outcome::Page(page) => return Ok(page),
            Outcome::BelowFloor => return self.read_everything(reader, request).await,
            Outcome::Unknown => {}
        }
        // Cached outboxes know no kinds.
        let cache = self.cache.as_ref().filter(|_| request.kinds.is_all());
        let pulls = if cache.is_some() { &self.excluding } else { &self.pulling };
        if pulls.takes(reader) {
            return self.read_everything(reader, request).await;
        }
        let snapshot = self.timelines.read(reader, request, Depth::Inbox).await?;
        if snapshot.uncovered.is_empty() {
            self.known.forget_uncovered(reader);
        }
        let mut next = decide(request, &snapshot, None);
        if next == Next::PullOutboxes {
            match cache {
                None => self.pulling.note(reader),
                // Nor do they know whom a repost is of: docs/coverage.md#who-is-excluded.
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
            Next::PullOutboxes | Next::PullEverything => self.read_everything(reader, request).await,
        }
    }

    async fn read_everything(&self, reader: UserId, request: &PageRequest) -> Result<Raw, StoreError> {
        count("everything");
        let snapshot: Snapshot = self.timelines.read(reader, request, Depth::Everything).await?;
        self.known.note_floor(reader, snapshot.floor);
        match decide(request, &snapshot, None) {
            Next::Serve(page) => Ok(Raw::of(page, snapshot.floor, HashMap::new())),
            next => Err(StoreError::Unreadable(format!("a complete snapshot that does not suffice ({next:?})"))),
        }
    }
}

fn count(way: &'static str) {
    metrics::counter!(PAGES, "way" => way).increment(1);
}
