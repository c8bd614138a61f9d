//! Tells upkeep that a reader has come, off the read's own path: at most once in a while for each reader.

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
    pulling: Cache<UserId, ()>,
}

impl Visits {
    /// Notes go to `queue`.
    pub fn new(queue: Arc<dyn Queue>) -> Self {
        let cache = |ttl| Cache::builder().max_capacity(REMEMBERED).time_to_live(ttl).build();
        Self { queue, seen: cache(ONCE_IN), pulling: cache(PULLING_ONCE_IN) }
    }

    /// `reader` has read a page, and `pulled` for it what an inbox could hold. Failing to tell costs reads their speed, nothing
    /// else; it is not tried again at once, so that a queue that is away does not slow every page.
    pub async fn note(&self, reader: UserId, pulled: bool) {
        let recent = if pulled { &self.pulling } else { &self.seen };
        if !recent.entry(reader).or_insert(()).is_fresh() {
            return;
        }
        if let Err(error) = self.queue.send(&[Message::ReaderSeen { reader }]).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a visit was not noted");
        }
    }
}
