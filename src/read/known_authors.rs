//! A bounded memory of timelines' authors and of readers' reactions, with their versions. An evicted reader costs one
//! statement.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use quick_cache::{Weighter, sync::Cache};

use crate::domain::{
    Floor, Page, PageRequest, UserId,
    limits::MAX_REMEMBERED_AUTHORS_BYTES,
    timeline::{
        authors::{ReaderSnapshot, TimelineAuthors},
        candidates::{CandidateLimits, Wanted},
        reactions::RememberedReactions,
        stretch::{Hints, Pace, Stretch},
    },
};

/// Initial capacity; the memory grows as needed.
const EXPECTED_READERS: usize = 1_000;

/// A page of the largest size reads as many rows as are allowed after so many.
const MOST_DOUBLINGS: u32 = 6;

/// Readers and the authors of their timelines.
pub struct KnownAuthors {
    readers: Cache<UserId, RememberedReader, Bytes>,
    /// Microseconds between two contents of one author, by the page that was noted last; 0 if none was. It is the
    /// guess for readers without a remembered page.
    author_pace_us: AtomicI64,
}

/// What this node remembers of one reader.
#[derive(Debug, Clone)]
pub(super) struct RememberedReader {
    /// The authors of the timeline and their version.
    pub(super) authors: Arc<TimelineAuthors>,
    /// The reader's reactions and their version; `None` if there are too many.
    pub(super) reactions: Option<Arc<RememberedReactions>>,
    /// The floor in the latest snapshot. It only decides which statement is tried first.
    pub(super) floor: Floor,
    /// How often the number of rows that pages read was doubled, because too few of them were shown.
    pub(super) doublings: u32,
    /// Hints from the pages that were read last.
    pub(super) hints: Hints,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<UserId, RememberedReader> for Bytes {
    fn weight(&self, _: &UserId, known: &RememberedReader) -> u64 {
        let reactions = known.reactions.as_ref().map_or(0, |reactions| reactions.bytes());
        (size_of::<(UserId, RememberedReader)>() + known.authors.bytes() + reactions) as u64
    }
}

impl RememberedReader {
    pub(super) fn of(read: ReaderSnapshot, hints: Hints) -> Self {
        let ReaderSnapshot { authors, reactions, floor } = read;
        Self { authors: Arc::new(authors), reactions: reactions.map(Arc::new), floor, doublings: 0, hints }
    }

    /// The rows to read for a page, at most so many.
    pub(super) fn limits(&self, request: &PageRequest, most: usize) -> CandidateLimits {
        let CandidateLimits { ahead, behind } = self.authors.limits(request);
        CandidateLimits { ahead: (ahead << self.doublings).min(most.max(ahead)), behind: behind << self.doublings }
    }

    /// The facts that the page's statement must return.
    pub(super) fn wanted(&self, facts: bool) -> Wanted {
        let reactions = facts && self.reactions.is_none();
        Wanted { facts, reactions, original_authors: self.authors.excludes() }
    }
}

impl Default for KnownAuthors {
    fn default() -> Self {
        let readers = Cache::with_weighter(EXPECTED_READERS, MAX_REMEMBERED_AUTHORS_BYTES, Bytes);
        Self { readers, author_pace_us: AtomicI64::new(0) }
    }
}

impl KnownAuthors {
    /// The reader's remembered authors.
    pub(super) fn get(&self, reader: UserId) -> Option<RememberedReader> {
        self.readers.get(&reader)
    }

    /// Forgets the reader's authors.
    pub fn forget(&self, reader: UserId) {
        self.readers.remove(&reader);
    }

    /// Remembers the reader's authors and the floor of the latest snapshot.
    pub(super) fn remember(&self, reader: UserId, known: RememberedReader) {
        self.readers.insert(reader, known);
    }

    /// Remembers to read twice as many rows, because too few of them were shown.
    pub(super) fn note_few_shown(&self, reader: UserId) {
        if let Some(known) = self.get(reader).filter(|known| known.doublings < MOST_DOUBLINGS) {
            self.remember(reader, RememberedReader { doublings: known.doublings + 1, ..known });
        }
    }

    /// Updates the floor if the reader's authors are remembered.
    pub(super) fn note_floor(&self, reader: UserId, floor: Floor) {
        if let Some(known) = self.get(reader).filter(|known| known.floor != floor) {
            self.remember(reader, RememberedReader { floor, ..known });
        }
    }

    /// Remembers the hints of a page and the floor of its snapshot, if the reader's authors are known. A page of some
    /// kinds gives no hints about the others.
    pub(super) fn note_page(&self, reader: UserId, request: &PageRequest, (page, floor): (&Page, Floor)) {
        if !request.kinds.is_all() {
            return self.note_floor(reader, floor);
        }
        let Some(mut known) = self.get(reader) else { return };
        known.floor = floor;
        known.hints.note(page);
        if let Some(pace) = known.hints.pace {
            self.author_pace_us.store(pace.of_one_of(known.authors.followed().len()).us(), Ordering::Relaxed);
        }
        self.remember(reader, known);
    }

    /// Remembers whether the reader's page lay within its stretch.
    pub(super) fn note_stretch(&self, reader: UserId, has_held: bool) {
        if let Some(mut known) = self.get(reader) {
            known.hints.note_stretch(has_held);
            self.remember(reader, known);
        }
    }

    /// Counts a page of the reader's that was read whole from outboxes.
    pub(super) fn note_whole(&self, reader: UserId) {
        if let Some(mut known) = self.get(reader) {
            known.hints.note_whole();
            self.remember(reader, known);
        }
    }

    /// The stretch that probably holds a page of all kinds; `None` if the pace of no author is known.
    pub(super) fn stretch(&self, known: &RememberedReader, request: &PageRequest, now_ms: i64) -> Option<Stretch> {
        let of_author = Pace::from_us(self.author_pace_us.load(Ordering::Relaxed));
        let typical = of_author.map(|pace| pace.of_all(known.authors.followed().len()));
        known.hints.stretch(request, typical, now_ms)
    }
}
