//! Read markers: how far each reader has read their timeline, on any device.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Position, UserId};

/// Read markers.
#[async_trait]
pub trait ReadMarkers: Send + Sync {
    /// Moves the reader's marker to `position` if that is newer. It never moves back, even if several devices move it
    /// at once. One statement.
    async fn advance(&self, reader: UserId, position: Position) -> Result<(), StoreError>;

    /// The position of the reader's marker; `None` if it has never moved. One statement.
    async fn marker(&self, reader: UserId) -> Result<Option<Position>, StoreError>;
}
