//! The page engine. `domain::timeline::route` decides what a page reads, and `domain::timeline::merge` whether it makes
//! the page; this module does the I/O.
//!
//! Every page rests on one SQL snapshot: one statement reads it whole, or cached outboxes of exactly the versions that
//! the statement gives complete it.

mod cached_outboxes;
mod candidates;
mod cards;
mod external_contents;
pub mod lists;
mod marker;
mod outside_inbox;
mod pause;
mod readers;
mod search;
mod skeleton;

use std::sync::Arc;

use tokio::time::Instant;

use self::{cards::RememberedCards, outside_inbox::InboxFinder};
use crate::{
    domain::{
        Content, ContentId, ContentKind, Direction, Entry, Floor, IdMap, Kinds, Page, PageRequest, PageSize, Position,
        UserId,
        live::view::TimelineTop,
        timeline::{
            candidates::CardFacts,
            folding::{Folded, Subjects, fold},
        },
    },
    store::{Contents, OutboxCache, Ports, StoreError, Timelines, cards::ContentCard},
    telemetry::metrics::{PAGE_SECONDS, PAGES},
};

pub use external_contents::ExternalContents;
pub use marker::ReadMarker;
pub use readers::Readers;
pub use search::Searcher;

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
    readers: Arc<Readers>,
    cards: RememberedCards,
    inboxes: InboxFinder,
}

/// How often a page is read at most, if the store loses its contents each time.
const READS_TO_FOLD: usize = 3;

/// What is asked.
#[derive(Clone, Copy)]
struct PageQuery<'a> {
    reader: UserId,
    request: &'a PageRequest,
    with_facts: bool,
}

/// An exact page that is not folded yet.
struct Raw {
    /// The entries of the page.
    page: Page,
    /// How far inboxes would have to reach for the page and the next one, as a publish time in ms; 0: down to the
    /// oldest content. `None` if this one does.
    reached: Option<i64>,
    /// Counters, reactions and profile versions from the page's snapshot, as far as they cost no statement.
    facts: IdMap<ContentId, CardFacts>,
}

impl Raw {
    /// A page from a snapshot with this floor.
    fn of(page: Page, floor: Floor, facts: IdMap<ContentId, CardFacts>) -> Self {
        Self { reached: reached_below(&page, floor), page, facts }
    }
}

/// Which entries a page has, before it is folded.
#[derive(Debug)]
pub struct Skeleton {
    page: Page,
    subjects: Subjects,
    /// What cards need from the page's own snapshot, as far as it cost no statement.
    pub facts: IdMap<ContentId, CardFacts>,
}

impl Skeleton {
    /// The page with one entry for each subject, the newest.
    pub fn fold(&self, request: &PageRequest) -> Folded {
        fold(request, self.page.clone(), &self.subjects)
    }
}

impl TimelineReader {
    /// A reader that remembers nothing yet, but what `readers` do.
    pub fn new(ports: &Ports, readers: Arc<Readers>) -> Self {
        Self {
            timelines: ports.timelines.clone(),
            contents: ports.contents.clone(),
            cache: ports.outbox_cache.clone(),
            readers,
            cards: RememberedCards::default(),
            inboxes: InboxFinder::new(ports.tier.clone()),
        }
    }

    /// The folded page of `reader`'s timeline, exact at one instant during the call.
    pub async fn page(&self, reader: UserId, request: &PageRequest) -> Result<Folded, StoreError> {
        self.skeleton(reader, request, false).await.map(|skeleton| skeleton.fold(request))
    }

