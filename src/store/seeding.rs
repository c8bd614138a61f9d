//! Bulk inserts of a generated world: users who have never signed in, with old contents. It is a separate port because
//! its shortcut is valid only for such users.
//!
//! No delivery records are needed (docs/coverage.md). A content may be missing from an inbox as long as it lies below
//! its reader's floor. Every seeded reader is off, which reads as a floor above everything. Nobody else can follow an
//! author before the author's row exists, and that row appears together with all of the author's contents. So each
//! step is exact by itself, even beside a running service, and an interrupted run leaves a consistent database.

use std::collections::HashMap;

use async_trait::async_trait;

use super::{StoreError, accounts::PasswordHash};
use crate::domain::{ContentId, Counters, Reaction, Reference, UserId, account::profile::Registration, content::Draft};

/// A new user with everything they have published.
#[derive(Debug, Clone)]
pub struct SeedAuthor {
    /// Unique.
    pub id: UserId,
    /// Checked; the handle is unique.
    pub registration: Registration,
    /// Milliseconds UTC; before every content.
    pub created_at: i64,
    /// Milliseconds UTC.
    pub last_seen: i64,
    /// Positive and newly drawn: the incarnation of the user's edge to themselves, and the version of a non-empty
    /// outbox.
    pub incarnation: i64,
    /// In any order.
    pub contents: Vec<SeedContent>,
}

/// A content from the past.
#[derive(Debug, Clone)]
pub struct SeedContent {
    /// Unique.
    pub id: ContentId,
    /// Checked. The content that it refers to is in the same call and is not a repost. An author has at most one
    /// repost of a content.
    pub draft: Draft,
    /// Milliseconds UTC.
    pub publish_time: i64,
    /// Reactions of others, each user's once.
    pub reactions: Vec<SeedReaction>,
}

/// A like or bookmark by a seeded user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedReaction {
    /// The user.
    pub user: UserId,
    /// The kind.
    pub reaction: Reaction,
    /// Milliseconds UTC.
    pub at: i64,
}

/// A seeded content refers to one that is not written in the same call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("content {0} has a reply or a repost, but is not written in the same call")]
pub struct NotTogether(ContentId);

/// The author and the counters of each content, counted from the rows.
pub fn tally(authors: &[SeedAuthor]) -> Result<HashMap<ContentId, (UserId, Counters)>, NotTogether> {
    let contents = || authors.iter().flat_map(|author| author.contents.iter().map(move |content| (author.id, content)));
    let mut tally: HashMap<ContentId, (UserId, Counters)> =
        contents().map(|(author, content)| (content.id, (author, Counters::default()))).collect();
    let mut count = |content, add: fn(&mut Counters) -> &mut i64| {
        let (_, counters) = tally.get_mut(&content).ok_or(NotTogether(content))?;
        *add(counters) += 1;
        Ok(())
    };
    for (_, content) in contents() {
        match content.draft.reference {
            Reference::Nothing => {}
            Reference::ReplyTo(other) => count(other, |of| &mut of.replies)?,
            Reference::RepostOf(other) => count(other, |of| &mut of.reposts)?,
        }
        for SeedReaction { reaction, .. } in &content.reactions {
            match reaction {
                Reaction::Like => count(content.id, |of| &mut of.likes)?,
                Reaction::Bookmark => count(content.id, |of| &mut of.bookmarks)?,
            }
        }
    }
    Ok(tally)
}

/// A follow edge between two seeded users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedFollow {
    /// Who follows; not the author.
    pub follower: UserId,
    /// Who is followed.
    pub author: UserId,
    /// As in [`super::Follows::follow`].
    pub incarnation: i64,
    /// Milliseconds UTC.
    pub followed_at: i64,
}

/// Bulk writes of a world, in this order: authors, follows, credentials, statistics. Counts are right after every call.
#[async_trait]
pub trait Seeding: Send + Sync {
    /// Call it first: in an empty store it marks the search index as complete, because every seeded content is written
    /// with its terms.
    async fn prepare(&self) -> Result<(), StoreError>;

    /// One transaction: inserts users who are off (floor [`crate::domain::Floor::Off`]), their edges to themselves in
    /// mode `Push`, their search keys, their contents with reactions, counters, terms and outbox versions, and their
    /// counts. Without credentials nobody can sign in, be seen or get a floor yet. A taken id or handle, or a
    /// reference outside of the call ([`NotTogether`]), is [`StoreError::Refused`], and nothing is written.
    async fn add_authors(&self, authors: &[SeedAuthor]) -> Result<(), StoreError>;

    /// One transaction: inserts edges in mode `Push` (their readers are off, so they claim nothing) and raises the
    /// counts of both sides. Each pair once, both users from [`Seeding::add_authors`], the follower still without
    /// credentials.
    async fn add_follows(&self, follows: &[SeedFollow]) -> Result<(), StoreError>;

    /// One transaction: lets these users sign in. Existing passwords stay.
    async fn open_accounts(&self, users: &[UserId], password: &PasswordHash) -> Result<(), StoreError>;

    /// Takes the planner's statistics of what has been written. A server does so by itself some seconds later, and not
    /// at all if it stops before that.
    async fn take_statistics(&self) -> Result<(), StoreError>;
}
