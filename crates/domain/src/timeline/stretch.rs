//! Estimates how far back a page reaches. With this estimate one statement reads the outboxes of all followed authors
//! in a short stretch of time, instead of every author's newest contents.
//!
//! The estimate affects only the cost of a page, never its entries: a stretch that is too short yields no page, and
//! the page is read another way.

use super::{
    candidates::CardFacts,
    merge::Snapshot,
    page::{Direction, Page, PageRequest},
    position::{Entry, Position},
};
use crate::ids::{ContentId, IdMap};

/// A stretch is this many times as long as the page probably is, because entries come in bursts.
const SLACK: i64 = 3;
/// Rows that are read for each entry that the page needs.
const MOST_ROWS_AN_ENTRY: usize = 8;

/// A page of fewer entries does not change a pace that is known.
const FEWEST: usize = 8;
/// Misses in a row after which stretches are not tried for a while.
const MISSES: u32 = 2;
/// Pages that are read another way then.
const PAUSE: u32 = 15;

/// A stretch of time that begins at a page's bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The publish time (ms) at which it ends, inclusive.
    pub end_ms: i64,
    /// Maximum number of rows to read. A stretch with more rows yields no page.
    pub most_rows: usize,
    /// The publish time (ms) up to which entries come with facts, inclusive; `None` for no facts. An entry beyond it
    /// that the page shows costs another statement.
    pub facts_end_ms: Option<i64>,
}

/// What one snapshot of outboxes says about a page: of a stretch, or of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxesSnapshot {
    /// The sources of the page.
    pub snapshot: Snapshot,
    /// The version of the reader's reactions.
    pub reactions_version: i64,
    /// Facts without reactions.
    pub facts: IdMap<ContentId, CardFacts>,
}

/// The mean time between two entries of a timeline, in microseconds, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace(i64);

impl Pace {
    /// The pace of a page's entries, newest first; `None` for fewer than two entries.
    pub fn of(entries: &[Entry]) -> Option<Self> {
        let (newest, oldest) = (entries.first()?, entries.last()?);
        let steps = i64::try_from(entries.len() - 1).ok().filter(|steps| *steps > 0)?;
        let us = newest.publish_time.saturating_sub(oldest.publish_time).saturating_mul(1_000);
        Some(Self((us / steps).max(1)))
    }

    /// The mean time between two contents of one of the authors of this timeline.
    #[must_use]
    pub fn of_one_of(self, authors: usize) -> Self {
        Self(self.0.saturating_mul(i64::try_from(authors.max(1)).unwrap_or(i64::MAX)))
    }

    /// The pace of a timeline of `authors` authors if this is one author's.
    #[must_use]
    pub fn of_all(self, authors: usize) -> Self {
        Self((self.0 / i64::try_from(authors.max(1)).unwrap_or(i64::MAX)).max(1))
    }

    /// Microseconds.
    pub const fn us(self) -> i64 {
        self.0
    }

    /// The inverse of [`Self::us`]; `None` for values below 1.
    pub const fn from_us(us: i64) -> Option<Self> {
        if us < 1 { None } else { Some(Self(us)) }
    }

    /// Estimated span of this many entries in milliseconds, with slack.
    fn length_ms(self, entries: usize) -> i64 {
        let entries = i64::try_from(entries).unwrap_or(i64::MAX);
        self.0.saturating_mul(entries).saturating_mul(SLACK) / 1_000 + 1
    }
}

/// What earlier pages suggest about a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// The pace of the last page that had one.
    pub pace: Option<Pace>,
    /// The publish time of the newest entry, as of the last page that included it.
    newest_ms: Option<i64>,
    /// The publish time of the oldest entry, if the last page reached the end of the timeline; `i64::MAX` if that page
    /// was empty.
    oldest_ms: Option<i64>,
    /// Pages in a row that did not lie within their stretch.
    misses: u32,
    /// Pages that are not looked for in a stretch, after misses.
    pause: u32,
}

impl Hints {
    /// Updates the hints from a page.
    pub fn note(&mut self, page: &Page) {
        if self.pace.is_none() || page.entries.len() >= FEWEST {
            self.pace = Pace::of(&page.entries).or(self.pace);
        }
        if !page.has_newer {
            self.newest_ms = page.entries.first().map(|newest| newest.publish_time).or(self.newest_ms);
        }
        let last = page.entries.last().map(|oldest| oldest.publish_time);
        self.oldest_ms = match last {
            _ if page.has_older => {
                self.oldest_ms.filter(|oldest| *oldest != i64::MAX && last.is_none_or(|last| last > *oldest))
            }
            Some(last) => Some(last),
            None if page.has_newer => self.oldest_ms,
            None => Some(i64::MAX),
        };
    }

    /// Updates the hints by whether a page lay within its stretch. After some misses stretches pause, so that a
    /// timeline that does not suit them costs few statements more.
    pub fn note_stretch(&mut self, has_held: bool) {
        self.misses = if has_held { 0 } else { self.misses + 1 };
        if self.misses >= MISSES {
            (self.misses, self.pause) = (0, PAUSE);
        }
        if !has_held {
            self.oldest_ms = None;
        }
    }

    /// Counts a page that was read without an end.
    pub const fn note_whole(&mut self) {
        self.pause = self.pause.saturating_sub(1);
    }

