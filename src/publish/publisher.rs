//! The commands of an author: publish a post, a reply or a repost, and remove it. Each is one transaction; the
//! notifications after it may be lost.

use std::sync::Arc;

use crate::{
    clock::SharedClock,
    domain::{Content, ContentId, UserId, content::Draft},
    rng::{MAX_DRAWS, SharedRng},
    store::{
        Announcements, Contents, OutboxCache, Queue, StoreError,
        announcements::Announcement,
        contents::{NewContent, Published, Removed, VersionChange},
        outbox_cache::OutboxChange,
        queue::Message,
    },
    telemetry::{metrics::PUBLISHED, notifications::note_lost},
};

/// How a publish ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishOutcome {
    /// In every follower's timeline from now on.
    Published(Content),
    /// The idempotency key was used before, or the same reposted; this is what was published then, or `None` if it has
    /// been removed.
    Repeated(Option<Content>),
    /// The author does not exist (any more).
    UnknownAuthor,
    /// What it was to answer or to repeat is not there for the author.
    UnknownReference,
}

/// How a removal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoveOutcome {
    /// Gone from every timeline from now on.
    Removed,
    /// There is none, or none any more.
    Unknown,
    /// It is somebody else's.
    NotTheAuthor,
}

/// Why a publish failed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The store failed; if it was cut off, whether the content was published is unknown: try again with an
    /// idempotency key.
    #[error("the content could not be stored")]
    Store(#[from] StoreError),
    /// Every id drawn was taken.
    #[error("no free content id in {MAX_DRAWS} draws: check the clock of this machine")]
    NoFreeId,
}

/// Publishes and removes contents.
pub struct Publisher {
    contents: Arc<dyn Contents>,
    cache: Option<Arc<dyn OutboxCache>>,
    queue: Arc<dyn Queue>,
    announcements: Arc<dyn Announcements>,
    clock: SharedClock,
    rng: SharedRng,
}

impl Publisher {
    /// Does no I/O.
    #[must_use]
    pub fn new(
        contents: Arc<dyn Contents>,
        queue: Arc<dyn Queue>,
        announcements: Arc<dyn Announcements>,
        clock: SharedClock,
        rng: SharedRng,
    ) -> Self {
        Self { contents, cache: None, queue, announcements, clock, rng }
    }

    /// Keeps the outbox cache current, too.
    #[must_use]
    pub fn with_outbox_cache(mut self, cache: Option<Arc<dyn OutboxCache>>) -> Self {
        self.cache = cache;
        self
    }

    /// Publishes `draft`. When this returns, the next read of any follower shows it. Whatever refers to a repost
    /// refers to its original.
    pub async fn publish(&self, author: UserId, draft: Draft) -> Result<PublishOutcome, PublishError> {
        let draft = self.directed(author, draft).await?;
        for random in self.rng.draws() {
            let publish_time = self.clock.now_ms();
            let id = ContentId::draw(publish_time, random);
            let new = NewContent { id, author, draft: draft.clone(), publish_time, version: self.rng.version() };
            match self.contents.publish(new).await? {
                Published::Created { versions } => {
                    let Draft { text, media, reference, .. } = draft;
                    let content = Content { id, author, kind: reference.kind(), reference, text, media, publish_time };
                    self.tell_published(&content, versions).await;
                    return Ok(PublishOutcome::Published(content));
                }
                Published::Duplicate(content) => return Ok(PublishOutcome::Repeated(content)),
                Published::UnknownAuthor => return Ok(PublishOutcome::UnknownAuthor),
                Published::UnknownReference => return Ok(PublishOutcome::UnknownReference),
                Published::IdTaken => {}
            }
        }
        Err(PublishError::NoFreeId)
    }

    /// Takes back `author`'s repost of `content` or, if that is a repost, of its original; both are told, the repost
    /// only if there was one.
    pub async fn take_back(
        &self,
        author: UserId,
        content: ContentId,
    ) -> Result<(ContentId, Option<ContentId>), StoreError> {
        let original = self.contents.originals(&[content]).await?.first().map_or(content, |(_, original)| *original);
        let Some((_, repost)) = self.contents.reposted_among(author, &[original]).await?.first().copied() else {
            return Ok((original, None));
        };
        let gone = self.remove(author, repost).await? == RemoveOutcome::Removed;
        Ok((original, gone.then_some(repost)))
    }

    /// What a repost repeats never changes, so it is looked up before the transaction, which checks that the original
    /// is still there.
    async fn directed(&self, author: UserId, draft: Draft) -> Result<Draft, StoreError> {
        let Some(content) = draft.reference.content() else { return Ok(draft) };
        let found = self.contents.by_ids(Some(author), &[content]).await?;
        let subject = found.first().map_or(content, Content::subject);
        Ok(Draft { reference: draft.reference.directed_to(subject), ..draft })
    }

    /// Removes a content of `author`. When this returns, no read shows it.
    pub async fn remove(&self, author: UserId, content: ContentId) -> Result<RemoveOutcome, StoreError> {
        match self.contents.remove(author, content, self.rng.version(), self.clock.now_ms()).await? {
            Removed::Gone { entry, versions } => {
                let change = OutboxChange::Removed(entry);
                self.tell(versions, change, Message::ContentRemoved { entry }, Announcement::Removed { entry }).await;
                Ok(RemoveOutcome::Removed)
            }
            Removed::Unknown => Ok(RemoveOutcome::Unknown),
            Removed::NotTheAuthor => Ok(RemoveOutcome::NotTheAuthor),
        }
    }

    async fn tell_published(&self, content: &Content, versions: VersionChange) {
        metrics::counter!(PUBLISHED).increment(1);
        let entry = content.entry();
        let change = OutboxChange::Published(entry);
        let announcement = Announcement::Published { entry, original: content.reference.repost_of() };
        self.tell(versions, change, Message::ContentPublished { entry }, announcement).await;
    }

    /// Best effort, all at once: what is lost here is found again by sweepers, misses and catch-ups.
    async fn tell(&self, versions: VersionChange, change: OutboxChange, message: Message, announcement: Announcement) {
        let cached = async {
            match &self.cache {
                Some(cache) => cache.apply(change.entry().author, versions, change).await,
                None => Ok(()),
            }
        };
        let messages = [message];
        let (cached, sent, announced) =
            futures_util::join!(cached, self.queue.send(&messages), self.announcements.announce(&announcement));
        note_lost("outbox cache", cached);
        note_lost("queue", sent);
        note_lost("announcement", announced);
    }
}
