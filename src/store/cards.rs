//! Cards: contents and users with everything that is shown beside them, in one statement.

use std::sync::Arc;

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    Content, ContentId, Counters, Profile, UserId, ViewerReactions, account::profile::ProfileCounts,
    timeline::exclusion::ExclusionState,
};

/// What is read of a user besides the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UserParts {
    /// The counts of followers, of the followed and of contents.
    pub counts: bool,
    /// Whether the viewer follows them.
    pub following: bool,
    /// Whether the viewer has muted or blocked them, or hides from them.
    pub exclusions: bool,
}

/// What is read of a content besides itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContentParts {
    /// Its counters.
    pub counters: bool,
    /// The viewer's reactions to it.
    pub reactions: bool,
    /// Its author, and what of them.
    pub author: Option<UserParts>,
}

/// A user and what was asked for; `None` for what was not, and for what is the viewer's where there is none.
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

/// A content and what was asked for, as [`UserCard`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentCard {
    /// Itself.
    pub content: Arc<Content>,
    /// See [`ContentParts::counters`].
    pub counters: Option<Counters>,
    /// See [`ContentParts::reactions`].
    pub reactions: Option<ViewerReactions>,
    /// See [`ContentParts::author`].
    pub author: Option<UserCard>,
}

/// Contents and users with what is shown beside them. What a card says is of one instant.
#[async_trait]
pub trait Cards: Send + Sync {
    /// Those of the contents that [`super::Contents::by_ids`] gives. One statement for every 16 384.
    async fn content_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[ContentId],
        parts: ContentParts,
    ) -> Result<Vec<ContentCard>, StoreError>;

    /// Those of the users that [`super::Accounts::profiles`] gives. One statement for every 16 384.
    async fn user_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[UserId],
        parts: UserParts,
    ) -> Result<Vec<UserCard>, StoreError>;
}
