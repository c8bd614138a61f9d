//! Read markers: how far each reader has read. A move on one device is announced to the others.

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
    /// `timelines` limit how far a marker can move.
    pub fn new(
        markers: Arc<dyn ReadMarkers>,
        announcements: Arc<dyn Announcements>,
        timelines: Arc<TimelineReader>,
    ) -> Self {
        Self { markers, announcements, timelines }
    }

    /// Moves the marker to `position`, and returns where it stands afterwards. It never moves back, nor beyond the
    /// newest entry of the timeline. `None` if it has never moved because the timeline is empty.
    pub async fn advance(&self, reader: UserId, position: Position) -> Result<Option<Position>, StoreError> {
        let newest = self.timelines.read_raw(reader, &PageRequest::newest(PageSize::ONE)).await?;
        if let Some(newest) = newest.entries.first().map(Entry::position) {
            self.markers.advance(reader, position.min(newest)).await?;
        }
        let Some(marker) = self.markers.marker(reader).await? else { return Ok(None) };
        let moved = Announcement::ReadMarkerMoved { reader, marker };
        note_lost("announcement", self.announcements.announce(&moved).await);
        Ok(Some(marker))
    }

    /// Where the marker stands; `None` if it has never moved.
    pub async fn of(&self, reader: UserId) -> Result<Option<Position>, StoreError> {
        self.markers.marker(reader).await
    }
}
