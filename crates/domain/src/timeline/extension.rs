//! Chooses how far back an inbox is extended, so that few contents are read that do not become rows.
//!
//! The publish time of each author's n-th newest content below the floor shows how often the author publishes: since
//! then, the author has published n contents. To want r rows, take the r/n newest of these times. The window from the
//! floor to the oldest of them holds at least r contents. The window affects the cost of an extension, not its claim.

use super::position::Entry;

/// Contents that are read for each one wanted, before the window counts as a bad choice.
const MOST_ROWS_OF_A_WANTED_ONE: usize = 8;

/// Which content of each author is looked at: chosen so that two thirds of the authors suffice. The others may have
/// been quiet for years, and a window that reaches back to them would hold far too much of everybody else.
pub fn nth(wanted: usize, authors: usize) -> usize {
    wanted.saturating_mul(3).div_ceil(authors.max(1).saturating_mul(2)).max(1)
}

/// The publish time (ms) at which the window ends, inclusive; `None` if it has no end, because too few authors have an
/// n-th content. `times` holds the publish times of the n-th contents, in any order.
pub fn window_end(wanted: usize, nth: usize, mut times: Vec<i64>) -> Option<i64> {
    let enough = wanted.div_ceil(nth.max(1)).max(1);
    if times.len() < enough {
        return None;
    }
    let (_, end, _) = times.select_nth_unstable_by(enough - 1, |a, b| b.cmp(a));
    Some(*end)
}

/// Most contents to read from a window.
pub const fn most_rows(wanted: usize) -> usize {
    wanted.saturating_mul(MOST_ROWS_OF_A_WANTED_ONE)
}

/// The newest `wanted` entries of a window that was read whole. `None` if the window ends and holds fewer: then older
/// entries belong to them, because contents were removed since its end was chosen.
pub fn newest(mut entries: Vec<Entry>, wanted: usize, end: Option<i64>) -> Option<Vec<Entry>> {
    if end.is_some() && entries.len() < wanted {
        return None;
    }
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.position()));
    entries.truncate(wanted);
    Some(entries)
}

/// Whether an author has contents in the window; `newest_ms` is the publish time of the newest one below the floor.
pub fn reaches(newest_ms: i64, end: Option<i64>) -> bool {
    end.is_none_or(|end| newest_ms >= end)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::ids::{ContentId, UserId};

    /// Outboxes of some authors, newest first, with few different times.
    fn outboxes() -> impl Strategy<Value = Vec<Vec<Entry>>> {
        vec(vec(0_i64..60, 0..12), 1..12).prop_map(|authors| {
            let mut id = 0;
            let outbox = |(author, times): (i64, Vec<i64>)| {
                let mut outbox: Vec<Entry> = times
                    .into_iter()
                    .map(|publish_time| {
                        id += 1;
                        let content = ContentId::try_new(id).unwrap();
                        Entry { publish_time, content, author: UserId::try_new(author).unwrap() }
                    })
                    .collect();
                outbox.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.position()));
                outbox
            };
            (1..).zip(authors).map(outbox).collect()
        })
    }

    proptest! {
        #[test]
        fn a_window_holds_as_many_as_wanted_or_has_no_end(outboxes in outboxes(), wanted in 1_usize..40) {
            let heads = outboxes.iter().filter(|it| !it.is_empty()).count();
            let nth = nth(wanted, heads);
            let times = outboxes.iter().filter_map(|it| it.get(nth - 1)).map(|it| it.publish_time).collect();
            let end = window_end(wanted, nth, times);
            let inside = |entry: &&Entry| end.is_none_or(|end| entry.publish_time >= end);
            let read: Vec<Entry> = outboxes
                .iter()
                .filter(|it| it.first().is_some_and(|head| reaches(head.publish_time, end)))
                .flat_map(|it| it.iter().filter(inside).copied())
                .collect();
            let mut all: Vec<Entry> = outboxes.concat();
            all.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.position()));
            all.truncate(wanted);
            prop_assert_eq!(newest(read, wanted, end), Some(all));
        }
    }

    #[test]
    fn one_quiet_author_does_not_widen_the_window() {
        let mut times: Vec<i64> = (1_000..1_600).collect();
        times.push(1);
        assert_eq!(nth(300, times.len()), 1);
        assert_eq!(window_end(300, 1, times), Some(1_300));
        assert_eq!(nth(300, 60), 8);
        assert_eq!(window_end(300, 8, (1..=37).collect()), None);
        assert_eq!(window_end(300, 8, (1..=60).collect()), Some(23));
    }

    #[test]
    fn a_window_that_lost_contents_is_not_the_whole_answer() {
        assert_eq!(newest(Vec::new(), 1, Some(5)), None);
        assert_eq!(newest(Vec::new(), 1, None), Some(Vec::new()));
    }
}
