//! Reactions: who likes what, and what they have bookmarked.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{ContentId, Entry, Listing, PageRequest, Reaction, UserId, ViewerReactions};

/// How a reaction ends, or its taking back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reacted {
    /// It is so from now on, and counted.
    Done,
    /// It was so already; nothing changed.
    Already,
    /// There is no such content, or none any more.
    UnknownContent,
}

/// Reactions.
#[async_trait]
pub trait Reactions: Send + Sync {
    /// One transaction: the reaction and the content's counter. Idempotent.
    async fn react(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        now_ms: i64,
    ) -> Result<Reacted, StoreError>;

    /// One transaction: takes the reaction back and lowers the counter, never below zero. Idempotent.
    async fn take_back(&self, user: UserId, content: ContentId, reaction: Reaction) -> Result<Reacted, StoreError>;

    /// The user's own reactions to those of `contents` that they have reacted to, in any order. One statement.
    async fn of_user(
        &self,
        user: UserId,
        contents: &[ContentId],
    ) -> Result<Vec<(ContentId, ViewerReactions)>, StoreError>;

    /// Who likes each content, newest like first, as `viewer` sees it; in order and statements as
    /// [`super::FollowLists`].
    async fn likers(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError>;

    /// The contents to which the user has reacted so, without removed ones, newest reaction first. One statement.
    async fn reacted_to(
        &self,
        user: UserId,
        reaction: Reaction,
        request: &PageRequest,
    ) -> Result<Listing<Entry>, StoreError>;
}
