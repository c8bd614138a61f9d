//! Folds pages: of entries that show the same content, only the newest stays.
//!
//! An entry's *subject* is what it shows: a repost's original, otherwise the content itself. A page folds the shortest
//! section of the timeline that begins at the bound and has as many subjects as the page wants, or everything up to
//! the end. The newest entry of each subject stays. The result depends only on the timeline and the request.

use super::{
    page::{Direction, Page, PageRequest},
    position::{Entry, Position},
};
use crate::ids::{ContentId, IdMap, IdSet};

/// The subjects of entries. A subject never changes, so it can be looked up at any time.
#[derive(Debug, Clone, Default)]
pub struct Subjects(IdMap<ContentId, ContentId>);

impl Subjects {
    /// The contents of the page whose subjects are unknown.
    pub fn unknown(&self, page: &Page) -> Vec<ContentId> {
        page.entries.iter().map(|entry| entry.content).filter(|content| !self.0.contains_key(content)).collect()
    }

    /// Learns the subjects of contents.
    pub fn learn(&mut self, subjects: impl IntoIterator<Item = (ContentId, ContentId)>) {
        self.0.extend(subjects);
    }

    /// How many entries folding leaves on the page.
    pub fn distinct(&self, page: &Page) -> usize {
        page.entries.iter().map(|entry| self.of(entry)).collect::<IdSet<_>>().len()
    }

    /// Whether a page that goes on beyond `raw` has fewer subjects than the request wants, so that a longer one is
    /// needed.
    pub fn are_too_few(&self, raw: &Page, request: &PageRequest) -> bool {
        let goes_on = match request.direction {
            Direction::Older => raw.has_older,
            Direction::Newer => raw.has_newer,
        };
        goes_on && self.distinct(raw) < request.size.get()
    }

    /// `entry` with its subject, which is the entry's own content while it is unknown.
    pub fn showing(&self, entry: Entry) -> Showing {
        Showing { entry, subject: self.of(&entry) }
    }

    fn of(&self, entry: &Entry) -> ContentId {
        self.0.get(&entry.content).copied().unwrap_or(entry.content)
    }
}

/// An entry and its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Showing {
    /// The entry.
    pub entry: Entry,
    /// A repost's original, otherwise the content itself.
    pub subject: ContentId,
}

/// The newest entry of each subject. Input and result are oldest first.
pub fn standing(entries: &[Showing]) -> Vec<Showing> {
    let mut met = IdSet::default();
    let mut standing: Vec<Showing> = entries.iter().rev().filter(|it| met.insert(it.subject)).copied().collect();
    standing.reverse();
    standing
}

/// A page that shows only the newest entry of each subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// Newest first, one entry for each subject.
    pub entries: Vec<Entry>,
    /// Whether an older entry follows the page's section.
    pub has_older: bool,
    /// Whether a newer entry precedes it.
    pub has_newer: bool,
    /// The whole section, with what folding left out, newest first.
    pub unfolded: Vec<Entry>,
}

impl Folded {
    /// The oldest position of the section. Reading on from here skips nothing and repeats nothing. `None` on an empty
    /// page.
    pub fn end(&self) -> Option<Position> {
        self.unfolded.last().map(Entry::position)
    }
}

/// A page from which folding left out nothing.
impl From<Page> for Folded {
    fn from(page: Page) -> Self {
        let Page { entries, has_older, has_newer } = page;
        Self { unfolded: entries.clone(), entries, has_older, has_newer }
    }
}