    /// The stretch that probably holds a page. Its length follows from the timeline's pace, or from the `typical` one
    /// if no page has shown a pace. It extends to the end of the timeline if it would end near it. `None` without any
    /// hint of a length, in a pause, and towards newer entries: counts and looks for what is new often begin where no
    /// entry stands.
    pub fn stretch(&self, request: &PageRequest, typical: Option<Pace>, now_ms: i64) -> Option<Stretch> {
        if request.direction == Direction::Newer || self.pause > 0 {
            return None;
        }
        let length = self.pace.or(typical).map(|pace| pace.length_ms(request.need()));
        let length = length.or(self.oldest_ms.map(|_| 0))?;
        let bound = request.bound.map(Position::publish_time);
        let newest_ms = self.newest_ms.unwrap_or(now_ms);
        let begin = bound.unwrap_or(newest_ms);
        let end_ms = begin.saturating_sub(length).max(0);
        let end_ms = if self.oldest_ms.is_some_and(|oldest| end_ms <= oldest) { 0 } else { end_ms };
        let facts_end_ms = Some(begin.saturating_sub(length / 2).max(0));
        Some(Stretch { end_ms, most_rows: request.need() * MOST_ROWS_AN_ENTRY, facts_end_ms })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{ContentId, PageSize, UserId};

    fn entries(times: &[i64]) -> Vec<Entry> {
        let (content, author) = (ContentId::try_new(1).unwrap(), UserId::try_new(1).unwrap());
        times.iter().map(|time| Entry { publish_time: *time, content, author }).collect()
    }

    #[test]
    fn a_pace_is_the_mean_time_between_two_entries() {
        assert_eq!(Pace::of(&entries(&[100, 70, 40])), Pace::from_us(30_000));
        assert_eq!(Pace::of(&entries(&[7, 7, 6])), Pace::from_us(500));
        assert_eq!(Pace::of(&entries(&[7, 7, 7])), Pace::from_us(1), "a burst");
        assert_eq!(Pace::of(&entries(&[7])), None);
        assert_eq!(Pace::of(&entries(&[])), None);
        let pace = Pace::from_us(30).unwrap();
        assert_eq!(pace.of_one_of(10).us(), 300);
        assert_eq!(pace.of_one_of(10).of_all(100).us(), 3);
        assert_eq!(Pace::from_us(0), None);
    }

    fn page(times: &[i64], has_older: bool, has_newer: bool) -> Page {
        Page { entries: entries(times), has_older, has_newer }
    }

    fn hints(pages: &[Page]) -> Hints {
        let mut hints = Hints::default();
        for page in pages {
            hints.note(page);
        }
        hints
    }

    #[test]
    fn a_stretch_begins_at_the_bound_and_is_longer_than_the_page() {
        let middle = hints(&[page(&[9_000, 8_990], true, false), page(&[700, 690, 680], true, true)]);
        let newest = PageRequest::newest(PageSize::try_new(9).unwrap());
        let length = 10 * 10 * SLACK + 1;
        assert_eq!(middle.stretch(&newest, None, 1).unwrap().most_rows, 80);
        let end = |request: &PageRequest| middle.stretch(request, None, 1).map(|it| it.end_ms);
        assert_eq!(end(&newest), Some(9_000 - length));
        let at = |bound, direction| PageRequest { bound: Some(Position::bound(bound, 1)), direction, ..newest };
        assert_eq!(end(&at(5_000, Direction::Older)), Some(5_000 - length));
        assert_eq!(end(&at(5_000, Direction::Newer)), None);
        assert_eq!(end(&at(100, Direction::Older)), Some(0), "all there is");
    }

    #[test]
    fn a_timeline_that_is_known_to_end_is_read_to_its_end() {
        let newest = PageRequest::newest(PageSize::try_new(9).unwrap());
        let all = |hints: Hints| hints.stretch(&newest, None, 50_000).map(|it| it.end_ms);
        assert_eq!(all(Hints::default()), None, "nothing is known");
        assert_eq!(all(hints(&[page(&[], false, false)])), Some(0));
        assert_eq!(all(hints(&[page(&[7_000], false, false)])), Some(0));
        assert_eq!(all(hints(&[page(&[7_000, 6_990], false, false)])), Some(0));
        let mut grown = hints(&[page(&[7_000, 6_990], false, false), page(&[7_005, 6_995], true, false)]);
        assert_eq!(all(grown), Some(0), "it still ends there");
        grown.note_stretch(false);
        assert_eq!(all(grown), Some(7_005 - 301), "it may not end there any more");
        let below = hints(&[page(&[7_000, 6_990], false, false), page(&[], false, true)]);
        assert_eq!(all(below), Some(0), "a page past the end says nothing new");
        assert!(Hints::default().stretch(&newest, Pace::from_us(10), 50_000).is_some(), "of others");
    }

    #[test]
    fn a_pace_changes_by_pages_of_some_length() {
        let times: Vec<i64> = (0..8).map(|number| 9_000 - 10 * number).collect();
        let long = page(&times, true, false);
        assert_eq!(hints(&[long.clone(), page(&[9_000, 8_000], true, false)]).pace, Pace::from_us(10_000));
        assert_eq!(hints(&[page(&[9_000, 8_000], true, false), long]).pace, Pace::from_us(10_000));
    }

    #[test]
    fn stretches_pause_after_two_misses_in_a_row() {
        let newest = PageRequest::newest(PageSize::try_new(9).unwrap());
        let mut hints = hints(&[page(&[9_000, 8_990], true, false)]);
        for held in [false, true, false, false] {
            assert!(hints.stretch(&newest, None, 1).is_some(), "no two misses in a row yet");
            hints.note_stretch(held);
        }
        for _ in 0..PAUSE {
            assert!(hints.stretch(&newest, None, 1).is_none(), "in the pause");
            hints.note_whole();
        }
        assert!(hints.stretch(&newest, None, 1).is_some(), "once more after the pause");
    }
}
