//! The commands of users on their own profile: edit it, change the handle.

use std::sync::Arc;

use crate::{
    domain::{
        Handle, UserId,
        account::{
            attributes::{Attributes, InvalidAttributes},
            profile::{InvalidProfile, check_avatar, check_bio, check_name},
        },
    },
    rng::SharedRng,
    store::{
        Profiles, StoreError,
        profiles::{ProfileEdit, Renamed},
    },
};

/// The unchecked changes to a profile. `None` keeps a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileChange {
    /// Display name.
    pub name: Option<String>,
    /// A few words; may be empty.
    pub bio: Option<String>,
    /// The URL of a picture; `Some(None)` removes it.
    pub avatar_url: Option<Option<String>>,
    /// All open attributes, as keys and values; an empty list removes them.
    pub attributes: Option<Vec<(String, String)>>,
}

/// Which value of a change is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidChange {
    /// A field of the profile.
    Profile(InvalidProfile),
    /// An open attribute.
    Attributes(InvalidAttributes),
}

/// How a change of the profile ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOutcome {
    /// All of it holds from now on.
    Edited,
    /// A value is invalid, and nothing has changed.
    Invalid(InvalidChange),
    /// There is no such user, or the account has been deleted.
    UnknownUser,
}

/// How a change of the handle ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameOutcome {
    /// The handle is the user's now; perhaps it was before.
    Renamed,
    /// It is no handle.
    Invalid(InvalidProfile),
    /// Somebody else has it.
    Taken,
    /// There is no such user, or the account has been deleted.
    UnknownUser,
}

/// Changes profiles.
pub struct ProfilesService {
    profiles: Arc<dyn Profiles>,
    rng: SharedRng,
}

impl ProfilesService {
    /// Over the port that keeps profiles.
    #[must_use]
    pub fn new(profiles: Arc<dyn Profiles>, rng: SharedRng) -> Self {
        Self { profiles, rng }
    }

    /// Applies all changes at once, or none.
    pub async fn edit(&self, user: UserId, change: ProfileChange) -> Result<EditOutcome, StoreError> {
        let edit = match checked(change) {
            Ok(edit) => edit,
            Err(fault) => return Ok(EditOutcome::Invalid(fault)),
        };
        let exists = self.profiles.edit(user, &edit, self.rng.version()).await?;
        Ok(if exists { EditOutcome::Edited } else { EditOutcome::UnknownUser })
    }

    /// Changes the user's handle. Others can take the old one at once.
    pub async fn rename(&self, user: UserId, handle: &str) -> Result<RenameOutcome, StoreError> {
        let handle = match Handle::try_new(handle) {
            Ok(handle) => handle,
            Err(fault) => return Ok(RenameOutcome::Invalid(fault)),
        };
        Ok(match self.profiles.rename(user, &handle, self.rng.version()).await? {
            Renamed::Done => RenameOutcome::Renamed,
            Renamed::Taken => RenameOutcome::Taken,
            Renamed::NoUser => RenameOutcome::UnknownUser,
        })
    }
}

/// The change, if all of it is valid.
pub(super) fn checked(change: ProfileChange) -> Result<ProfileEdit, InvalidChange> {
    let ProfileChange { name, bio, avatar_url, attributes } = change;
    let name = name.map(|name| check_name(&name)).transpose().map_err(InvalidChange::Profile)?;
    let bio = bio.map(|bio| check_bio(&bio)).transpose().map_err(InvalidChange::Profile)?;
    let avatar_url =
        avatar_url.map(|url| url.map(check_avatar).transpose()).transpose().map_err(InvalidChange::Profile)?;
    let attributes = attributes.map(Attributes::try_new).transpose().map_err(InvalidChange::Attributes)?;
    Ok(ProfileEdit { name, bio, avatar_url, attributes })
}
