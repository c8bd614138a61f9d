//! The account commands of users with a password: register, sign in, change the password, delete the account.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::{
    checks::{Checked, PasswordChecks},
    error::AccountError,
    passwords::{HashingTurn, Passwords},
    registrations::Registrations,
    sessions::{SessionsService, SignedIn},
    viewer::{Caller, Viewer},
};
use crate::{
    ambient::Ambient,
    domain::{
        Handle, UserId,
        account::profile::{InvalidProfile, Registration, check_password},
    },
    store::{
        Accounts,
        account_deletions::Deleted,
        accounts::{NewAccount, PasswordHash, Registered},
    },
};

/// The unchecked input of a registration. `Debug` does not show it, because it holds a password.
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

/// How a registration ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterOutcome {
    /// The user exists and is signed in.
    Registered(SignedIn),
    /// The invalid fields, in input order; at least one. Nobody has looked up whether the handle is taken.
    Invalid(Vec<InvalidProfile>),
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
    /// The handle is unknown or the password is wrong. Neither the answer nor its timing tells which.
    WrongCredentials,
    /// Too many attempts have failed. The next one is allowed at this time, ms UTC. The password was not checked.
    NotBefore(i64),
    /// This service has no passwords.
    Closed,
    /// The password is right, but the product keeps the user out for now.
    Deactivated,
}

/// How a change of the password ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordOutcome {
    /// The new password is in force, and this many other sessions have ended.
    Changed(usize),
    /// The new one is too short or too long.
    Invalid(InvalidProfile),
    /// The old password is wrong, or the account has none.
    WrongCredentials,
    /// Too many attempts have failed. The next one is allowed at this time, ms UTC.
    NotBefore(i64),
}

/// How the deletion of an account ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The account is deleted, and this many sessions have ended with it.
    Deleted(usize),
    /// The password is not right.
    WrongCredentials,
    /// Too many attempts have failed. The next one is allowed at this time, ms UTC.
    NotBefore(i64),
    /// There is no such account, or it has been deleted.
    Unknown,
}

/// Registers users and signs them in.
pub struct AccountsService {
    accounts: Arc<dyn Accounts>,
    passwords: Arc<Passwords>,
    checks: PasswordChecks,
    sessions: Arc<SessionsService>,
    registers: bool,
    signs_in: bool,
    registrations: Option<Registrations>,
    ambient: Ambient,
}

impl AccountsService {
    /// Registration and sign-in by password are open until [`Self::open_to`] closes them.
    pub fn new(
        accounts: Arc<dyn Accounts>,
        passwords: Arc<Passwords>,
        sessions: Arc<SessionsService>,
        ambient: Ambient,
    ) -> Self {
        let (attempts, clock) = (accounts.clone(), ambient.clock.clone());
        let checks = PasswordChecks::new(attempts, passwords.clone(), clock, TaskTracker::new());
        Self { accounts, passwords, checks, sessions, registers: true, signs_in: true, registrations: None, ambient }
    }

    /// Counts the checks of passwords under way, which end even if their clients leave.
    #[must_use]
    pub fn tracked_by(mut self, tasks: TaskTracker) -> Self {
        let (attempts, clock) = (self.accounts.clone(), self.ambient.clock.clone());
        self.checks = PasswordChecks::new(attempts, self.passwords.clone(), clock, tasks);
        self
    }

    /// Opens or closes registration and sign-in by password for everybody. Closing sign-in also closes registration.
    #[must_use]
    pub const fn open_to(mut self, registration: bool, sign_in: bool) -> Self {
        (self.registers, self.signs_in) = (registration && sign_in, sign_in);
        self
    }

    /// Limits the registrations from one network.
    #[must_use]
    pub fn limited_to(mut self, registrations: Option<Registrations>) -> Self {
        self.registrations = registrations;
        self
    }

