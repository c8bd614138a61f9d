//! Users, their profiles and their credentials.

use async_trait::async_trait;

pub use super::new_account::{NewAccount, PasswordHash, Registered};
use super::{
    AccountDeletions, Attempts, Deactivations, Identities, People, Profiles, ReadMarkers, ServiceKeys, ServiceLog,
    Sessions, StoreError,
};
use crate::domain::{Handle, Profile, UserId, account::profile::ProfileCounts};

/// Users and credentials, and all that is kept of users alone.
#[async_trait]
pub trait Accounts:
    AccountDeletions
    + Attempts
    + Deactivations
    + Identities
    + People
    + Profiles
    + ReadMarkers
    + ServiceKeys
    + ServiceLog
    + Sessions
{
    /// One transaction: inserts the user, the credential, the counts, the inbox state (floor
    /// [`crate::domain::Floor::OPEN`], last seen now) and the user's own edge to themselves. That edge is in mode
    /// `Push`: own posts are part of the timeline, and a user without contents is covered from the start.
    async fn register(&self, account: NewAccount) -> Result<Registered, StoreError>;

    /// The id and password hash behind a handle.
    async fn credential(&self, handle: &Handle) -> Result<Option<(UserId, PasswordHash)>, StoreError>;

    /// The handle and password hash of a user; `None` if they have no password.
    async fn credential_of(&self, user: UserId) -> Result<Option<(Handle, PasswordHash)>, StoreError>;

    /// Replaces `old` with `new`. `false`, without a change, if the stored hash is another one.
    async fn replace_password(&self, user: UserId, old: &PasswordHash, new: &PasswordHash) -> Result<bool, StoreError>;

    /// The profiles of `ids`, without missing users, in any order. One statement.
    async fn profiles(&self, ids: &[UserId]) -> Result<Vec<Profile>, StoreError>;

    /// The user with that handle.
    async fn by_handle(&self, handle: &Handle) -> Result<Option<Profile>, StoreError>;

    /// The counts of `ids`, without missing users. A user's own edge to themselves is not counted. One statement.
    async fn counts(&self, ids: &[UserId]) -> Result<Vec<(UserId, ProfileCounts)>, StoreError>;

    /// The number of users; for `seed --if-empty` and `doctor`.
    async fn count(&self) -> Result<u64, StoreError>;
}
