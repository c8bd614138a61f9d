//! Notes visits of readers for `upkeep`, off the path of the request. Signing in, renewing a token, subscribing,
//! counting and reading are visits. A reader is noted at most once per interval, and again when a page reached deeper
//! below the inbox.

use std::{sync::Arc, time::Duration};

use quick_cache::{
    UnitWeighter,
    sync::{Cache, EntryAction, EntryResult},
};

use crate::{
    clock::SharedClock,
    domain::UserId,
    store::{Queue, queue::Message},
    telemetry::notifications::note_lost,
};

/// The shorter interval of a reader whose pages are pulled, so that the inbox fills soon.
const PULLING_INTERVAL_MS: i64 = 5 * 1000;
/// Readers remembered. An evicted one costs one message.
const REMEMBERED: u64 = 100_000;
/// Initial capacity; the memory grows as needed.
const EXPECTED: usize = 1_000;
/// The depth of a visit without a page: above every position.
const NOT_BELOW: i64 = i64::MAX;

/// Notes visits, each reader at most once per interval.
pub struct Visits {
    queue: Arc<dyn Queue>,
    clock: SharedClock,
    seen: Recent,
    pulling: Recent,
}

/// Readers noted lately: when, and how deep their page reached.
struct Recent {
    noted: Cache<UserId, (i64, i64)>,
    interval_ms: i64,
}

impl Recent {
    fn with_interval(interval_ms: i64) -> Self {
        Self { noted: Cache::with_weighter(EXPECTED, REMEMBERED, UnitWeighter), interval_ms }
    }

    /// Whether to note `reader` at `now_ms` with a page of this `depth`; if so, they count as noted. A clock that was
    /// set back never suppresses a note.
    fn is_due(&self, reader: UserId, now_ms: i64, depth: i64) -> bool {
        let due = |(noted, deepest): (i64, i64)| {
            depth < deepest || !(0..self.interval_ms).contains(&now_ms.saturating_sub(noted))
        };
        let noted = self.noted.entry(&reader, Some(Duration::ZERO), |_, noted| {
            let is_due = due(*noted);
            if is_due {
                *noted = (now_ms, depth);
            }
            EntryAction::Retain(is_due)
        });
        match noted {
            EntryResult::Retained(is_due) => is_due,
            EntryResult::Vacant(first) => first.insert((now_ms, depth)).is_ok(),
            // Another task is noting the reader at this moment.
            _ => false,
        }
    }
}

impl Visits {
    /// Sends notes to `queue`: one per `interval_ms` for a reader who stays. Last-seen times are exact to that time.
    pub fn new(queue: Arc<dyn Queue>, clock: SharedClock, interval_ms: i64) -> Self {
        Self {
            queue,
            clock,
            seen: Recent::with_interval(interval_ms),
            pulling: Recent::with_interval(PULLING_INTERVAL_MS),
        }
    }

    /// Time after which a reader who stays is noted again.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.seen.interval_ms).unwrap_or(0).max(1))
    }

    /// The time of the clock that visits are noted by, in ms.
    pub(super) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Notes a visit without a page.
    pub async fn note_present(&self, reader: UserId) {
        self.note(reader, None).await;
    }

    /// Notes that `reader` has read a page; `reached` is as in [`Message::ReaderSeen`]. A lost note only makes reads
    /// slower. It is not sent again, so that a queue that is down does not slow every page.
    pub async fn note(&self, reader: UserId, reached: Option<i64>) {
        let now = self.clock.now_ms();
        let pulls = reached.is_some_and(|depth| self.pulling.is_due(reader, now, depth));
        // A note about depth is also a visit.
        let is_seen = (reached.is_none() || pulls) && self.seen.is_due(reader, now, NOT_BELOW);
        if !pulls && !is_seen {
            return;
        }
        note_lost("queue", self.queue.send(&[Message::ReaderSeen { reader, reached }]).await);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_reader_is_noted_once_in_a_while_by_the_services_clock() {
        let recent = Recent::with_interval(5_000);
        let (ann, bob) = (UserId::try_new(1).unwrap(), UserId::try_new(2).unwrap());
        assert!(recent.is_due(ann, 10_000, NOT_BELOW));
        assert!(!recent.is_due(ann, 14_999, NOT_BELOW));
        assert!(recent.is_due(bob, 14_999, NOT_BELOW), "each reader for themselves");
        assert!(recent.is_due(ann, 15_000, NOT_BELOW));
        assert!(recent.is_due(ann, 9_000, NOT_BELOW), "the clock went back");
    }

    #[test]
    fn a_reader_is_news_whenever_they_are_deeper() {
        let recent = Recent::with_interval(5_000);
        let ann = UserId::try_new(1).unwrap();
        let due = [9, 9, 7, 8, 0].map(|depth| recent.is_due(ann, 10_000, depth));
        assert_eq!(due, [true, false, true, false, true]);
    }
}
