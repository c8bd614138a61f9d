//! Maps users of an external issuer to users here.

use async_trait::async_trait;

use super::{
    StoreError,
    new_account::{NewAccount, Registered},
    profiles::ProfileEdit,
};
use crate::domain::{Handle, UserId};

/// A user of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Digest of issuer and subject, at most 64 characters.
    pub digest: String,
    /// The issuer; at most 500 characters are kept.
    pub issuer: String,
    /// The subject; at most 255 characters are kept.
    pub subject: String,
}

/// The outcome of adopting a new identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// A new user exists for the identity.
    Created,
    /// Another request was faster; has its user.
    Known(UserId),
    /// No user was created, for a reason as in a registration.
    Not(Registered),
}

/// What the product says of a user whom it has named before.
#[derive(Debug, Clone, Default)]
pub struct Revision {
    /// The handle; `None` keeps it.
    pub handle: Option<Handle>,
    /// Changes of the profile.
    pub edit: ProfileEdit,
    /// Since when this is so, ms UTC; `None`: now, whatever was said before.
    pub as_of: Option<i64>,
    /// The version of the profile if it changes, newly drawn.
    pub version: i64,
}

/// The outcome of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revised {
    /// Something has changed.
    Changed(UserId),
    /// All of it was so already, or something newer was said before.
    Unchanged(UserId),
    /// Another user has the handle. Nothing has changed.
    HandleTaken,
    /// There is no such identity.
    Unknown,
    /// The account of its user was deleted.
    Deleted,
}

/// Identities.
#[async_trait]
pub trait Identities: Send + Sync {
    /// The user of an identity.
    async fn user_of(&self, digest: &str) -> Result<Option<UserId>, StoreError>;

    /// One transaction: registers a user as [`super::Accounts::register`] does, and links the identity. Of several
    /// simultaneous calls for one identity, one creates the user.
    async fn adopt(&self, account: &NewAccount, identity: &Identity) -> Result<Adopted, StoreError>;

    /// One transaction: changes the user of an identity as the product says, all of it or nothing. Revisions of one
    /// identity are made one after the other, and one whose `as_of` is older than that of an earlier one changes
    /// nothing. The profile's version changes only if the profile does.
    async fn revise(&self, digest: &str, revision: &Revision) -> Result<Revised, StoreError>;
}
