//! What this node remembers of readers: one bounded memory, keyed by the reader.
//!
//! One rule says when it counts: what decides the entries and the reactions of a page (the reader's authors and
//! reactions) counts only at the version in the page's own snapshot (docs/protocol.md#authors). Everything beside it
//! (floor, doublings, hints, times of visits) decides only what a page costs, and whether a message is sent. An evicted
//! reader costs a statement and a message.
//!
//! Visits are noted for `upkeep`, by a message before the answer: signing in, renewing a token, subscribing, counting
//! and reading. A reader is noted at most once per interval, and again when a page reached deeper below the inbox.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use quick_cache::{
    Weighter,
    sync::{Cache, EntryAction, EntryResult},
};

use crate::{
    clock::SharedClock,
    domain::{
        Floor, Page, PageRequest, UserId,
        limits::MAX_REMEMBERED_READERS_BYTES,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{CandidateLimits, Wanted},
            reactions::RememberedReactions,
            stretch::{Hints, Pace, Stretch},
        },
    },
    store::{Queue, queue::Message},
    telemetry::{metrics::REMEMBERED, notifications::note_lost},
};

/// Initial capacity; the memory grows as needed.
const EXPECTED: usize = 1_000;
/// The most doublings of the rows that a page reads. A page of the largest size then reads as many as are allowed.
const MOST_DOUBLINGS: u32 = 6;
/// The shorter interval of a reader whose pages are pulled, so that the inbox fills soon.
const PULLING_INTERVAL_MS: i64 = 5 * 1000;
/// The depth of a visit without a page: above every position.
const NOT_BELOW: i64 = i64::MAX;
/// Pages that look up contents in flight by followed author, before one looks through them again.
const PAGES_UNTIL_LOOK: u32 = 256;

/// Remembers readers, and notes their visits.
pub struct Readers {
    queue: Arc<dyn Queue>,
    clock: SharedClock,
    interval_ms: i64,
    remembered: Cache<UserId, Remembered, Bytes>,
    /// Microseconds between two contents of one author, by the page that was noted last; 0 if none was. It is the
    /// guess for readers without a remembered page.
    author_pace_us: AtomicI64,
    /// Pages for which more is expected to be in flight than is looked through. A wrong guess costs one statement.
    crowded_pages: AtomicU32,
}

/// Everything about one reader.
#[derive(Clone, Default)]
struct Remembered {
    known: Option<KnownReader>,
    seen: Noted,
    pulling: Noted,
}

/// When a reader was noted last, and how deep their page reached.
type Noted = Option<(i64, i64)>;

/// What this node knows of a reader's timeline.
#[derive(Debug, Clone)]
pub(super) struct KnownReader {
    /// The authors of the timeline and their version.
    pub(super) authors: Arc<TimelineAuthors>,
    /// The reader's reactions and their version; `None` if there are too many.
    pub(super) reactions: Option<Arc<RememberedReactions>>,
    /// The floor in the latest snapshot. It only decides which statement is tried first.
    pub(super) floor: Floor,
    /// How often the number of rows that pages read was doubled, because too few of them were shown.
    doublings: u32,
    /// Hints from the pages that were read last.
    hints: Hints,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<UserId, Remembered> for Bytes {
    fn weight(&self, _: &UserId, remembered: &Remembered) -> u64 {
        let known = remembered.known.as_ref().map_or(0, KnownReader::bytes);
        (size_of::<(UserId, Remembered)>() + known) as u64
    }
}

impl KnownReader {
    fn bytes(&self) -> usize {
        self.authors.bytes() + self.reactions.as_ref().map_or(0, |reactions| reactions.bytes())
    }

    /// The rows to read for a page. Doublings bring those ahead to `most` and no further.
    pub(super) fn limits(&self, request: &PageRequest, most: usize) -> CandidateLimits {
        let CandidateLimits { ahead, behind } = self.authors.limits(request);
        CandidateLimits { ahead: (ahead << self.doublings).min(most.max(ahead)), behind: behind << self.doublings }
    }

    /// The facts that the page's statement must return.
    pub(super) fn wanted(&self, facts: bool) -> Wanted {
        let reactions = facts && self.reactions.is_none();
        Wanted { facts, reactions, original_authors: self.authors.excludes() }
    }

    /// The reader's reactions, if they are of this version.
    pub(super) fn reactions_at(&self, version: i64) -> Option<&RememberedReactions> {
        self.reactions.as_deref().filter(|it| it.version() == version)
    }
}

impl Readers {
    /// Sends notes of visits to `queue`: one per `interval_ms` for a reader who stays. Last-seen times are exact to
    /// that time.
    pub fn new(queue: Arc<dyn Queue>, clock: SharedClock, interval_ms: i64) -> Self {
        Self {
            queue,
            clock,
            interval_ms,
            remembered: Cache::with_weighter(EXPECTED, MAX_REMEMBERED_READERS_BYTES, Bytes),
            author_pace_us: AtomicI64::new(0),
            crowded_pages: AtomicU32::new(0),
        }
    }

