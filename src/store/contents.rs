//! Contents and the outboxes they form: each author's own entries, kept for ever.

use async_trait::async_trait;

use super::{Cards, Reactions, SearchTerms, SpreadCounts, StoreError};
use crate::domain::{
    Content, ContentId, Counters, Entry, PageRequest, Run, UserId, account::external::ExternalId, content::Draft,
};

/// A content to be published.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// Drawn by the caller; a collision is [`Published::IdTaken`].
    pub id: ContentId,
    /// The author.
    pub author: UserId,
    /// The checked draft.
    pub draft: Draft,
    /// Milliseconds UTC.
    pub publish_time: i64,
    /// The next version of the outbox: positive, newly drawn, never used before.
    pub version: i64,
}

impl NewContent {
    /// How its publish ends if `earlier` has its external id or its idempotency key, or is the repost that it would be.
    pub fn repeats(&self, earlier: Content) -> Published {
        if self.draft.external_id().is_some() && !self.draft.is_published_as(self.author, &earlier) {
            return Published::Conflict;
        }
        Published::Duplicate(Some(earlier))
    }
}

/// The versions of an outbox before and after a change. A version stands for one state of the outbox and is never
/// drawn again, even if SQL has lost commits; 0 means that the author has never published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionChange {
    /// The version before the change.
    pub before: i64,
    /// The version after it.
    pub after: i64,
}

/// The outcome of a publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// Committed: readers see it from now on.
    Created {
        /// The versions of the author's outbox.
        versions: VersionChange,
    },
    /// The external id or the idempotency key was used before, or the same content reposted. Has that content, or
    /// `None` if it was removed since. With an external id, it is the same in everything that the draft says.
    Duplicate(Option<Content>),
    /// The external id is that of a content that says something else, or the idempotency key that of a content with
    /// another external id.
    Conflict,
    /// Draw another id and try again.
    IdTaken,
    /// There is no such author.
    UnknownAuthor,
    /// The draft refers to a content that its author cannot refer to: unknown, removed, a repost, or behind a block.
    UnknownReference,
    /// As many contents as may wait to be indexed for search, and this one is too long to be indexed at once.
    TooManyUnindexed,
}

/// The outcome of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The content is gone from every timeline.
    Gone {
        /// The removed entry.
        entry: Entry,
        /// The versions of the author's outbox.
        versions: VersionChange,
        /// The content whose replies or reposts are one less.
        counted: Option<ContentId>,
    },
    /// There is no such content, or it was removed before.
    Unknown,
    /// Somebody else has published it.
    NotTheAuthor,
}

/// A page of one list: an outbox, or the replies to a content.
#[derive(Debug, Clone)]
pub struct OutboxPage {
    /// Entries beyond the bound, up to the page's need.
    pub ahead: Run,
    /// At most one entry at the bound or beyond it; `None` without a bound.
    pub behind: Option<Run>,
}

/// The newest entries of an outbox with its version, to fill the outbox cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxHead {
    /// The author.
    pub author: UserId,
    /// The version in the snapshot of the entries.
    pub version: i64,
    /// Newest first, without removed ones.
    pub entries: Vec<Entry>,
    /// Whether these are all entries of the outbox.
    pub whole: bool,
}

/// Contents and outboxes, and all that is kept of contents beside timelines.
#[async_trait]
pub trait Contents: Cards + Reactions + SearchTerms + SpreadCounts {
    /// docs/protocol.md#p1, one transaction: inserts the content, its counters, search terms and delivery record
    /// (whatever the edge modes), and updates the author's version, publish interval and content count. With more than
    /// [`crate::domain::limits::MAX_INDEXED_TERMS`] terms the content waits to be indexed instead. A reply or repost
    /// also raises a counter of the content that it refers to. No cost is proportional to followers. An author
    /// has at most one repost of a content, even if several are published at once. An external id is given once:
    /// no other content gets it, of any author or on any node, even after its content is removed.
    async fn publish(&self, new: NewContent) -> Result<Published, StoreError>;

    /// One transaction: marks the content as removed if `author` published it, deletes its search terms (many are left
    /// to the indexer), lowers the counts, and sets the outbox's version to `version` (as [`NewContent::version`]).
    async fn remove(
        &self,
        author: UserId,
        content: ContentId,
        version: i64,
        now_ms: i64,
    ) -> Result<Removed, StoreError>;

    /// The contents of `ids`, without missing and removed ones and those behind a block with `viewer` (`None`:
    /// anonymous), in any order. One statement.
    async fn by_ids(&self, viewer: Option<UserId>, ids: &[ContentId]) -> Result<Vec<Content>, StoreError>;

    /// The contents that have, or had, these external ids, in any order; removed ones included. An id never changes its
    /// content, so the answer may be remembered. One statement.
    async fn by_external_ids(&self, ids: &[ExternalId]) -> Result<Vec<(ExternalId, ContentId)>, StoreError>;

    /// Whether there is, or was, a content with this id. One statement.
    async fn was_published(&self, id: ContentId) -> Result<bool, StoreError>;

    /// The counters of `ids`, without missing contents. One statement.
    async fn counters(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, Counters)>, StoreError>;

    /// A page of each author's entries without removed ones; empty behind a block with `viewer`. In the order of the
    /// authors, including repetitions. One statement for up to 64 authors, without a bound for up to 128.
    async fn outbox(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError>;

    /// A page of each author's contents with pictures or video. Order and statements as [`Contents::outbox`].
    async fn with_media(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError>;

    /// Those of `ids` that exist, removed ones included, each with its subject: a repost's original, otherwise the
    /// content itself. The answer never changes, and may be remembered: an id is a time and random bits, so no other
    /// content ever gets it, even if SQL has lost commits. One statement, by primary key.
    async fn subjects(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, ContentId)>, StoreError>;

    /// The contents among `originals` that `author` has reposted now, each with the repost. One statement.
    async fn reposted_among(
        &self,
        author: UserId,
        originals: &[ContentId],
    ) -> Result<Vec<(ContentId, ContentId)>, StoreError>;

    /// A page of the replies to each content, without removed ones and those behind a block with `viewer`. Order and
    /// statements as [`Contents::outbox`].
    async fn replies(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError>;

    /// The ancestors of each content: what it replies to, what that replies to, and so on. At most `limit`, the
    /// farthest first, removed ones included. In the order of the contents, including repetitions. One statement.
    async fn ancestors(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError>;

    /// The newest `limit` entries of each author with the version, from one snapshot.
    async fn outbox_heads(&self, authors: &[UserId], limit: usize) -> Result<Vec<OutboxHead>, StoreError>;
}