    /// Creates an account from valid input and signs its user in.
    pub async fn register(&self, new: NewUser, caller: &Caller) -> Result<RegisterOutcome, AccountError> {
        if !self.registers {
            return Ok(RegisterOutcome::Closed);
        }
        let registration = Registration::try_new(&new.handle, &new.name, &new.bio, new.avatar_url);
        let registration = match (registration, check_password(&new.password)) {
            (Ok(registration), Ok(())) => registration,
            (registration, password) => {
                let mut faults = registration.err().map(|refused| refused.0).unwrap_or_default();
                faults.extend(password.err());
                return Ok(RegisterOutcome::Invalid(faults));
            }
        };
        let turn = self.passwords.turn(caller.client()).await?;
        self.count_registration(caller)?;
        let password_hash = self.passwords.hash(&turn, new.password).await?;
        let (now_ms, rng) = (self.ambient.now_ms(), &self.ambient.rng);
        for random in rng.draws() {
            let id = UserId::generate(now_ms, random);
            let (registration, password_hash) = (registration.clone(), Some(password_hash.clone()));
            let account = NewAccount { id, registration, password_hash, incarnation: rng.incarnation(), now_ms };
            match self.accounts.register(account).await? {
                Registered::Created => {
                    return Ok(RegisterOutcome::Registered(self.sessions.begin(id, caller).await?));
                }
                Registered::HandleTaken => return Ok(RegisterOutcome::HandleTaken),
                Registered::IdTaken => {}
            }
        }
        Err(AccountError::NoFreeId)
    }

    fn count_registration(&self, caller: &Caller) -> Result<(), AccountError> {
        let Some(Err(wait)) = self.registrations.as_ref().map(|it| it.count(caller.network_name())) else {
            return Ok(());
        };
        Err(AccountError::TooManyRegistrations(wait.as_secs() + 1))
    }

    /// Exchanges a handle and its password for a session.
    pub async fn sign_in(
        &self,
        handle: &str,
        password: String,
        caller: &Caller,
    ) -> Result<SignInOutcome, AccountError> {
        if !self.signs_in {
            return Ok(SignInOutcome::Closed);
        }
        let turn = self.passwords.turn(caller.client()).await?;
        let (handle, accounts) = (Handle::try_new(handle).ok(), self.accounts.clone());
        let account = handle.as_ref().map_or_else(String::new, |handle| handle.as_str().to_owned());
        let credential = async move {
            match &handle {
                Some(handle) => accounts.credential(handle).await,
                None => Ok(None),
            }
        };
        let (turn, checked) = self.checks.check((turn, caller), (&account, password), credential).await?;
        let (user, password, stored) = match checked {
            Checked::Right(user, password, stored) => (user, password, stored),
            Checked::Wrong => return Ok(SignInOutcome::WrongCredentials),
            Checked::NotBefore(at) => return Ok(SignInOutcome::NotBefore(at)),
        };
        self.renew((user, &turn), password, &stored).await;
        match self.sessions.begin(user, caller).await {
            Err(AccountError::Deactivated) => Ok(SignInOutcome::Deactivated),
            begun => begun.map(SignInOutcome::SignedIn),
        }
    }

    /// Replaces the password and ends the user's other sessions.
    pub async fn change_password(
        &self,
        viewer: &Viewer,
        (old, new): (String, String),
        caller: &Caller,
    ) -> Result<PasswordOutcome, AccountError> {
        if let Err(fault) = check_password(&new) {
            return Ok(PasswordOutcome::Invalid(fault));
        }
        let turn = self.passwords.turn(caller.client()).await?;
        let credential = self.accounts.credential_of(viewer.id).await?;
        let (handle, stored) = credential.unzip();
        let (account, stored) = (handle.as_ref().map_or("", Handle::as_str), stored.map(|stored| ((), stored)));
        let (turn, checked) = self.checks.check((turn, caller), (account, old), async { Ok(stored) }).await?;
        let stored = match checked {
            Checked::Right((), _, stored) => stored,
            Checked::Wrong => return Ok(PasswordOutcome::WrongCredentials),
            Checked::NotBefore(at) => return Ok(PasswordOutcome::NotBefore(at)),
        };
        let new = self.passwords.hash(&turn, new).await?;
        // Another request has changed the password in between, so the old one no longer counts.
        if !self.accounts.replace_password(viewer.id, &stored, &new).await? {
            return Ok(PasswordOutcome::WrongCredentials);
        }
        Ok(PasswordOutcome::Changed(self.sessions.end_all(viewer.id, viewer.session).await?))
    }

