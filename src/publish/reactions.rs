//! The commands of a reader on a content: like it, bookmark it, undo either. All are idempotent.

use std::sync::Arc;

use crate::{
    ambient::Ambient,
    domain::{Content, ContentId, Reaction, UserId},
    store::{Contents, StoreError, reactions::Reacted},
};

/// The outcome of a reaction, or of undoing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReactionOutcome {
    /// The request is in force; perhaps it was before. Has the content as the user saw it just before, or `None`
    /// behind a block.
    Done(Option<Content>),
    /// The user sees no such content.
    UnknownContent,
}

/// Reacts to contents.
pub struct Reacting {
    contents: Arc<dyn Contents>,
    ambient: Ambient,
}

impl Reacting {
    /// `contents` decides which contents a user sees, and keeps the reactions.
    pub fn new(contents: Arc<dyn Contents>, ambient: &Ambient) -> Self {
        Self { contents, ambient: ambient.clone() }
    }

    /// Reacts to a content that the user sees. A content behind a block is unknown, like a removed one.
    pub async fn react(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
    ) -> Result<ReactionOutcome, StoreError> {
        let Some(seen) = self.seen(user, content).await? else { return Ok(ReactionOutcome::UnknownContent) };
        match self.contents.react(user, content, reaction, self.ambient.rng.version(), self.ambient.now_ms()).await? {
            Reacted::Done | Reacted::Already => Ok(ReactionOutcome::Done(Some(seen))),
            Reacted::UnknownContent => Ok(ReactionOutcome::UnknownContent),
        }
    }

    /// Undoes the user's reaction, also behind a block. Without a reaction a content behind a block is unknown.
    pub async fn take_back(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
    ) -> Result<ReactionOutcome, StoreError> {
        let seen = self.seen(user, content).await?;
        match self.contents.take_back(user, content, reaction, self.ambient.rng.version()).await? {
            Reacted::Done => Ok(ReactionOutcome::Done(seen)),
            Reacted::Already if seen.is_some() => Ok(ReactionOutcome::Done(seen)),
            Reacted::Already | Reacted::UnknownContent => Ok(ReactionOutcome::UnknownContent),
        }
    }

    async fn seen(&self, user: UserId, content: ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.contents.by_ids(Some(user), &[content]).await?.pop())
    }
}
