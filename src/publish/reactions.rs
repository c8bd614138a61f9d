//! The commands of a reader on a content: like it, bookmark it, take either back. All are idempotent.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{Content, ContentId, Reaction, UserId},
    store::{Contents, Reactions, StoreError, reactions::Reacted},
};

/// How a reaction ends, or its taking back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReactionOutcome {
    /// It is so from now on, perhaps was before. The content as the user saw it just before; `None` if a block hides
    /// it from them.
    Done(Option<Content>),
    /// The user sees no such content.
    UnknownContent,
}

/// Reacts to contents.
pub struct Reacting {
    contents: Arc<dyn Contents>,
    reactions: Arc<dyn Reactions>,
    clock: SharedClock,
}

impl Reacting {
    /// `contents` says what a user sees, `reactions` keeps what they say about it.
    #[must_use]
    pub fn new(contents: Arc<dyn Contents>, reactions: Arc<dyn Reactions>, clock: SharedClock) -> Self {
        Self { contents, reactions, clock }
    }

    /// Reacts to a content that the user sees. One behind a block is unknown, like one that is gone.
    pub async fn react(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
    ) -> Result<ReactionOutcome, StoreError> {
        let Some(seen) = self.seen(user, content).await? else { return Ok(ReactionOutcome::UnknownContent) };
        match self.reactions.react(user, content, reaction, self.clock.now_ms()).await? {
            Reacted::Done | Reacted::Already => Ok(ReactionOutcome::Done(Some(seen))),
            Reacted::UnknownContent => Ok(ReactionOutcome::UnknownContent),
        }
    }

    /// Takes the user's reaction back, also behind a block. Without a reaction a content behind a block is unknown.
    pub async fn take_back(
        &self,
        user: UserId,
        content: ContentId,
        reaction: Reaction,
    ) -> Result<ReactionOutcome, StoreError> {
        let seen = self.seen(user, content).await?;
        match self.reactions.take_back(user, content, reaction).await? {
            Reacted::Done => Ok(ReactionOutcome::Done(seen)),
            Reacted::Already if seen.is_some() => Ok(ReactionOutcome::Done(seen)),
            Reacted::Already | Reacted::UnknownContent => Ok(ReactionOutcome::UnknownContent),
        }
    }

    async fn seen(&self, user: UserId, content: ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.contents.by_ids(Some(user), &[content]).await?.pop())
    }
}
