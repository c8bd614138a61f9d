//! The timeline engine: plan, fetch, merge. `domain::plan` decides, this module awaits.
//!
//! Every answer rests on one SQL snapshot: either the statement that reads everything, or the one that reads the inbox,
//! completed by cached outboxes that prove to be of exactly that snapshot.

mod outboxes;
mod visits;

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    domain::{
        Floor, Page, PageRequest, Position, UserId,
        plan::{Next, Snapshot, decide},
    },
    store::{Contents, OutboxCache, Queue, StoreError, Timelines, timelines::Depth},
    telemetry::metrics::{PAGE_SECONDS, PAGES},
};

pub use visits::Visits;

/// Reads timelines.
pub struct TimelineReader {
    timelines: Arc<dyn Timelines>,
    contents: Arc<dyn Contents>,
    cache: Option<Arc<dyn OutboxCache>>,
    visits: Visits,
}

impl TimelineReader {
    /// Without a `cache` every page is one statement that pulls what it must.
    pub fn new(
        timelines: Arc<dyn Timelines>,
        contents: Arc<dyn Contents>,
        cache: Option<Arc<dyn OutboxCache>>,
        queue: Arc<dyn Queue>,
    ) -> Self {
        Self { timelines, contents, cache, visits: Visits::new(queue) }
    }

    /// The page of `reader`'s timeline: exactly what it is at one instant during the call.
    pub async fn page(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        let started = Instant::now();
        let (page, pulled) = self.read(reader, request).await?;
        metrics::histogram!(PAGE_SECONDS).record(started.elapsed());
        self.visits.note(reader, pulled).await;
        Ok(page)
    }

    /// As [`Self::page`], for somebody who looks on: no visit is noted, nothing is measured as a reader's page.
    pub async fn look(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read(reader, request).await.map(|(page, _)| page)
    }

    /// As [`Self::look`], with everything read from SQL.
    pub async fn look_past_the_cache(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        self.read_everything(reader, request).await.map(|(page, _)| page)
    }

    /// The page, and whether an inbox that is filled better would have spared a pull.
    async fn read(&self, reader: UserId, request: &PageRequest) -> Result<(Page, bool), StoreError> {
        let Some(cache) = &self.cache else { return self.read_everything(reader, request).await };
        let snapshot = self.timelines.read(reader, request, Depth::Inbox).await?;
        let mut next = decide(request, &snapshot, None);
        if next == Next::PullOutboxes
            && !snapshot.floor.trusts_nothing()
            && let Some(outboxes) = outboxes::pull(&**cache, &*self.contents, &snapshot, request).await?
        {
            next = decide(request, &snapshot, Some(&outboxes));
        }
        match next {
            Next::Serve(page) => {
                count(if snapshot.uncovered.is_empty() { "inbox" } else { "outboxes" });
                let pulled = reaches_below(&page, snapshot.floor);
                Ok((page, pulled))
            }
            Next::PullOutboxes | Next::PullEverything => self.read_everything(reader, request).await,
        }
    }

    async fn read_everything(&self, reader: UserId, request: &PageRequest) -> Result<(Page, bool), StoreError> {
        count("everything");
        let snapshot: Snapshot = self.timelines.read(reader, request, Depth::Everything).await?;
        match decide(request, &snapshot, None) {
            Next::Serve(page) => {
                let pulled = reaches_below(&page, snapshot.floor);
                Ok((page, pulled))
            }
            next => Err(StoreError::Unreadable(format!("a complete snapshot that does not suffice ({next:?})"))),
        }
    }
}

/// Whether the page was read from below the floor: a fuller inbox would have held it.
fn reaches_below(page: &Page, floor: Floor) -> bool {
    let trusted = floor.trusted_from();
    trusted != Position::OLDEST && (!page.has_older || page.entries.iter().any(|entry| entry.position() < trusted))
}

fn count(way: &'static str) {
    metrics::counter!(PAGES, "way" => way).increment(1);
}
