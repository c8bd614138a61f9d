//! Tells upkeep that a reader is there, off the path of what they do: whoever signs in, renews a token, subscribes,
//! counts or reads is noted here, at most once in a while, and once more whenever they have paged deeper than an inbox
//! reaches.

use std::{sync::Arc, time::Duration};

use moka::{
    ops::compute::{CompResult, Op},
    sync::Cache,
};

use crate::{
    clock::SharedClock,
    domain::UserId,
    store::{Queue, queue::Message},
    telemetry::notifications::note_lost,
};

/// A reader whose pages are pulled is noted more often, so that the inbox is soon filled.
const PULLING_ONCE_IN_MS: i64 = 5 * 1000;
/// Readers remembered; forgetting one costs a message.
const REMEMBERED: u64 = 100_000;
/// How deep a reader is whose pages no inbox could hold: above everything.
const NOT_BELOW: i64 = i64::MAX;

/// Notes of visits.
pub struct Visits {
    queue: Arc<dyn Queue>,
    clock: SharedClock,
    seen: Recent,
    pulling: Recent,
}

/// Who was noted lately: when, and how deep they were.
struct Recent {
    noted: Cache<UserId, (i64, i64)>,
    once_in_ms: i64,
}

impl Recent {
    fn once_in(once_in_ms: i64) -> Self {
        Self { noted: Cache::new(REMEMBERED), once_in_ms }
    }

    /// Whether `reader` is to be noted at `now_ms`, being so deep; then they count as noted. A clock that went back
    /// never silences anybody.
    fn is_due(&self, reader: UserId, now_ms: i64, depth: i64) -> bool {
        let due = |(noted, deepest): (i64, i64)| {
            depth < deepest || !(0..self.once_in_ms).contains(&now_ms.saturating_sub(noted))
        };
        let noted = self.noted.entry(reader).and_compute_with(|noted| {
            if noted.is_none_or(|noted| due(noted.into_value())) { Op::Put((now_ms, depth)) } else { Op::Nop }
        });
        matches!(noted, CompResult::Inserted(_) | CompResult::ReplacedWith(_))
    }
}

impl Visits {
    /// Notes go to `queue`. A reader who stays is noted once in `once_in_ms`; last-seen times are exact to it.
    pub fn new(queue: Arc<dyn Queue>, clock: SharedClock, once_in_ms: i64) -> Self {
        Self { queue, clock, seen: Recent::once_in(once_in_ms), pulling: Recent::once_in(PULLING_ONCE_IN_MS) }
    }

    /// Time after which a reader who stays is to be noted again.
    pub fn once_in(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.seen.once_in_ms).unwrap_or(0).max(1))
    }

    /// The time (ms) by the clock that visits are noted by.
    pub(super) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// `reader` is there, whatever they do.
    pub async fn note_present(&self, reader: UserId) {
        self.note(reader, None).await;
    }

    /// `reader` has read a page, and `reached` with it what an inbox could hold, as [`Message::ReaderSeen`] has it.
    /// Failing to tell costs reads their speed, nothing else; it is not tried again at once, so that a queue that is
    /// away does not slow every page.
    pub async fn note(&self, reader: UserId, reached: Option<i64>) {
        let now = self.clock.now_ms();
        let pulls = reached.is_some_and(|depth| self.pulling.is_due(reader, now, depth));
        // Who is noted for being deep has been seen as well.
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
    fn a_reader_is_noted_once_in_a_while_by_the_house_clock() {
        let recent = Recent::once_in(5_000);
        let (ann, bob) = (UserId::try_new(1).unwrap(), UserId::try_new(2).unwrap());
        assert!(recent.is_due(ann, 10_000, NOT_BELOW));
        assert!(!recent.is_due(ann, 14_999, NOT_BELOW));
        assert!(recent.is_due(bob, 14_999, NOT_BELOW), "each reader for themselves");
        assert!(recent.is_due(ann, 15_000, NOT_BELOW));
        assert!(recent.is_due(ann, 9_000, NOT_BELOW), "the clock went back");
    }

    #[test]
    fn a_reader_is_news_whenever_they_are_deeper() {
        let recent = Recent::once_in(5_000);
        let ann = UserId::try_new(1).unwrap();
        let told = [9, 9, 7, 8, 0].map(|depth| recent.is_due(ann, 10_000, depth));
        assert_eq!(told, [true, false, true, false, true]);
    }
}
