//! Cards: contents and users with everything that clients show beside them, in one statement.

use std::sync::Arc;

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    Content, ContentId, Counters, Profile, UserId, ViewerReactions, account::profile::ProfileCounts,
    timeline::exclusion::ExclusionState,
};

/// The parts of a user to read besides the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UserParts {
    /// The counts of followers, followed users and contents.
    pub counts: bool,
    /// Whether the viewer follows them.
    pub following: bool,
    /// Whether the viewer has muted or blocked them, or hides from them.
    pub exclusions: bool,
}

impl UserParts {
    /// The parts of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            counts: self.counts || other.counts,
            following: self.following || other.following,
            exclusions: self.exclusions || other.exclusions,
        }
    }
}

/// The parts of a content to read besides the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContentParts {
    /// Its counters.
    pub counters: bool,
    /// The viewer's reactions to it.
    pub reactions: bool,
    /// Its author, with these parts.
    pub author: Option<UserParts>,
}

/// A user with the requested parts. Other parts are `None`, and so are those of the viewer without a viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCard {
    /// What others see of them.
    pub profile: Arc<Profile>,
    /// See [`UserParts::counts`].
    pub counts: Option<ProfileCounts>,
    /// See [`UserParts::following`].
    pub is_followed: Option<bool>,
    /// See [`UserParts::exclusions`].
    pub exclusions: Option<ExclusionState>,
}

/// A content with the requested parts, as [`UserCard`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentCard {
    /// The content.
    pub content: Arc<Content>,
    /// See [`ContentParts::counters`].
    pub counters: Option<Counters>,
    /// See [`ContentParts::reactions`].
    pub reactions: Option<ViewerReactions>,
    /// See [`ContentParts::author`].
    pub author: Option<UserCard>,
}

/// Contents and users with their cards. A card is of one instant.
#[async_trait]
pub trait Cards: Send + Sync {
    /// The cards of the contents that [`super::Contents::by_ids`] returns. One statement for every 16 384.
    async fn content_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[ContentId],
        parts: ContentParts,
    ) -> Result<Vec<ContentCard>, StoreError>;

    /// The cards of the users that [`super::Accounts::profiles`] returns. One statement for every 16 384.
    async fn user_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[UserId],
        parts: UserParts,
    ) -> Result<Vec<UserCard>, StoreError>;
}
