//! A made-up world, written in bulk: users who have never been here, with contents from long ago. Apart from the other
//! ports because it takes a short cut that only holds for such users.
//!
//! Why no delivery record is needed (docs/coverage.md): a content may miss from an inbox as long as it lies below its
//! reader's floor. Every reader written here is off, which reads as a floor above everything, and nobody else can
//! follow an author before the author's row exists, which appears together with all of the author's contents. So each
//! step is exact for itself, also beside a running service, and whoever stops half-way leaves a consistent database.

use std::collections::HashMap;

use async_trait::async_trait;

use super::{StoreError, accounts::PasswordHash};
use crate::domain::{ContentId, Counters, Reaction, Reference, UserId, account::profile::Registration, content::Draft};

/// A user who never was here before, with everything they have published.
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
    /// Positive, freshly drawn: identifies the user's edge to themselves, and is the version of an outbox that holds
    /// anything.
    pub incarnation: i64,
    /// In any order.
    pub contents: Vec<SeedContent>,
}

/// A content from the past.
#[derive(Debug, Clone)]
pub struct SeedContent {
    /// Unique.
    pub id: ContentId,
    /// Checked. What it answers or repeats is in the same call and no repost; of an author's reposts of one content
    /// there is one.
    pub draft: Draft,
    /// Milliseconds UTC.
    pub publish_time: i64,
    /// What others have made of it: each reaction of a user once.
    pub reactions: Vec<SeedReaction>,
}

/// A like, or a bookmark, of a seeded user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedReaction {
    /// Whose.
    pub user: UserId,
    /// Which.
    pub reaction: Reaction,
    /// Milliseconds UTC.
    pub at: i64,
}

/// A seeded content answers or repeats one that is not written with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("content {0} is answered or repeated, but not written in the same call")]
pub struct NotTogether(ContentId);

/// Each content's author, and its counters: as many as there are of what is counted.
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

/// Bulk writes of a world, in this order: authors, follows, credentials. Counts are right after every call.
#[async_trait]
pub trait Seeding: Send + Sync {
    /// Before everything else: if there is no content yet, the search has nothing to take in afterwards, as every
    /// content is written with its terms.
    async fn prepare(&self) -> Result<(), StoreError>;

    /// One transaction: users who are off (floor [`crate::domain::Floor::Off`]), their edges to themselves in mode
    /// `Push`, what they are found by, their contents with reactions, counters, search terms and outbox versions, their
    /// counts. No credentials: nobody can sign in, hence be seen, hence have a floor, yet. An id or a handle that is
    /// taken, or an answer without what it answers ([`NotTogether`]), is [`StoreError::Refused`], and nothing is
    /// written.
    async fn add_authors(&self, authors: &[SeedAuthor]) -> Result<(), StoreError>;

    /// One transaction: the edges, in mode `Push` (their readers are off, so that this claims nothing), and the counts
    /// of both sides. Each pair once; both users from [`Seeding::add_authors`], the follower still without
    /// credentials.
    async fn add_follows(&self, follows: &[SeedFollow]) -> Result<(), StoreError>;

    /// One transaction: from now on these users can sign in. Those that can already keep their password.
    async fn open_accounts(&self, users: &[UserId], password: &PasswordHash) -> Result<(), StoreError>;
}