/// Folds `raw`, an exact page of any size from the request's bound in its direction.
pub fn fold(request: &PageRequest, raw: Page, subjects: &Subjects) -> Folded {
    let Page { mut entries, mut has_older, mut has_newer } = raw;
    let mut met = IdSet::default();
    let mut closes = |entry: &Entry| {
        met.insert(subjects.of(entry));
        met.len() == request.size.get()
    };
    match request.direction {
        Direction::Older => {
            let taken = entries.iter().position(&mut closes).map_or(entries.len(), |last| last + 1);
            has_older |= taken < entries.len();
            entries.truncate(taken);
        }
        Direction::Newer => {
            let left = entries.iter().rposition(&mut closes).unwrap_or(0);
            has_newer |= left > 0;
            entries.drain(..left);
        }
    }
    let unfolded = entries.clone();
    let mut shown = IdSet::default();
    entries.retain(|entry| shown.insert(subjects.of(entry)));
    Folded { entries, has_older, has_newer, unfolded }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;

    use super::*;
    use crate::{PageSize, UserId};

    fn id(number: i64) -> ContentId {
        ContentId::try_new(number).unwrap()
    }

    /// Newest first: content 100, 99 and so on at the times of their numbers, with these subjects.
    fn timeline(subjects: &[i64]) -> (Vec<Entry>, Subjects) {
        let author = UserId::try_new(1).unwrap();
        let numbers = || (1..=100).rev();
        let entry = |number| Entry { publish_time: number, content: id(number), author };
        let entries = numbers().zip(subjects).map(|(number, _)| entry(number)).collect();
        let pairs = numbers().zip(subjects).map(|(number, subject)| (id(number), id(1_000 + subject)));
        (entries, Subjects(pairs.collect()))
    }

    /// The entries on the request's side of its bound, as it meets them, and whether there are any behind.
    fn ahead(all: &[Entry], request: &PageRequest) -> (Vec<Entry>, bool) {
        let from = request.bound.unwrap_or(request.direction.start());
        let mut met: Vec<Entry> =
            all.iter().filter(|it| request.direction.meets_first(from, it.position())).copied().collect();
        let behind = met.len() < all.len();
        if request.direction == Direction::Newer {
            met.reverse();
        }
        (met, behind)
    }

    fn raw(all: &[Entry], request: &PageRequest, size: usize) -> Page {
        let (mut entries, behind) = ahead(all, request);
        let beyond = entries.len() > size;
        entries.truncate(size);
        match request.direction {
            Direction::Older => Page { entries, has_older: beyond, has_newer: behind },
            Direction::Newer => {
                entries.reverse();
                Page { entries, has_older: behind, has_newer: beyond }
            }
        }
    }

    /// The definition, word by word.
    fn naive(all: &[Entry], request: &PageRequest, subjects: &Subjects) -> Folded {
        let (met, behind) = ahead(all, request);
        let count = |section: &[Entry]| section.iter().map(|it| subjects.of(it)).collect::<IdSet<_>>().len();
        let length = (0..=met.len()).find(|length| count(&met[..*length]) == request.size.get()).unwrap_or(met.len());
        let section = &met[..length];
        let newest = |it: &&Entry| {
            section.iter().all(|other| subjects.of(other) != subjects.of(it) || other.position() <= it.position())
        };
        let mut entries: Vec<Entry> = section.iter().filter(newest).copied().collect();
        entries.sort_by_key(|it| std::cmp::Reverse(it.position()));
        let beyond = length < met.len();
        let (has_older, has_newer) =
            if request.direction == Direction::Older { (beyond, behind) } else { (behind, beyond) };
        let mut unfolded = section.to_vec();
        unfolded.sort_by_key(|it| std::cmp::Reverse(it.position()));
        Folded { entries, has_older, has_newer, unfolded }
    }

    /// As the engine does: raw pages that grow while the page is short.
    fn grown(all: &[Entry], request: &PageRequest, subjects: &Subjects) -> Folded {
        let mut size = request.size;
        loop {
            let raw = raw(all, request, size.get());
            match size.wider() {
                Some(wider) if subjects.are_too_few(&raw, request) => size = wider,
                _ => return fold(request, raw, subjects),
            }
        }
    }

    fn request(direction: Direction, bound: Option<i64>, size: i64) -> PageRequest {
        let bound = bound.map(|at| Position::bound(at, at));
        PageRequest { direction, bound, ..PageRequest::newest(PageSize::try_new(size).unwrap()) }
    }

    fn subjects() -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(1_i64..8, 0..60)
    }

    proptest! {
        #[test]
        fn a_folded_page_is_the_naive_one(
            shown in subjects(), newer in any::<bool>(), bound in prop::option::of(35_i64..105), size in 1_i64..12,
        ) {
            let (all, subjects) = timeline(&shown);
            let direction = if newer { Direction::Newer } else { Direction::Older };
            let request = request(direction, bound, size);
            prop_assert_eq!(grown(&all, &request, &subjects), naive(&all, &request, &subjects));
        }

        #[test]
        fn successive_pages_show_or_fold_every_entry_exactly_once(
            shown in subjects(), newer in any::<bool>(), size in 1_i64..12,
        ) {
            let (all, subjects) = timeline(&shown);
            let direction = if newer { Direction::Newer } else { Direction::Older };
            let mut next = request(direction, None, size);
            let (mut met, mut goes_on) = (Vec::new(), true);
            while goes_on {
                let page = grown(&all, &next, &subjects);
                let (from, to) = (page.entries.first().map(Entry::position), page.end());
                let section: Vec<Entry> =
                    all.iter().filter(|it| Some(it.position()) <= from && Some(it.position()) >= to).copied().collect();
                for entry in &section {
                    let standing = page.entries.iter().find(|it| subjects.of(it) == subjects.of(entry)).unwrap();
                    prop_assert!(standing.position() >= entry.position());
                }
                met.extend(section);
                goes_on = if newer { page.has_newer } else { page.has_older };
                next.bound = if newer { from } else { to };
            }
            met.sort_by_key(|it| std::cmp::Reverse(it.position()));
            prop_assert_eq!(met, all);
        }
    }

    #[test]
    fn folding_keeps_a_subjects_newest_entry_and_refills_the_page() {
        let (all, subjects) = timeline(&[1, 2, 1, 1, 3]);
        let older = grown(&all, &request(Direction::Older, None, 3), &subjects);
        assert_eq!(older.entries, [all[0], all[1], all[4]]);
        assert!(!older.has_older);
        let newer = grown(&all, &request(Direction::Newer, None, 2), &subjects);
        assert_eq!(newer.entries, [all[3], all[4]], "the section ends where two subjects are met");
        assert!(newer.has_newer);
    }

    #[test]
    fn a_page_of_one_subject_ends_at_the_widest_read() {
        let (all, subjects) = timeline(&[1; 60]);
        let request = request(Direction::Older, None, 2);
        let raw = raw(&all, &request, 50);
        let page = fold(&request, raw.clone(), &subjects);
        assert_eq!((page.entries.as_slice(), page.end()), (&all[..1], Some(all[49].position())));
        assert!(page.has_older && subjects.are_too_few(&raw, &request));
    }
}