    /// Deletes the viewer's account. Users with a password confirm with it. Users of an external issuer have none to
    /// confirm with, and a service that acts as them has a scope for it.
    pub async fn delete(
        &self,
        viewer: &Viewer,
        password: Option<String>,
        caller: &Caller,
    ) -> Result<DeleteOutcome, AccountError> {
        let credential = self.accounts.credential_of(viewer.id).await?;
        let confirmed = match credential {
            None => None,
            Some((_, stored)) if viewer.acted_by.is_some() => Some(stored),
            Some((handle, stored)) => {
                let turn = self.passwords.turn(caller.client()).await?;
                let (password, stored) = (password.unwrap_or_default(), Some(((), stored)));
                let checking = self.checks.check((turn, caller), (handle.as_str(), password), async { Ok(stored) });
                match checking.await?.1 {
                    Checked::Right((), _, stored) => Some(stored),
                    Checked::Wrong => return Ok(DeleteOutcome::WrongCredentials),
                    Checked::NotBefore(at) => return Ok(DeleteOutcome::NotBefore(at)),
                }
            }
        };
        self.delete_confirmed(viewer.id, confirmed.as_ref()).await
    }

    /// Deletes the account of a user, as the product says.
    pub async fn delete_user(&self, user: UserId) -> Result<DeleteOutcome, AccountError> {
        let confirmed = self.accounts.credential_of(user).await?.map(|(_, stored)| stored);
        self.delete_confirmed(user, confirmed.as_ref()).await
    }

    /// Keeps a user out until [`Self::reactivate`]: nobody signs in or acts as them. Returns how many sessions have
    /// ended; `None` if there is no such user.
    pub async fn deactivate(&self, user: UserId) -> Result<Option<usize>, AccountError> {
        let Some(ended) = self.accounts.deactivate(user, self.ambient.now_ms()).await? else { return Ok(None) };
        self.sessions.announce_ended(user, &ended).await;
        Ok(Some(ended.len()))
    }

    /// Lets a user in again; `false` if there is no such user.
    pub async fn reactivate(&self, user: UserId) -> Result<bool, AccountError> {
        Ok(self.accounts.reactivate(user).await?)
    }

    async fn delete_confirmed(
        &self,
        user: UserId,
        confirmed: Option<&PasswordHash>,
    ) -> Result<DeleteOutcome, AccountError> {
        match self.accounts.delete(user, confirmed, self.ambient.now_ms()).await? {
            Deleted::Gone { sessions } => {
                self.sessions.account_deleted(user, &sessions).await;
                Ok(DeleteOutcome::Deleted(sessions.len()))
            }
            Deleted::PasswordChanged => Ok(DeleteOutcome::WrongCredentials),
            Deleted::Unknown => Ok(DeleteOutcome::Unknown),
        }
    }

    /// Rehashes a password whose stored hash is cheaper than the settings ask. After an error the next sign-in tries
    /// again.
    async fn renew(&self, (user, turn): (UserId, &HashingTurn), password: String, stored: &PasswordHash) {
        if !self.passwords.is_outdated(stored) {
            return;
        }
        let renewed = async {
            let new = self.passwords.hash(turn, password).await?;
            Ok::<_, AccountError>(self.accounts.replace_password(user, stored, &new).await?)
        };
        if let Err(error) = renewed.await {
            tracing::warn!(%user, error = &error as &dyn std::error::Error, "A password could not be rehashed with the configured parameters.");
        }
    }
}
