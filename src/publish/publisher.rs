//! The commands of an author: publish a post, a reply or a repost, and remove it. Each is one transaction. The
//! notifications after it may be lost.

use std::iter;

use futures_util::future::join_all;

use crate::{
    ambient::Ambient,
    domain::{Content, ContentId, Shown, UserId, content::Draft},
    rng::MAX_DRAWS,
    store::{
        Ports, StoreError,
        announcements::Announcement,
        contents::{NewContent, Published, Removed, VersionChange},
        outbox_cache::OutboxChange,
        queue::Message,
    },
    telemetry::{
        metrics::{PUBLISHED, REFUSED_UNINDEXED},
        notifications::note_lost,
    },
};

/// How a publish ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The content is in every follower's timeline now.
    Published(Content),
    /// The external id or the idempotency key was used before, or the same content reposted. Has that earlier content,
    /// or `None` if it has been removed.
    Repeated(Option<Content>),
    /// The external id, or the idempotency key, is that of a content that says something else.
    Conflict,
    /// The author does not exist (any more).
    UnknownAuthor,
    /// The referenced content does not exist for the author.
    UnknownReference,
}

/// How the removal of a content ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// It is gone from every timeline from now on.
    Removed,
    /// There is no such content, or it was removed before.
    Unknown,
    /// It belongs to another author.
    NotTheAuthor,
}

/// Why a publish failed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The store failed. If the connection broke, the content may have been published: retry with an idempotency key.
    #[error("the content could not be stored")]
    Store(#[from] StoreError),
    /// Too many long contents, of this author or of all, wait to be indexed for search. They are indexed within
    /// seconds.
    #[error("too many long contents were published just now: try again in a moment")]
    TooManyUnindexed,
    /// Every drawn id was taken.
    #[error("no free content id in {MAX_DRAWS} draws: check the clock of this machine")]
    NoFreeId,
}

/// Publishes and removes contents.
pub struct Publisher {
    ports: Ports,
    ambient: Ambient,
}

impl Publisher {
    /// A publisher of contents in `ports`.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), ambient: ambient.clone() }
    }

    /// Publishes `draft`. When this returns, the next read of any follower shows it. A reference to a repost becomes
    /// one to its original.
    pub async fn publish(&self, author: UserId, draft: Draft) -> Result<PublishOutcome, PublishError> {
        let draft = self.directed(author, draft).await?;
        for random in self.ambient.rng.draws() {
            let publish_time = self.ambient.now_ms();
            let id = ContentId::generate(publish_time, random);
            let new =
                NewContent { id, author, draft: draft.clone(), publish_time, version: self.ambient.rng.version() };
            match self.ports.contents.publish(new).await? {
                Published::Created { versions } => {
                    let Draft { text, media, reference, object, .. } = draft;
                    let kind = reference.kind();
                    let content = Content { id, author, kind, reference, text, media, publish_time, object };
                    self.notify_published(&content, versions).await;
                    return Ok(PublishOutcome::Published(content));
                }
                Published::Duplicate(content) => return Ok(PublishOutcome::Repeated(content)),
                Published::Conflict => return Ok(PublishOutcome::Conflict),
                Published::UnknownAuthor => return Ok(PublishOutcome::UnknownAuthor),
                Published::UnknownReference => return Ok(PublishOutcome::UnknownReference),
                Published::TooManyUnindexed => {
                    metrics::counter!(REFUSED_UNINDEXED).increment(1);
                    return Err(PublishError::TooManyUnindexed);
                }
                Published::IdTaken => {}
            }
        }
        Err(PublishError::NoFreeId)
    }

    /// Removes `author`'s repost of `content`, or of its original if `content` is a repost. Returns the original, and
    /// the repost if there was one.
    pub async fn take_back(
        &self,
        author: UserId,
        content: ContentId,
    ) -> Result<(ContentId, Option<ContentId>), StoreError> {
        let subjects = self.ports.contents.subjects(&[content]).await?;
        let original = subjects.first().map_or(content, |(_, subject)| *subject);
        let Some((_, repost)) = self.ports.contents.reposted_among(author, &[original]).await?.first().copied() else {
            return Ok((original, None));
        };
        let gone = self.remove(author, repost).await? == RemoveOutcome::Removed;
        Ok((original, gone.then_some(repost)))
    }

    /// Resolves what a repost repeats. That never changes, so it is read before the transaction, which checks that the
    /// original still exists.
    async fn directed(&self, author: UserId, draft: Draft) -> Result<Draft, StoreError> {
        let Some(content) = draft.reference.content() else { return Ok(draft) };
        let found = self.ports.contents.by_ids(Some(author), &[content]).await?;
        let subject = found.first().map_or(content, Content::subject);
        Ok(Draft { reference: draft.reference.directed_to(subject), ..draft })
    }

    /// Removes a content of `author`. When this returns, no read shows it.
    pub async fn remove(&self, author: UserId, content: ContentId) -> Result<RemoveOutcome, StoreError> {
        match self.ports.contents.remove(author, content, self.ambient.rng.version(), self.ambient.now_ms()).await? {
            Removed::Gone { entry, versions, counted } => {
                let change = OutboxChange::Removed(entry);
                let changed = iter::once(content).chain(counted).map(changed);
                let announcements = iter::once(Announcement::Removed { entry }).chain(changed);
                self.notify(versions, change, Message::ContentRemoved { entry }, announcements).await;
                Ok(RemoveOutcome::Removed)
            }
            Removed::Unknown => Ok(RemoveOutcome::Unknown),
            Removed::NotTheAuthor => Ok(RemoveOutcome::NotTheAuthor),
        }
    }

    async fn notify_published(&self, content: &Content, versions: VersionChange) {
        metrics::counter!(PUBLISHED).increment(1);
        let entry = content.entry();
        let change = OutboxChange::Published(entry);
        let published = Announcement::Published { entry, original: content.reference.repost_of() };
        let announcements = iter::once(published).chain(content.reference.content().map(changed));
        self.notify(versions, change, Message::ContentPublished { entry }, announcements).await;
    }

    /// Sends all notifications at once, best effort. Sweepers, cache misses and catch-ups make up for losses.
    async fn notify(
        &self,
        versions: VersionChange,
        change: OutboxChange,
        message: Message,
        announcements: impl Iterator<Item = Announcement>,
    ) {
        let cached = async {
            match &self.ports.outbox_cache {
                Some(cache) => cache.apply(change.entry().author, versions, change).await,
                None => Ok(()),
            }
        };
        let announced = announcements.map(async |announcement| self.ports.announcements.announce(&announcement).await);
        let messages = [message];
        let (cached, sent, announced) =
            futures_util::join!(cached, self.ports.queue.send(&messages), join_all(announced));
        note_lost("outbox cache", cached);
        note_lost("queue", sent);
        for announced in announced {
            note_lost("announcement", announced);
        }
    }
}

const fn changed(content: ContentId) -> Announcement {
    Announcement::Changed { shown: Shown::Content(content) }
}