    /// What is known of the reader's timeline.
    pub(super) fn get(&self, reader: UserId) -> Option<KnownReader> {
        self.remembered.get(&reader)?.known
    }

    /// As [`Self::get`], at the beginning of a page.
    pub(super) fn recall(&self, reader: UserId) -> Option<KnownReader> {
        let known = self.get(reader);
        let outcome = if known.is_some() { "hit" } else { "miss" };
        metrics::counter!(REMEMBERED, "of" => "reader", "outcome" => outcome).increment(1);
        known
    }

    /// Forgets the reader's timeline.
    pub(super) fn forget(&self, reader: UserId) {
        self.change(reader, |remembered| remembered.known = None);
    }

    /// Remembers what was read of the reader.
    pub(super) fn learn(&self, reader: UserId, read: ReaderSnapshot) -> KnownReader {
        let ReaderSnapshot { authors, reactions, floor } = read;
        let (authors, reactions) = (Arc::new(authors), reactions.map(Arc::new));
        let hints = self.get(reader).map(|known| known.hints).unwrap_or_default();
        let known = KnownReader { authors, reactions, floor, doublings: 0, hints };
        self.change(reader, |remembered| remembered.known = Some(known.clone()));
        known
    }

    /// Remembers to read twice as many rows, because too few of them were shown.
    pub(super) fn note_few_shown(&self, reader: UserId) {
        self.change_known(reader, |known| known.doublings = (known.doublings + 1).min(MOST_DOUBLINGS));
    }

    /// Updates the floor of a reader whom this node knows. One that is out of date costs a statement, and no more.
    pub fn note_floor(&self, reader: UserId, floor: Floor) {
        self.change_known(reader, |known| known.floor = floor);
    }

    /// Remembers the hints of a page and the floor of its snapshot. A page of some kinds gives no hints about the
    /// others.
    pub(super) fn note_page(&self, reader: UserId, request: &PageRequest, (page, floor): (&Page, Floor)) {
        self.change_known(reader, |known| {
            known.floor = floor;
            if request.kinds.is_all() {
                known.hints.note(page);
                if let Some(pace) = known.hints.pace {
                    let of_author = pace.of_one_of(known.authors.followed().len());
                    self.author_pace_us.store(of_author.us(), Ordering::Relaxed);
                }
            }
        });
    }

    /// Remembers whether the reader's page lay within its stretch.
    pub(super) fn note_stretch(&self, reader: UserId, has_held: bool) {
        self.change_known(reader, |known| known.hints.note_stretch(has_held));
    }

    /// Counts a page of the reader's that was read whole from outboxes.
    pub(super) fn note_whole(&self, reader: UserId) {
        self.change_known(reader, |known| known.hints.note_whole());
    }

    /// The stretch that probably holds a page of all kinds; `None` if the pace of no author is known.
    pub(super) fn stretch(&self, known: &KnownReader, request: &PageRequest) -> Option<Stretch> {
        let of_author = Pace::from_us(self.author_pace_us.load(Ordering::Relaxed));
        let typical = of_author.map(|pace| pace.of_all(known.authors.followed().len()));
        known.hints.stretch(request, typical, self.clock.now_ms())
    }

    /// Whether contents in flight are probably too many to look through, for one page.
    pub(super) fn expects_crowd(&self) -> bool {
        let fewer = |pages: u32| pages.checked_sub(1);
        self.crowded_pages.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
    }

    /// Notes that they were.
    pub(super) fn note_crowd(&self) {
        self.crowded_pages.store(PAGES_UNTIL_LOOK, Ordering::Relaxed);
    }

    /// Time after which a reader who stays is noted again.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.interval_ms).unwrap_or(0).max(1))
    }

    /// Notes a visit without a page.
    pub async fn note_present(&self, reader: UserId) {
        self.note_visit(reader, None).await;
    }

    /// Notes that `reader` has read a page; `reached` is as in [`Message::ReaderSeen`]. A lost note only makes reads
    /// slower. It is not sent again, so that a queue that is down does not slow every page.
    pub(super) async fn note_visit(&self, reader: UserId, reached: Option<i64>) {
        if self.is_news(reader, reached) {
            note_lost("queue", self.queue.send(&[Message::ReaderSeen { reader, reached }]).await);
        }
    }

