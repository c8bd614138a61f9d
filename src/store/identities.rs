//! Maps users of an external issuer, or of the product, to users here.

use async_trait::async_trait;

use super::{
    StoreError,
    new_account::{NewAccount, Registered},
    profiles::ProfileEdit,
};
use crate::domain::{
    Handle, UserId,
    account::profile::{InvalidProfile, Registration},
    limits::MAX_NAME_CHARS,
};

/// A handle that nobody has chosen. It is random, so that nobody can derive a user's handle from their external id.
pub fn made_handle(random: u64) -> String {
    format!("user_{}", handle_digits(random))
}

/// Twelve hexadecimal digits, which make a handle unique.
pub fn handle_digits(random: u64) -> String {
    format!("{:012x}", random >> 16)
}

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

/// Whether a user may sign in and be acted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Yes.
    Active,
    /// Not until they are reactivated.
    Deactivated,
    /// The account was deleted.
    Deleted,
}

/// Whose an identity is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identified {
    /// See [`Identity::digest`].
    pub digest: String,
    /// The user.
    pub user: UserId,
    /// Theirs.
    pub standing: Standing,
    /// See [`Revision::as_of`]; 0: nothing was said with a time.
    pub as_of: i64,
}

/// What an issuer, or the product, has to do with a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The user.
    pub user: UserId,
    /// What it calls them.
    pub subject: Option<String>,
    /// Whether they are kept out for now.
    pub is_deactivated: bool,
}

/// An identity and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Its digest.
    pub digest: String,
    /// The user.
    pub user: UserId,
    /// What the issuer calls the user.
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
    /// Since when this is so, ms UTC; `None`: since `now_ms`, whatever was said before.
    pub as_of: Option<i64>,
    /// When it is said, ms UTC.
    pub now_ms: i64,
    /// The version of the profile if it changes, newly drawn.
    pub version: i64,
}

impl Revision {
    /// How a new user begins, to be tried in turn until a handle is free: with the handle that was chosen, or with
    /// those that [`made_handle`] makes of `random`.
    pub fn registrations(&self, random: [u64; 2]) -> Result<Vec<Registration>, InvalidProfile> {
        let handles = match &self.handle {
            Some(handle) => vec![handle.as_str().to_owned()],
            None => random.map(made_handle).into(),
        };
        handles.iter().map(|handle| self.registration(handle)).collect()
    }

    fn registration(&self, handle: &str) -> Result<Registration, InvalidProfile> {
        let edit = &self.edit;
        let name: String = edit.name.as_deref().unwrap_or(handle).chars().take(MAX_NAME_CHARS).collect();
        let avatar = edit.avatar_url.clone().flatten();
        Registration::try_new(handle, &name, edit.bio.as_deref().unwrap_or_default(), avatar)
            .map_err(|refused| refused.0.first().copied().unwrap_or(InvalidProfile::Handle))
    }
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

/// The outcome of giving a user another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebound {
    /// It is theirs; perhaps it was before.
    Done,
    /// It is another user's, whose account exists.
    Taken,
    /// There is no such user.
    NoUser,
}

/// Identities.
#[async_trait]
pub trait Identities: Send + Sync {
    /// Whose these identities are, without unknown ones, in any order. One statement for every 16384.
    async fn identified(&self, digests: &[String]) -> Result<Vec<Identified>, StoreError>;

    /// What `issuer` calls these users, and whether they are deactivated; without missing users, in any order. One
    /// statement for every 16384.
    async fn memberships(&self, issuer: &str, users: &[UserId]) -> Result<Vec<Membership>, StoreError>;

    /// One transaction: registers a user as [`super::Accounts::register`] does, and links the identity. Of several
    /// simultaneous calls for one identity, one creates the user.
    async fn adopt(&self, account: &NewAccount, identity: &Identity) -> Result<Adopted, StoreError>;

    /// One transaction: makes `identity` the only one of its issuer that `user` has. The profile's version becomes the
    /// newly drawn `version`. What was said of the user is as new as it was ([`Revision::as_of`]). An identity of a
    /// deleted account counts as nobody's.
    async fn rebind(&self, user: UserId, identity: &Identity, version: i64) -> Result<Rebound, StoreError>;

    /// Makes an identity nobody's if its account was deleted, so that it may be adopted again. `false` otherwise.
    async fn release(&self, digest: &str) -> Result<bool, StoreError>;

    /// An issuer of which there are identities, while there are none of `issuer`.
    async fn former_issuer(&self, issuer: &str) -> Result<Option<String>, StoreError>;

    /// Identities of `issuer` whose accounts exist, in ascending digests behind `after`, at most `limit`.
    async fn of_issuer(&self, issuer: &str, after: &str, limit: usize) -> Result<Vec<Bound>, StoreError>;

    /// One transaction: changes the user of an identity as the product says, all of it or nothing. Revisions of one
    /// identity are made one after the other, and one whose `as_of` is older than that of an earlier one changes
    /// nothing. The profile's version changes only if the profile does.
    async fn revise(&self, digest: &str, revision: &Revision) -> Result<Revised, StoreError>;
}
