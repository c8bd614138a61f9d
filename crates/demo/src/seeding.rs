//! What is written of a made-up world: users who have never signed in, with old contents, and who follows whom.

use std::collections::HashMap;

use domain::{ContentId, Counters, Reaction, Reference, UserId, account::profile::Registration, content::Draft};

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
    /// As in `follow` of the store's port `Follows`.
    pub incarnation: i64,
    /// Milliseconds UTC.
    pub followed_at: i64,
}
