//! What an account begins with, and how a registration ends.

use crate::domain::{UserId, account::profile::Registration};

/// A password hash as PHC string (argon2id); never logged.
#[derive(Clone)]
pub struct PasswordHash(pub String);

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// A user to be registered.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// Drawn by the caller; a collision is [`Registered::IdTaken`].
    pub id: UserId,
    /// The checked profile.
    pub registration: Registration,
    /// The hashed password; `None` if an external issuer signs the user in.
    pub password_hash: Option<PasswordHash>,
    /// Identifies the self-follow edge, see [`crate::store::Follows::follow`].
    pub incarnation: i64,
    /// Milliseconds UTC.
    pub now_ms: i64,
}

/// The outcome of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// The user exists now.
    Created,
    /// Another user has the handle.
    HandleTaken,
    /// Draw another id and try again.
    IdTaken,
}
