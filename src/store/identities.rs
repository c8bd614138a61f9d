//! Maps users of an external issuer to users here.

use async_trait::async_trait;

use super::{
    StoreError,
    new_account::{NewAccount, Registered},
};
use crate::domain::UserId;

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

/// Identities.
#[async_trait]
pub trait Identities: Send + Sync {
    /// The user of an identity.
    async fn user_of(&self, digest: &str) -> Result<Option<UserId>, StoreError>;

    /// One transaction: registers a user as [`super::Accounts::register`] does, and links the identity. Of several
    /// simultaneous calls for one identity, one creates the user.
    async fn adopt(&self, account: &NewAccount, identity: &Identity) -> Result<Adopted, StoreError>;
}
