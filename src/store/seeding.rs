//! Bulk inserts of a generated world: users who have never signed in, with old contents; and what its people must know
//! of the others. It is a separate port because its shortcut is valid only for such users.
//!
//! No delivery records are needed (docs/coverage.md). A content may be missing from an inbox as long as it lies below
//! its reader's floor. Every seeded reader is off, which reads as a floor above everything. Nobody else can follow an
//! author before the author's row exists, and that row appears together with all of the author's contents. So each
//! step is exact by itself, even beside a running service, and an interrupted run leaves a consistent database.

use async_trait::async_trait;

use super::{StoreError, accounts::PasswordHash};
use crate::domain::UserId;

pub use demo::seeding::{NotTogether, SeedAuthor, SeedContent, SeedFollow, SeedReaction, tally};

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

    /// Those with a session, and when each was last seen (ms UTC), the latest first; at most `limit`. One statement.
    async fn visitors(&self, limit: u32) -> Result<Vec<(UserId, i64)>, StoreError>;

    /// The number of contents published after `since_ms`, removed ones included. One statement, which reads them all.
    async fn published_since(&self, since_ms: i64) -> Result<u64, StoreError>;
}
