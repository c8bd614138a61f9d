//! Compares a served page with the oracle's and names the cause of a difference. Pure; `upkeep::Auditor` fetches both.

use super::{
    page::{Page, PageRequest},
    position::{Entry, Position},
};

/// The difference between a served page and the right one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// Entries that the page lacks.
    pub missing: Vec<Entry>,
    /// Entries that the page must not have.
    pub surplus: Vec<Entry>,
    /// Whether the page is wrong about older entries following.
    pub wrong_end: bool,
    /// Whether the right entries are in the wrong order, or duplicated.
    pub disorder: bool,
}

impl Difference {
    /// Compares a served page with the oracle's answer to the same request, which has one entry more than the page if
    /// the timeline goes on. For pages towards older entries. `None` if the page is right.
    pub fn between(served: &Page, oracle: &[Entry], request: &PageRequest) -> Option<Self> {
        let size = request.size.get();
        let due = &oracle[..oracle.len().min(size)];
        let has_older = oracle.len() > size;
        if served.entries == due && served.has_older == has_older {
            return None;
        }
        let missing: Vec<Entry> = due.iter().filter(|it| !served.entries.contains(it)).copied().collect();
        let surplus: Vec<Entry> = served.entries.iter().filter(|it| !due.contains(it)).copied().collect();
        let disorder = missing.is_empty() && surplus.is_empty() && served.entries != due;
        Some(Self { missing, surplus, wrong_end: served.has_older != has_older, disorder })
    }
}

/// The cause of a wrong page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DifferenceCause {
    /// The invariant of docs/coverage.md is broken: a content that the inbox should have is neither there nor in
    /// flight.
    Hole,
    /// An inbox row differs from its content in position or author.
    Misplaced,
    /// A cached outbox was trusted but differs from SQL.
    Cache,
    /// A page was read from an inbox outside SQL, or with cached outboxes, and differs from what SQL alone gives.
    Outside,
    /// Rows and cache are right, so the reading itself is wrong.
    Unexplained,
}

impl DifferenceCause {
    /// The cause in one word, for metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::Misplaced => "misplaced",
            Self::Cache => "cache",
            Self::Outside => "outside",
            Self::Unexplained => "unexplained",
        }
    }

    /// The cause of a persistent difference. `flawed`: the cause of a flaw in the reader's rows, if there is one.
    /// `right_without_cache`: whether the page is right when everything is read from SQL. `is_outside`: whether the
    /// reader's inbox lies outside SQL.
    pub const fn of(flawed: Option<Self>, right_without_cache: bool, is_outside: bool) -> Self {
        match flawed {
            Some(cause) => cause,
            None if right_without_cache && is_outside => Self::Outside,
            None if right_without_cache => Self::Cache,
            None => Self::Unexplained,
        }
    }
}

/// Where to continue an audit after the oracle's answer: the last entry of its page; `None` at the end.
pub fn next_bound(oracle: &[Entry], request: &PageRequest) -> Option<Position> {
    let size = request.size.get();
    if oracle.len() <= size {
        return None;
    }
    oracle[..size].last().map(Entry::position)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{ContentId, PageSize, UserId};

    fn entries(times: &[i64]) -> Vec<Entry> {
        let author = UserId::try_new(1).unwrap();
        let entry = |time: &i64| Entry { publish_time: *time, content: ContentId::try_new(*time).unwrap(), author };
        times.iter().map(entry).collect()
    }

    fn served(times: &[i64], has_older: bool) -> Page {
        Page { entries: entries(times), has_older, has_newer: false }
    }

    fn two() -> PageRequest {
        PageRequest::newest(PageSize::try_new(2).unwrap())
    }

    #[test]
    fn a_right_page_differs_in_nothing() {
        assert_eq!(Difference::between(&served(&[9, 8], true), &entries(&[9, 8, 7]), &two()), None);
        assert_eq!(Difference::between(&served(&[9], false), &entries(&[9]), &two()), None);
    }

    #[test]
    fn missing_and_surplus_entries_are_reported_separately() {
        let difference = Difference::between(&served(&[9, 7], false), &entries(&[9, 8, 7]), &two()).unwrap();
        assert_eq!((difference.missing, difference.surplus), (entries(&[8]), entries(&[7])));
        assert!(difference.wrong_end && !difference.disorder);
    }

    #[test]
    fn a_wrong_order_and_an_entry_twice_are_differences() {
        for wrong in [[8, 9].as_slice(), [9, 9, 8].as_slice()] {
            let difference = Difference::between(&served(wrong, true), &entries(&[9, 8, 7]), &two()).unwrap();
            assert!(difference.disorder && !difference.wrong_end, "{wrong:?}");
        }
    }

    #[test]
    fn a_wrong_end_alone_is_a_difference() {
        let difference = Difference::between(&served(&[9, 8], false), &entries(&[9, 8, 7]), &two()).unwrap();
        assert_eq!(difference, Difference { wrong_end: true, ..Difference::default() });
    }

    #[test]
    fn an_audit_blames_rows_then_the_cache_then_reads() {
        assert_eq!(DifferenceCause::of(Some(DifferenceCause::Hole), true, true), DifferenceCause::Hole);
        assert_eq!(DifferenceCause::of(None, true, false), DifferenceCause::Cache);
        assert_eq!(DifferenceCause::of(None, true, true), DifferenceCause::Outside);
        assert_eq!(DifferenceCause::of(None, false, true), DifferenceCause::Unexplained);
    }

    #[test]
    fn a_walk_goes_on_from_the_last_entry_that_was_due() {
        assert_eq!(next_bound(&entries(&[9, 8, 7]), &two()), Some(Position::bound(8, 8)));
        assert_eq!(next_bound(&entries(&[9, 8]), &two()), None);
    }
}