    /// The entries of [`Self::page`] before it is folded. While they have too few subjects for the page, a longer one
    /// is read, each from one snapshot. This is a visit of the reader.
    pub async fn skeleton(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<Skeleton, StoreError> {
        let started = Instant::now();
        let (mut raw, mut subjects) = (*request, Subjects::default());
        let Raw { page, reached, facts } = loop {
            let read = self.read_to_fold(&PageQuery { reader, request: &raw, with_facts }, &mut subjects).await?;
            match raw.size.wider() {
                Some(wider) if subjects.are_too_few(&read.page, request) => raw.size = wider,
                _ => break read,
            }
        };
        metrics::histogram!(PAGE_SECONDS).record(started.elapsed());
        self.readers.note_visit(reader, reached).await;
        Ok(Skeleton { page, subjects, facts })
    }

    /// A raw page, and which content each of its entries shows. That is looked up outside the snapshot, because a
    /// content's subject never changes. A content that is gone was lost since, by a fail-over to a server without the
    /// latest commits: the page is read again (`LostContentShowsItself`).
    async fn read_to_fold(&self, asked: &PageQuery<'_>, subjects: &mut Subjects) -> Result<Raw, StoreError> {
        for _ in 0..READS_TO_FOLD {
            let raw = self.read(asked).await?;
            if !asked.request.kinds.contains(ContentKind::Repost) {
                return Ok(raw);
            }
            self.look_up(&raw.page, subjects).await?;
            if subjects.unknown(&raw.page).is_empty() {
                return Ok(raw);
            }
        }
        Err(StoreError::Contended("contents were lost each time that a page was read".into()))
    }

    async fn look_up(&self, page: &Page, subjects: &mut Subjects) -> Result<(), StoreError> {
        subjects.learn(self.cards.subjects(&subjects.unknown(page)));
        let unknown = subjects.unknown(page);
        if !unknown.is_empty() {
            let read = self.contents.subjects(&unknown).await?;
            self.cards.remember_subjects(&read);
            subjects.learn(read);
        }
        Ok(())
    }

    /// The cards of those entries that this node can make from memory and the facts of their page's snapshot.
    pub fn cards(&self, entries: &[Entry], facts: &IdMap<ContentId, CardFacts>) -> Vec<ContentCard> {
        self.cards.cards(entries, facts)
    }

    /// Remembers contents and profiles for later pages.
    pub fn remember_cards(&self, cards: &[ContentCard]) {
        self.cards.remember(cards);
    }

    /// Remembers contents for later pages.
    pub fn remember_contents(&self, contents: &[Arc<Content>]) {
        self.cards.remember_contents(contents);
    }

    /// What is remembered of readers, and where their visits are noted.
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Counts the folded entries of `reader`'s timeline that are newer than `position`, up to `max`, and says whether
    /// there are more. The count is exact at one instant during the call. It also notes a visit of the reader.
    pub async fn count_newer(&self, reader: UserId, position: Position, max: PageSize) -> Result<Count, StoreError> {
        let (bound, size) = (Some(position), max.one_more());
        let mut raw = PageRequest { direction: Direction::Newer, bound, size, kinds: Kinds::ALL };
        let mut subjects = Subjects::default();
        loop {
            let asked = PageQuery { reader, request: &raw, with_facts: false };
            let page = self.read_to_fold(&asked, &mut subjects).await?.page;
            let shown = subjects.distinct(&page);
            if shown > max.get() || !page.has_newer || raw.size == PageSize::WIDEST_COUNT {
                self.readers.note_present(reader).await;
                return Ok(Count { count: shown.min(max.get()), capped: shown > max.get() || page.has_newer });
            }
            raw.size = PageSize::WIDEST_COUNT;
        }
    }

    /// `reader`'s timeline above `position`, which a live subscription compares with what it has sent: exact at one
    /// instant during the call. It notes no visit, and is whole only if it has at most `max` entries.
    pub async fn top(&self, reader: UserId, position: Position, max: PageSize) -> Result<TimelineTop, StoreError> {
        let bound = Some(position).filter(|position| *position > Position::OLDEST);
        let request = PageRequest { direction: Direction::Newer, bound, ..PageRequest::newest(max) };
        let mut subjects = Subjects::default();
        let asked = PageQuery { reader, request: &request, with_facts: false };
        let page = self.read_to_fold(&asked, &mut subjects).await?.page;
        if page.has_newer {
            return Ok(TimelineTop { whole: false, entries: Vec::new() });
        }
        Ok(TimelineTop {
            whole: true,
            entries: page.entries.into_iter().map(|entry| subjects.showing(entry)).collect(),
        })
    }

    /// The `contents` that are in `reader`'s timeline now.
    pub async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        self.timelines.visible(reader, contents).await
    }

    /// The raw page, for reads that are not a visit of the reader: it is not folded, and nothing is recorded or
    /// measured.
    pub async fn read_raw(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read(&PageQuery { reader, request, with_facts: false }).await.map(|raw| raw.page)
    }

    /// As [`Self::read_raw`], but by the definition of a timeline, with no use of inboxes and caches.
    pub async fn read_by_definition(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read_definition(&PageQuery { reader, request, with_facts: false }).await.map(|raw| raw.page)
    }
}

fn count(way: &'static str) {
    metrics::counter!(PAGES, "way" => way).increment(1);
}

/// The publish time of the page's last entry, if the page or the next one lies below the floor; 0 if the page ends the
/// timeline.
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

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
