//! The timeline engine: plan, fetch, merge. `domain::plan` decides, this module awaits.
//!
//! Every answer rests on one SQL snapshot: either the statement that reads everything, or the one that reads the inbox,
//! completed by cached outboxes that prove to be of exactly that snapshot.

mod marker;
mod outboxes;
mod visits;

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    domain::{
        Direction, Floor, Page, PageRequest, PageSize, Position, UserId,
        plan::{Next, Snapshot, decide},
    },
    store::{Contents, OutboxCache, Queue, StoreError, Timelines, timelines::Depth},
    telemetry::metrics::{PAGE_SECONDS, PAGES},
};

pub use marker::ReadMarker;
pub use visits::Visits;

/// A number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Up to what was asked for.
    pub count: usize,
    /// Whether there are more than that.
    pub capped: bool,
}

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

    /// How many entries of `reader`'s timeline are newer than `position`, counted up to `max`, and whether there are more: exactly what it is at one
    /// instant during the call. Counting is not visiting.
    pub async fn count_newer(&self, reader: UserId, position: Position, max: PageSize) -> Result<Count, StoreError> {
        let request = PageRequest { direction: Direction::Newer, bound: Some(position), size: max };
        let (page, _) = self.read(reader, &request).await?;
        Ok(Count { count: page.entries.len(), capped: page.has_newer })
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
