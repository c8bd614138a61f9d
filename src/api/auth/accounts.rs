//! The commands of somebody without a token: register and sign in. Both end in one.

use std::sync::Arc;

use super::{
    Viewer,
    passwords::{PasswordError, Passwords},
    tokens::{Token, TokenError, Tokens},
};
use crate::{
    clock::SharedClock,
    domain::{
        Handle, UserId,
        limits::MAX_PASSWORD_BYTES,
        profile::{InvalidProfile, Registration, check_password},
    },
    draw::Draw,
    store::{
        Accounts, StoreError,
        accounts::{NewAccount, Registered},
    },
};

/// Ids drawn before giving up; two collisions in a row are already beyond belief.
const MAX_DRAWS: usize = 5;

/// What somebody who registers hands in, unchecked. Not shown by `Debug`: it holds a password.
pub struct NewUser {
    /// Unique name.
    pub handle: String,
    /// Display name.
    pub name: String,
    /// In clear.
    pub password: String,
    /// A few words.
    pub bio: String,
    /// A picture elsewhere.
    pub avatar_url: Option<String>,
}

/// Somebody with a new token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// Who.
    pub viewer: Viewer,
    /// The token.
    pub token: Token,
}

/// How a registration ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterOutcome {
    /// The user exists and is signed in.
    Registered(SignedIn),
    /// A field is at fault.
    Invalid(InvalidProfile),
    /// Somebody else has the handle.
    HandleTaken,
    /// This service takes no new users.
    Closed,
}

/// How a sign-in ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInOutcome {
    /// Welcome.
    SignedIn(SignedIn),
    /// No such handle, or not its password: which of them is not told, neither in words nor in time.
    WrongCredentials,
}

/// Why neither outcome was reached.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The store failed.
    #[error("the account could not be read or stored")]
    Store(#[from] StoreError),
    /// The password could not be worked on.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// No token could be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Every id drawn was taken.
    #[error("no free user id in {MAX_DRAWS} draws: check the clock of this machine")]
    NoFreeId,
}

/// Registers users and signs them in.
pub struct AccountsService {
    accounts: Arc<dyn Accounts>,
    passwords: Arc<Passwords>,
    tokens: Arc<Tokens>,
    open: bool,
    clock: SharedClock,
    draw: Draw,
}

impl AccountsService {
    /// Open to everybody until [`AccountsService::with_registration`] says otherwise.
    pub fn new(
        accounts: Arc<dyn Accounts>,
        passwords: Arc<Passwords>,
        tokens: Arc<Tokens>,
        clock: SharedClock,
        draw: Draw,
    ) -> Self {
        Self { accounts, passwords, tokens, open: true, clock, draw }
    }

    /// Whether anybody may register.
    #[must_use]
    pub const fn with_registration(mut self, open: bool) -> Self {
        self.open = open;
        self
    }

    /// Makes an account, if everything is in order, and signs its user in.
    pub async fn register(&self, new: NewUser) -> Result<RegisterOutcome, AccountError> {
        if !self.open {
            return Ok(RegisterOutcome::Closed);
        }
        let checked = Registration::try_new(&new.handle, &new.name, &new.bio, new.avatar_url)
            .and_then(|registration| check_password(&new.password).map(|()| registration));
        let registration = match checked {
            Ok(registration) => registration,
            Err(fault) => return Ok(RegisterOutcome::Invalid(fault)),
        };
        let password_hash = self.passwords.hash(new.password).await?;
        for _ in 0..MAX_DRAWS {
            let now_ms = self.clock.now_ms();
            let id = UserId::draw(now_ms, self.draw.u32());
            let (registration, password_hash) = (registration.clone(), password_hash.clone());
            let account = NewAccount { id, registration, password_hash, inc: self.draw.inc(), now_ms };
            match self.accounts.register(account).await? {
                Registered::Created => return Ok(RegisterOutcome::Registered(self.signed_in(id)?)),
                Registered::HandleTaken => return Ok(RegisterOutcome::HandleTaken),
                Registered::IdTaken => {}
            }
        }
        Err(AccountError::NoFreeId)
    }

    /// Exchanges a handle and its password for a token.
    pub async fn sign_in(&self, handle: &str, password: String) -> Result<SignInOutcome, AccountError> {
        let credential = match Handle::try_new(handle) {
            Ok(handle) if password.len() <= MAX_PASSWORD_BYTES => self.accounts.credential(&handle).await?,
            _ => None,
        };
        let (user, stored) = credential.unzip();
        let password = if password.len() > MAX_PASSWORD_BYTES { String::new() } else { password };
        let fits = self.passwords.verify(password, stored).await?;
        match user.filter(|_| fits) {
            Some(user) => Ok(SignInOutcome::SignedIn(self.signed_in(user)?)),
            None => Ok(SignInOutcome::WrongCredentials),
        }
    }

    fn signed_in(&self, user: UserId) -> Result<SignedIn, TokenError> {
        let token = self.tokens.issue(user)?;
        Ok(SignedIn { viewer: Viewer { id: user, good_until_ms: token.expires_at_ms }, token })
    }
}

#[cfg(test)]
mod tests;
