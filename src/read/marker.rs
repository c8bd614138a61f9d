//! The reader's marker: up to where they have read. Moved on one device, it is heard of on all others.

use std::sync::Arc;

use crate::{
    domain::{Position, UserId},
    store::{Announcements, ReadMarkers, StoreError, announcements::Announcement},
    telemetry::metrics::NUDGES_LOST,
};

/// Moves and reads markers.
pub struct ReadMarker {
    markers: Arc<dyn ReadMarkers>,
    announcements: Arc<dyn Announcements>,
}

impl ReadMarker {
    /// Both parts are shared with the rest of the house.
    pub fn new(markers: Arc<dyn ReadMarkers>, announcements: Arc<dyn Announcements>) -> Self {
        Self { markers, announcements }
    }

    /// The reader has read up to `position`. Returns where the marker stands then: there, or at what another device has read already.
    pub async fn advance(&self, reader: UserId, position: Position) -> Result<Position, StoreError> {
        self.markers.advance(reader, position).await?;
        let marker = self.markers.marker(reader).await?.unwrap_or(position);
        let moved = Announcement::ReadMarkerMoved { reader, marker };
        if let Err(error) = self.announcements.announce(&moved).await {
            metrics::counter!(NUDGES_LOST, "to" => "announcement").increment(1);
            tracing::warn!(error = &error as &dyn std::error::Error, to = "announcement", "a nudge was lost");
        }
        Ok(marker)
    }

    /// Where the marker stands; `None` if it was never moved.
    pub async fn of(&self, reader: UserId) -> Result<Option<Position>, StoreError> {
        self.markers.marker(reader).await
    }
}
