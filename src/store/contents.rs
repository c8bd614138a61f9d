//! Contents and the outboxes they form: each author's own entries, kept for ever.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Content, ContentId, Counters, Entry, PageRequest, Run, UserId, content::Draft};

/// A content to be published.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// Drawn by the caller; a collision is [`Published::IdTaken`].
    pub id: ContentId,
    /// Who publishes.
    pub author: UserId,
    /// What.
    pub draft: Draft,
    /// Milliseconds UTC.
    pub publish_time: i64,
    /// The outbox's version from then on: positive, freshly drawn, never used before.
    pub version: i64,
}

/// An outbox's versions about a change. A version stands for one state of the outbox and is never drawn again, not even
/// after SQL lost commits; 0 is that of an author who never published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionChange {
    /// Of the outbox that was changed.
    pub before: i64,
    /// Of what it became.
    pub after: i64,
}

/// How a publish ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// Committed; readers see it from now on.
    Created {
        /// What it did to the author's outbox.
        versions: VersionChange,
    },
    /// The idempotency key has been used, or the author has reposted the same before: this content was published then
    /// (it may have been removed since, if it was a key: `None`).
    Duplicate(Option<Content>),
    /// Draw another id.
    IdTaken,
    /// There is no such author.
    UnknownAuthor,
    /// What the draft refers to is not there for its author: none with this id, removed, a repost, or a block stands
    /// before it.
    UnknownReference,
}

/// How a removal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Gone from every timeline from now on.
    Gone {
        /// What was removed.
        entry: Entry,
        /// What it did to the author's outbox.
        versions: VersionChange,
    },
    /// There is none with this id, or it was removed before.
    Unknown,
    /// It is somebody else's.
    NotTheAuthor,
}

/// The entries of one list, an outbox or the replies to a content, in a window.
#[derive(Debug, Clone)]
pub struct OutboxPage {
    /// To the page's need.
    pub ahead: Run,
    /// On the near side of the bound (inclusive), to one entry; `None` without a bound.
    pub behind: Option<Run>,
}

/// An outbox's newest entries and the version at which they are true; what the outbox cache is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxHead {
    /// Whose.
    pub author: UserId,
    /// As [`crate::domain::timeline::plan::UncoveredAuthor::version`], of the same snapshot as the entries.
    pub version: i64,
    /// Newest first, without removed ones.
    pub entries: Vec<Entry>,
    /// Whether the outbox has no older entries than these.
    pub whole: bool,
}

/// Contents and outboxes.
#[async_trait]
pub trait Contents: Send + Sync {
    /// docs/protocol.md#p1, one transaction: the content, its counters, its search terms, its delivery record (always,
    /// whatever the edge modes), the author's version, publish interval and content count; a reply and a repost are
    /// counted at what they refer to. Nothing is proportional to followers. An author has one repost of a content at
    /// most, however many are published at once.
    async fn publish(&self, new: NewContent) -> Result<Published, StoreError>;

    /// One transaction: marks the content removed if `author` published it, deletes its search terms, lowers the
    /// counts, and makes `version` (as [`NewContent::version`]) the outbox's.
    async fn remove(
        &self,
        author: UserId,
        content: ContentId,
        version: i64,
        now_ms: i64,
    ) -> Result<Removed, StoreError>;

    /// Those of `ids` that exist, are not removed, and whose author stands in no block with `viewer` (`None`: nobody
    /// is signed in), in any order. One statement.
    async fn by_ids(&self, viewer: Option<UserId>, ids: &[ContentId]) -> Result<Vec<Content>, StoreError>;

    /// Counters of those of `ids` that exist. One statement.
    async fn counters(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, Counters)>, StoreError>;

    /// A page of each author's own entries, without removed ones; none if a block stands between the author and
    /// `viewer`. In the order of the authors, as often as they are given. One statement for up to 64 authors, without
    /// a bound for up to 128.
    async fn outbox(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError>;

    /// A page of what each author has published with pictures or video. In order and statements as
    /// [`Contents::outbox`].
    async fn with_media(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError>;

    /// Those of `ids` that are reposts, each with its original; removed ones too. It is the same at any time, and may
    /// be remembered: one statement at most, by primary key, for those that were not asked for before.
    async fn originals(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, ContentId)>, StoreError>;

    /// Those of `originals` that `author` has reposted and not taken back, each with the repost. One statement.
    async fn reposted_among(
        &self,
        author: UserId,
        originals: &[ContentId],
    ) -> Result<Vec<(ContentId, ContentId)>, StoreError>;

    /// A page of the replies to each content, without removed ones and those of authors who stand in a block with
    /// `viewer`. In order and statements as [`Contents::outbox`].
    async fn replies(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError>;

    /// What each content answers, what that answers, and so on: at most `limit`, the farthest first; removed ones too.
    /// In the order of the contents, as often as they are given. One statement.
    async fn ancestors(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError>;

    /// The newest `limit` entries of each author with the version of the same snapshot.
    async fn outbox_heads(&self, authors: &[UserId], limit: usize) -> Result<Vec<OutboxHead>, StoreError>;
}
