//! The commands of a reader on a content: like it, bookmark it, undo either. All are idempotent.

use std::sync::Arc;

use crate::{
    ambient::Ambient,
    domain::{Content, ContentId, Reaction, UserId},
    store::{Announcements, Contents, Ports, StoreError, announcements::Announcement, reactions::Reacted},
    telemetry::notifications::note_lost,
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
    announcements: Arc<dyn Announcements>,
    ambient: Ambient,
}

impl Reacting {
    /// Commands on the contents in `ports`, which announce what they change.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        let (contents, announcements) = (ports.contents.clone(), ports.announcements.clone());
        Self { contents, announcements, ambient: ambient.clone() }
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
            Reacted::Done => {
                self.announce(content, reaction).await;
                Ok(ReactionOutcome::Done(Some(seen)))
            }
            Reacted::Already => Ok(ReactionOutcome::Done(Some(seen))),
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
            Reacted::Done => {
                self.announce(content, reaction).await;
                Ok(ReactionOutcome::Done(seen))
            }
            Reacted::Already if seen.is_some() => Ok(ReactionOutcome::Done(seen)),
            Reacted::Already | Reacted::UnknownContent => Ok(ReactionOutcome::UnknownContent),
        }
    }

    /// Best effort. Bookmarks are nobody else's business.
    async fn announce(&self, content: ContentId, reaction: Reaction) {
        if reaction == Reaction::Like {
            let announcement = Announcement::Changed { shown: content.into() };
            note_lost("announcement", self.announcements.announce(&announcement).await);
        }
    }

    async fn seen(&self, user: UserId, content: ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.contents.by_ids(Some(user), &[content]).await?.pop())
    }
}
