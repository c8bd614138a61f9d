//! Changes of profiles and open attributes.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Handle, UserId, account::attributes::Attributes};

/// What changes; `None` leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileEdit {
    /// Display name.
    pub name: Option<String>,
    /// A few words; may be empty.
    pub bio: Option<String>,
    /// A picture elsewhere; `Some(None)` takes it away.
    pub avatar_url: Option<Option<String>>,
    /// All of them; an empty set takes them away.
    pub attributes: Option<Attributes>,
}

/// How a change of the handle ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renamed {
    /// The user has it, perhaps had it already.
    Done,
    /// Somebody else has it.
    Taken,
    /// There is no such user.
    NoUser,
}

/// Profiles.
///
/// Attributes are one JSON text beside the profile: they are read and written as a whole, never searched, and only for
/// those who ask for them, so that pages of others carry none.
#[async_trait]
pub trait Profiles: Send + Sync {
    /// Changes what `edit` names, at once, and sets the profile's version to the fresh random `version`; `false` if
    /// there is no such user.
    async fn edit(&self, user: UserId, edit: &ProfileEdit, version: i64) -> Result<bool, StoreError>;

    /// Gives the user another handle, and the profile the fresh random `version`. The old handle is free at once.
    async fn rename(&self, user: UserId, handle: &Handle, version: i64) -> Result<Renamed, StoreError>;

    /// Attributes of those of `users` that exist, in any order. One statement.
    async fn attributes(&self, users: &[UserId]) -> Result<Vec<(UserId, Attributes)>, StoreError>;
}
