//! Announcements: events that every node receives at most once, best effort. Live subscriptions listen to them.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::StoreError;
use crate::domain::{ContentId, Entry, Position, SessionId, Shown, UserId};

/// Milliseconds in which a node announces the changes of one content or user once.
pub const CHANGED_MS: u64 = 1_000;

/// An event. Its wire format is as for [`super::queue::Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Announcement {
    /// A content was published.
    Published {
        /// The new entry.
        entry: Entry,
        /// The reposted content; `None` also from older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        original: Option<ContentId>,
    },
    /// A content was removed.
    Removed {
        /// The removed entry.
        entry: Entry,
    },
    /// Contents of the author came at once, at any position, as by an import. Listeners who watch the author read.
    OutboxChanged {
        /// The author.
        author: UserId,
    },
    /// What is shown of a content or a user has changed: its counts, its lists, or whether it is there. Sent once for
    /// all changes of [`CHANGED_MS`], with the first of them: listeners read that much later.
    Changed {
        /// The content or the user.
        shown: Shown,
    },
    /// The set of authors in the reader's timeline has changed: by a follow, an unfollow or an exclusion.
    FollowsChanged {
        /// The reader.
        reader: UserId,
        /// The author; `None` if there may be several, and from older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<UserId>,
        /// The change. A hint: listeners look at the current state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<RelationChange>,
    },
    /// The reader has moved their read marker.
    ReadMarkerMoved {
        /// The reader.
        reader: UserId,
        /// The new position.
        marker: Position,
    },
    /// A session has ended.
    SessionEnded {
        /// Its user.
        user: UserId,
        /// The session.
        session: SessionId,
    },
    /// A user has deleted their account.
    AccountDeleted {
        /// The user.
        user: UserId,
    },
    /// Announcements may have been lost. The adapter sends it itself: to its own listeners after a reconnect, and to
    /// every node after it could not send.
    Gap,
}

impl Announcement {
    /// Whom it is about, if it reaches only the nodes that want to hear of them.
    pub fn about(&self) -> Option<Shown> {
        match self {
            Self::Published { entry, .. } | Self::Removed { entry } => Some(entry.author.into()),
            Self::OutboxChanged { author } => Some((*author).into()),
            Self::Changed { shown } => Some(*shown),
            Self::FollowsChanged { reader, .. } | Self::ReadMarkerMoved { reader, .. } => Some((*reader).into()),
            Self::SessionEnded { .. } | Self::AccountDeleted { .. } | Self::Gap => None,
        }
    }
}

/// A change between a reader and an author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RelationChange {
    /// The reader has followed the author.
    Followed,
    /// The reader has unfollowed the author.
    Unfollowed,
    /// A mute, hide or block now keeps the author out of the timeline.
    Excluded,
    /// A mute, hide or block was lifted.
    Included,
    /// A kind from a later version.
    #[serde(other)]
    Other,
}

/// Announcements. Those of ended sessions and deleted accounts, and gaps, reach every node; the others reach the nodes
/// that want to hear of whom they are about ([`Announcement::about`]).
#[async_trait]
pub trait Announcements: Send + Sync {
    /// Announces to the nodes that want to hear of it, this one included. Best effort: after a failure, a
    /// [`Announcement::Gap`] follows as soon as it can be sent. Only the adapter announces gaps: passing one here does
    /// nothing.
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError>;

    /// All announcements that this node hears from now on. The channel is bounded; a slow receiver gets `Lagged`.
    fn listen(&self) -> broadcast::Receiver<Announcement>;

    /// Wants to hear of `shown`, until [`Self::unwant`] was called as often as this. Listeners may hear of others, too.
    /// By default nothing is done, because a node hears everything.
    fn want(&self, _shown: Shown) {}

    /// See [`Self::want`].
    fn unwant(&self, _shown: Shown) {}

    /// Returns once everything is heard about all that was wanted when it was called. It returns at once while
    /// nothing is heard because a connection broke: when it stands again, listeners get [`Announcement::Gap`], and a
    /// later call waits for the same.
    async fn settled(&self) {}
}
