//! Changes of profiles and open attributes.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Handle, UserId, account::attributes::Attributes};

/// Changes of a profile; `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileEdit {
    /// Display name.
    pub name: Option<String>,
    /// A short text; may be empty.
    pub bio: Option<String>,
    /// The URL of a picture; `Some(None)` removes it.
    pub avatar_url: Option<Option<String>>,
    /// All attributes; an empty set removes them.
    pub attributes: Option<Attributes>,
}

/// The outcome of a change of the handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renamed {
    /// The user has the handle now; perhaps they had it before.
    Done,
    /// Another user has it.
    Taken,
    /// There is no such user.
    NoUser,
}

/// Profiles.
///
/// Attributes are one JSON text beside the profile. They are read and written as a whole, never searched, and read
/// only on request, so pages of others do not carry them.
#[async_trait]
pub trait Profiles: Send + Sync {
    /// Applies `edit` at once and sets the profile's version to the newly drawn `version`; `false` if there is no such
    /// user.
    async fn edit(&self, user: UserId, edit: &ProfileEdit, version: i64) -> Result<bool, StoreError>;

    /// Changes the handle and sets the profile's version to the newly drawn `version`. The old handle is free at once.
    async fn rename(&self, user: UserId, handle: &Handle, version: i64) -> Result<Renamed, StoreError>;

    /// The attributes of `users`, without missing users, in any order. One statement.
    async fn attributes(&self, users: &[UserId]) -> Result<Vec<(UserId, Attributes)>, StoreError>;
}
