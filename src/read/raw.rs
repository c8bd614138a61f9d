//! What is asked of a page, and the exact page that was read.

use std::collections::HashMap;

use crate::domain::{ContentId, Entry, Floor, Page, PageRequest, Position, UserId, timeline::candidates::CardFacts};

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) reader: UserId,
    pub(super) request: &'a PageRequest,
    pub(super) with_facts: bool,
}

/// An exact page that is not folded yet.
pub(super) struct Raw {
    /// The entries of the page.
    pub(super) page: Page,
    /// How far the page reached below the floor, as a publish time in ms; `None` if the inbox held all of it.
    pub(super) reached: Option<i64>,
    /// Counters, reactions and profile versions from the page's snapshot, as far as they cost no statement.
    pub(super) facts: HashMap<ContentId, CardFacts>,
}

impl Raw {
    /// A page from a snapshot with this floor.
    pub(super) fn of(page: Page, floor: Floor, facts: HashMap<ContentId, CardFacts>) -> Self {
        Self { reached: reached_below(&page, floor), page, facts }
    }
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
    use crate::domain::UserId;

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
