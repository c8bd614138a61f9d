//! Announcements: what just happened, told to every node at most once and without a promise. Live subscriptions listen.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::StoreError;
use crate::domain::{Entry, Position, UserId};

/// What happened. On the wire as [`super::queue::Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Announcement {
    /// A content was published.
    Published {
        /// What, when, by whom.
        entry: Entry,
    },
    /// A content was removed.
    Removed {
        /// What, when it had been published, by whom.
        entry: Entry,
    },
    /// The reader's own follows have changed.
    FollowsChanged {
        /// Whose.
        reader: UserId,
    },
    /// The reader has read further.
    ReadMarkerMoved {
        /// Whose marker.
        reader: UserId,
        /// Where it stands.
        marker: Position,
    },
    /// Never sent: told by the adapter itself when announcements may have been lost (a connection was made anew).
    #[serde(skip)]
    Gap,
}

/// Announcements.
#[async_trait]
pub trait Announcements: Send + Sync {
    /// Tells every node, this one included. Best effort.
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError>;

    /// Everything announced from now on, bounded: a receiver that lags is told so by the channel.
    fn listen(&self) -> broadcast::Receiver<Announcement>;
}
