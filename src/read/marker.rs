//! The read marker: how far a reader has read. Moving it on one device announces it to the others.

use std::sync::Arc;

use super::TimelineReader;
use crate::{
    domain::{Entry, PageRequest, PageSize, Position, UserId},
    store::{Announcements, ReadMarkers, StoreError, announcements::Announcement},
    telemetry::notifications::note_lost,
};

/// Moves and reads markers.
pub struct ReadMarker {
    markers: Arc<dyn ReadMarkers>,
    announcements: Arc<dyn Announcements>,
    timelines: Arc<TimelineReader>,
}

impl ReadMarker {
    /// `timelines`: those that are marked.
    pub fn new(
        markers: Arc<dyn ReadMarkers>,
        announcements: Arc<dyn Announcements>,
        timelines: Arc<TimelineReader>,
    ) -> Self {
        Self { markers, announcements, timelines }
    }

    /// The reader has read up to `position`. Returns where the marker stands then: there, at the newest entry of the
    /// reader's timeline if that is older, or at what another device has read already. `None` if it was never moved:
    /// the timeline is empty.
    pub async fn advance(&self, reader: UserId, position: Position) -> Result<Option<Position>, StoreError> {
        let newest = self.timelines.look(reader, &PageRequest::newest(PageSize::ONE)).await?;
        if let Some(newest) = newest.entries.first().map(Entry::position) {
            self.markers.advance(reader, position.min(newest)).await?;
        }
        let Some(marker) = self.markers.marker(reader).await? else { return Ok(None) };
        let moved = Announcement::ReadMarkerMoved { reader, marker };
        note_lost("announcement", self.announcements.announce(&moved).await);
        Ok(Some(marker))
    }

    /// Where the marker stands; `None` if it was never moved.
    pub async fn of(&self, reader: UserId) -> Result<Option<Position>, StoreError> {
        self.markers.marker(reader).await
    }
}