    /// Whether to send a note; if so, the reader counts as noted. A note about depth is also a visit.
    fn is_news(&self, reader: UserId, reached: Option<i64>) -> bool {
        let now = self.clock.now_ms();
        self.change(reader, |Remembered { seen, pulling, .. }| {
            let pulls = reached.is_some_and(|depth| note_if_due(pulling, PULLING_INTERVAL_MS, (now, depth)));
            let is_seen = (reached.is_none() || pulls) && note_if_due(seen, self.interval_ms, (now, NOT_BELOW));
            pulls || is_seen
        })
        .unwrap_or(false)
    }

    /// Changes what is remembered of a reader, in place. `None` if another task is adding the reader at this moment:
    /// nothing is lost but a statement or a note.
    fn change<T>(&self, reader: UserId, change: impl FnOnce(&mut Remembered) -> T) -> Option<T> {
        let mut change = Some(change);
        let mut apply = |remembered: &mut Remembered| change.take().map(|change| change(remembered));
        match self.remembered.entry(&reader, Some(Duration::ZERO), |_, kept| EntryAction::Retain(apply(kept))) {
            EntryResult::Retained(changed) => changed,
            EntryResult::Vacant(place) => {
                let mut first = Remembered::default();
                let changed = apply(&mut first);
                place.insert(first).is_ok().then_some(changed).flatten()
            }
            _ => None,
        }
    }

    fn change_known(&self, reader: UserId, change: impl FnOnce(&mut KnownReader)) {
        self.change(reader, |remembered| remembered.known.as_mut().map(change));
    }
}

/// Whether to note a reader at this time with a page of this depth, again after `interval_ms`; if so, it is noted. A
/// clock that was set back never suppresses a note.
fn note_if_due(noted: &mut Noted, interval_ms: i64, (now_ms, depth): (i64, i64)) -> bool {
    let is_recent = noted
        .is_some_and(|(last, deepest)| depth >= deepest && (0..interval_ms).contains(&now_ms.saturating_sub(last)));
    if !is_recent {
        *noted = Some((now_ms, depth));
    }
    !is_recent
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{clock::ManualClock, store::memory::MemoryQueue};

    fn readers(clock: &Arc<ManualClock>, interval_ms: i64) -> Readers {
        Readers::new(Arc::new(MemoryQueue::new(1, Duration::ZERO)), clock.clone(), interval_ms)
    }

    #[test]
    fn a_reader_is_noted_once_in_a_while_by_the_services_clock() {
        let clock = Arc::new(ManualClock::at(10_000));
        let readers = readers(&clock, 5_000);
        let (ann, bob) = (UserId::try_new(1).unwrap(), UserId::try_new(2).unwrap());
        let is_due = |reader, now_ms| {
            clock.set(now_ms);
            readers.is_news(reader, None)
        };
        assert!(is_due(ann, 10_000));
        assert!(!is_due(ann, 14_999));
        assert!(is_due(bob, 14_999), "each reader for themselves");
        assert!(is_due(ann, 15_000));
        assert!(is_due(ann, 9_000), "the clock went back");
    }

    #[test]
    fn a_reader_is_news_whenever_they_are_deeper() {
        let readers = readers(&Arc::new(ManualClock::at(10_000)), 5_000);
        let ann = UserId::try_new(1).unwrap();
        let due = [9, 9, 7, 8, 0].map(|depth| readers.is_news(ann, Some(depth)));
        assert_eq!(due, [true, false, true, false, true]);
    }

    #[test]
    fn a_crowd_is_expected_for_a_while() {
        let readers = readers(&Arc::new(ManualClock::at(0)), 1);
        assert!(!readers.expects_crowd());
        readers.note_crowd();
        assert_eq!((0..2 * PAGES_UNTIL_LOOK).filter(|_| readers.expects_crowd()).count(), PAGES_UNTIL_LOOK as usize);
    }

    #[test]
    fn readers_stay_within_their_bytes_and_a_forgotten_one_stays_noted() {
        let readers = readers(&Arc::new(ManualClock::at(0)), 1_000);
        let followed: Vec<_> = (1..=100_000).map(|id| (UserId::try_new(id).unwrap(), true)).collect();
        let authors = TimelineAuthors::new(1, &followed, Vec::new());
        for id in 1..=200 {
            let read = ReaderSnapshot { authors: authors.clone(), reactions: None, floor: Floor::Off };
            readers.learn(UserId::try_new(id).unwrap(), read);
        }
        assert!(readers.remembered.weight() <= MAX_REMEMBERED_READERS_BYTES, "{}", readers.remembered.weight());
        let ann = UserId::try_new(200).unwrap();
        assert!(readers.is_news(ann, None));
        readers.forget(ann);
        assert!(readers.get(ann).is_none() && !readers.is_news(ann, None));
    }
}
