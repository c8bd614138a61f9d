//! Maps users of an outside issuer to users here.

use async_trait::async_trait;

use super::{
    StoreError,
    accounts::{NewAccount, Registered},
};
use crate::domain::UserId;

/// Somebody at an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Digest of issuer and subject, at most 64 characters.
    pub digest: String,
    /// Who says so; at most 500 characters are kept.
    pub issuer: String,
    /// Whom it means; at most 255 characters are kept.
    pub subject: String,
}

/// How seeing somebody for the first time ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// A user exists for them now.
    Created,
    /// Another request was quicker: this is the user.
    Known(UserId),
    /// No user was made: as for any registration.
    Not(Registered),
}

/// Identities.
#[async_trait]
pub trait Identities: Send + Sync {
    /// The user of an identity.
    async fn user_of(&self, digest: &str) -> Result<Option<UserId>, StoreError>;

    /// One transaction: everything that [`super::Accounts::register`] makes, and that it is this identity's. Of
    /// several at once for one identity, one makes a user.
    async fn adopt(&self, account: &NewAccount, identity: &Identity) -> Result<Adopted, StoreError>;
}
