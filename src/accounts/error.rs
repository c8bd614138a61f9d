//! Failures of account and session commands. Expected outcomes are not among them: each command has its own enum.

use super::{passwords::PasswordError, tokens::TokenError};
use crate::{rng::MAX_DRAWS, store::StoreError};

/// Why a command failed without reaching any of its outcomes.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The store failed.
    #[error("the account could not be read or stored")]
    Store(#[from] StoreError),
    /// The password could not be hashed or checked.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No token could be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The caller's network has registered too many accounts. The next registration is allowed in this many seconds.
    #[error("too many accounts were registered from your network lately; try again in {0} s")]
    TooManyRegistrations(u64),
    /// The product keeps the user out for now.
    #[error("the account is deactivated")]
    Deactivated,
    /// Every id drawn was taken.
    #[error("no free id in {MAX_DRAWS} draws: check the clock of this machine")]
    NoFreeId,
}
