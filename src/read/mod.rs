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
mod pulling;
mod remembered_cards;
mod search;
mod top;
mod visits;

use std::{collections::HashMap, sync::Arc};

use tokio::time::Instant;

use self::{known_authors::KnownAuthors, pulling::Pulling, remembered_cards::RememberedCards};
use crate::{
    domain::{
        Content, ContentId, Entry, Floor, Page, PageRequest, Position, UserId,
        timeline::{
            authors::CardFacts,
            folding::Folded,
            plan::{Next, Snapshot, decide},
        },
    },
    store::{Contents, OutboxCache, StoreError, Timelines, cards::ContentCard, timelines::Depth},
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
    known: KnownAuthors,
    cards: RememberedCards,
}

/// A page as it is shown, and the cards of those of its entries that need not be read.
#[derive(Debug)]
pub struct TimelinePage {
    /// The page.
    pub folded: Folded,
    /// Of one snapshot with the page.
    pub cards: Vec<ContentCard>,
}

/// An exact page, nothing folded.
struct Raw {
    page: Page,
    /// Down to which time it was read from below the floor, if at all: a fuller inbox would have held it.
    reached: Option<i64>,
    /// What the page's snapshot says of its contents besides.
    facts: HashMap<ContentId, CardFacts>,
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
            known: KnownAuthors::default(),
            cards: RememberedCards::default(),
        }
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
        if let Some(page) = self.read_known(reader, request, with_facts).await? {
            return Ok(page);
        }
        // Cached outboxes know no kinds.
        let cache = self.cache.as_ref().filter(|_| request.kinds.is_all());
        if cache.is_none() && self.pulling.takes(reader) {
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
                Some(_) if snapshot.floor.trusts_nothing() || snapshot.excludes => {}
                Some(cache) => {
                    let outboxes = outboxes::pull(&**cache, &*self.contents, &snapshot, request).await?;
                    next = outboxes.map_or(next, |outboxes| decide(request, &snapshot, Some(&outboxes)));
                }
            }
        }
        match next {
            Next::Serve(page) => {
                count(if snapshot.uncovered.is_empty() { "inbox" } else { "outboxes" });
                let reached = reached_below(&page, snapshot.floor);
                Ok(Raw { page, reached, facts: HashMap::new() })
            }
            Next::PullOutboxes | Next::PullEverything => self.read_everything(reader, request).await,
        }
    }

    async fn read_everything(&self, reader: UserId, request: &PageRequest) -> Result<Raw, StoreError> {
        count("everything");
        let snapshot: Snapshot = self.timelines.read(reader, request, Depth::Everything).await?;
        match decide(request, &snapshot, None) {
            Next::Serve(page) => {
                let reached = reached_below(&page, snapshot.floor);
                Ok(Raw { page, reached, facts: HashMap::new() })
            }
            next => Err(StoreError::Unreadable(format!("a complete snapshot that does not suffice ({next:?})"))),
        }
    }
}

/// The publish time of the page's last entry if the page or the next one lies below the floor; 0 if nothing lies below
/// the page, not even in outboxes.
fn reached_below(page: &Page, floor: Floor) -> Option<i64> {
    let trusted = floor.trusted_from();
    if trusted == Position::OLDEST {
        return None;
    }
    if !page.has_older {
        return Some(0);
    }
    let last = page.entries.last().map(Entry::position);
    last.filter(|last| *last <= trusted).map(Position::publish_time)
}

fn count(way: &'static str) {
    metrics::counter!(PAGES, "way" => way).increment(1);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::domain::ContentId;

    fn page(times: &[i64], has_older: bool) -> Page {
        let entry = |time: &i64| Entry {
            publish_time: *time,
            content: ContentId::try_new(*time).unwrap(),
            author: UserId::try_new(1).unwrap(),
        };
        Page { entries: times.iter().map(entry).collect(), has_older, has_newer: false }
    }

    #[test]
    fn a_page_tells_how_far_it_reached_below_the_floor() {
        let floor = Floor::At(Position::bound(5, 5));
        assert_eq!(reached_below(&page(&[7, 6], true), floor), None);
        assert_eq!(reached_below(&page(&[7, 5], true), floor), Some(5), "the next page is below");
        assert_eq!(reached_below(&page(&[7, 5], false), floor), Some(0), "that it ends there is not in the inbox");
        assert_eq!(reached_below(&page(&[7, 3], true), floor), Some(3));
        assert_eq!(reached_below(&page(&[7, 3], true), Floor::Off), Some(3));
        assert_eq!(reached_below(&page(&[7, 3], false), Floor::At(Position::OLDEST)), None);
    }
}
