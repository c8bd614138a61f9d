//! Tells upkeep that a reader has come, off the read's own path: at most once in a while for each reader, and once more whenever they have paged
//! deeper than an inbox reaches.

use std::{sync::Arc, time::Duration};

use moka::sync::Cache;

use crate::{
    domain::UserId,
    store::{Queue, queue::Message},
};

/// A reader who keeps reading is noted once in this time; last-seen times are exact to it.
const ONCE_IN: Duration = Duration::from_mins(10);
/// A reader whose pages are pulled is noted more often, so that the inbox is soon filled.
const PULLING_ONCE_IN: Duration = Duration::from_secs(5);
/// Readers remembered; forgetting one costs a message.
const REMEMBERED: u64 = 100_000;

/// Notes of visits.
pub struct Visits {
    queue: Arc<dyn Queue>,
    seen: Cache<UserId, ()>,
    /// How deep they were when it was noted.
    pulling: Cache<UserId, i64>,
}

impl Visits {
    /// Notes go to `queue`.
    pub fn new(queue: Arc<dyn Queue>) -> Self {
        let (seen, pulling) = (Cache::builder().time_to_live(ONCE_IN), Cache::builder().time_to_live(PULLING_ONCE_IN));
        Self { queue, seen: seen.max_capacity(REMEMBERED).build(), pulling: pulling.max_capacity(REMEMBERED).build() }
    }

    /// `reader` has read a page, and `reached` with it what an inbox could hold, as [`Message::ReaderSeen`] has it. Failing to tell costs reads
    /// their speed, nothing else; it is not tried again at once, so that a queue that is away does not slow every page.
    pub async fn note(&self, reader: UserId, reached: Option<i64>) {
        if !self.is_news(reader, reached) {
            return;
        }
        if let Err(error) = self.queue.send(&[Message::ReaderSeen { reader, reached }]).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a visit was not noted");
        }
    }

    fn is_news(&self, reader: UserId, reached: Option<i64>) -> bool {
        let Some(reached) = reached else { return self.seen.entry(reader).or_insert(()).is_fresh() };
        if self.pulling.get(&reader).is_some_and(|noted| noted <= reached) {
            return false;
        }
        self.pulling.insert(reader, reached);
        true
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::store::memory::MemoryQueue;

    #[test]
    fn a_reader_is_news_once_in_a_while_and_whenever_they_are_deeper() {
        let visits = Visits::new(Arc::new(MemoryQueue::new(9, ONCE_IN)));
        let (ann, bob) = (UserId::try_new(1).unwrap(), UserId::try_new(2).unwrap());
        let told =
            [None, None, Some(9), Some(9), Some(7), Some(8), Some(0)].map(|reached| visits.is_news(ann, reached));
        assert_eq!(told, [true, false, true, false, true, false, true]);
        assert!(visits.is_news(bob, Some(9)));
    }
}
