//! Reactions: who likes what, and what they have bookmarked.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{ContentId, Entry, Listing, PageRequest, Reaction, UserId, ViewerReactions};

/// The outcome of a reaction, or of undoing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reacted {
    /// The request is in force and counted.
    Done,
    /// It was in force before; nothing changed.
    Already,
    /// There is no such content, or it was removed.
    UnknownContent,
}

/// Reactions.
#[async_trait]
pub trait Reactions: Send + Sync {
    /// One transaction: inserts the reaction, raises the content's counter, and gives the user's reactions this
    /// version, which they never had before. Idempotent.
    async fn react(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
        now_ms: i64,
    ) -> Result<Reacted, StoreError>;

    /// One transaction: deletes the reaction, lowers the counter, never below zero, and gives the user's reactions
    /// this version. Idempotent.
    async fn take_back(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
        version: i64,
    ) -> Result<Reacted, StoreError>;

    /// The user's reactions to `contents`, without contents they have not reacted to, in any order. One statement.
    async fn of_user(
        &self,
        user: UserId,
        contents: &[ContentId],
    ) -> Result<Vec<(ContentId, ViewerReactions)>, StoreError>;

    /// The users who like each content, newest like first, as `viewer` sees them. Order and statements as
    /// [`super::FollowLists`].
    async fn likers(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError>;

    /// The contents to which the user has reacted in this way, without removed ones, newest reaction first. One
    /// statement.
    async fn reacted_to(
        &self,
        user: UserId,
        reaction: Reaction,
        request: &PageRequest,
    ) -> Result<Listing<Entry>, StoreError>;
}
