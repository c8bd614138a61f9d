//! Read markers: up to where each reader has read their timeline, on whatever device.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Position, UserId};

/// Read markers.
#[async_trait]
pub trait ReadMarkers: Send + Sync {
    /// Moves the reader's marker to `position` if that is newer than where it stands; never back, however many devices
    /// move it at once. One statement.
    async fn advance(&self, reader: UserId, position: Position) -> Result<(), StoreError>;

    /// Where the reader's marker stands; `None` if it was never moved. One statement.
    async fn marker(&self, reader: UserId) -> Result<Option<Position>, StoreError>;
}
