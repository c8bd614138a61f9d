//! Announcements: events of this moment, sent to every node at most once, best effort. Live subscriptions listen to
//! them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::StoreError;
use crate::domain::{ContentId, Entry, Position, SessionId, UserId};

/// What happened. On the wire as [`super::queue::Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Announcement {
    /// A content was published.
    Published {
        /// What, when, by whom.
        entry: Entry,
        /// What it reposts; older versions do not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        original: Option<ContentId>,
    },
    /// A content was removed.
    Removed {
        /// What, when it had been published, by whom.
        entry: Entry,
    },
    /// Whom the reader's timeline shows has changed: by a follow, an unfollow, or what else keeps an author out of it.
    FollowsChanged {
        /// Whose timeline.
        reader: UserId,
        /// Whom it is about; `None` from older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<UserId>,
        /// What has happened; listeners look at what is, this is a hint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<RelationChange>,
    },
    /// The reader has read further.
    ReadMarkerMoved {
        /// Whose marker.
        reader: UserId,
        /// Where it stands.
        marker: Position,
    },
    /// A session has ended: what it signed in is signed in no more.
    SessionEnded {
        /// Whose.
        user: UserId,
        /// Which.
        session: SessionId,
    },
    /// A user has deleted their account: nothing of theirs is shown any more.
    AccountDeleted {
        /// Whose.
        user: UserId,
    },
    /// Announcements may have been lost. Told by the adapter itself: to its own listeners when a connection was made
    /// anew, to every node when it could not send.
    Gap,
}

/// What has happened between a reader and an author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RelationChange {
    /// The reader follows the author.
    Followed,
    /// The reader follows the author no more.
    Unfollowed,
    /// The author's contents are kept out of the timeline, whether followed or not.
    Excluded,
    /// What kept them out has been lifted.
    Included,
    /// What a later version says.
    #[serde(other)]
    Other,
}

/// Announcements.
#[async_trait]
pub trait Announcements: Send + Sync {
    /// Tells every node, this one included. Best effort: what could not be told is followed by a [`Announcement::Gap`]
    /// once that can be. A gap is the adapter's to tell: announcing one does nothing.
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError>;

    /// Everything announced from now on, bounded: a receiver that lags learns it from the channel.
    fn listen(&self) -> broadcast::Receiver<Announcement>;
}
