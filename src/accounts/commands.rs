//! The account commands of users with a password: register, sign in, change the password, delete the account.

use std::sync::Arc;

use super::{
    digest::digest,
    error::AccountError,
    passwords::{PasswordError, Passwords},
    registrations::Registrations,
    sessions::{SessionsService, SignedIn},
    viewer::{Caller, Viewer},
};
use crate::{
    clock::SharedClock,
    domain::{
        Handle, UserId,
        account::{
            attempts::Admission,
            profile::{InvalidProfile, Registration, check_password},
        },
        limits::MAX_PASSWORD_BYTES,
    },
    rng::SharedRng,
    store::{
        AccountDeletions, Accounts, Attempts, StoreError,
        account_deletions::Deleted,
        accounts::{NewAccount, PasswordHash, Registered},
        attempts::Subjects,
    },
    telemetry::metrics::SIGN_INS,
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

/// What accounts are kept in.
#[derive(Clone)]
pub struct AccountStores {
    /// Users and credentials.
    pub accounts: Arc<dyn Accounts>,
    /// Failed sign-ins.
    pub attempts: Arc<dyn Attempts>,
    /// Accounts that are deleted.
    pub deletions: Arc<dyn AccountDeletions>,
}

/// Registers users and signs them in.
pub struct AccountsService {
    stores: AccountStores,
    passwords: Arc<Passwords>,
    sessions: Arc<SessionsService>,
    registers: bool,
    signs_in: bool,
    registrations: Option<Registrations>,
    ambient: (SharedClock, SharedRng),
}

impl AccountsService {
    /// Registration and sign-in by password are open until [`Self::open_to`] closes them.
    pub fn new(
        stores: AccountStores,
        passwords: Arc<Passwords>,
        sessions: Arc<SessionsService>,
        ambient: (SharedClock, SharedRng),
    ) -> Self {
        Self { stores, passwords, sessions, registers: true, signs_in: true, registrations: None, ambient }
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
        self.count_registration(caller)?;
        let password_hash = self.passwords.hash(new.password).await?;
        let (now_ms, rng) = (self.ambient.0.now_ms(), &self.ambient.1);
        for random in rng.draws() {
            let id = UserId::generate(now_ms, random);
            let (registration, password_hash) = (registration.clone(), Some(password_hash.clone()));
            let account = NewAccount { id, registration, password_hash, incarnation: rng.incarnation(), now_ms };
            match self.stores.accounts.register(account).await? {
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

    /// Exchanges a handle and its password for a session. The statements and the hashing are the same for unknown
    /// handles.
    pub async fn sign_in(
        &self,
        handle: &str,
        password: String,
        caller: &Caller,
    ) -> Result<SignInOutcome, AccountError> {
        if !self.signs_in {
            return Ok(SignInOutcome::Closed);
        }
        let handle = Handle::try_new(handle);
        let subjects = subjects(handle.as_ref().map_or("", Handle::as_str), caller);
        if let Some(at) = self.not_before(&subjects).await? {
            return Ok(SignInOutcome::NotBefore(at));
        }
        let credential = match &handle {
            Ok(handle) => self.stores.accounts.credential(handle).await?,
            Err(_) => None,
        };
        let (user, stored) = credential.unzip();
        let fitting = self.fitting(password, stored).await?;
        let Some((user, (password, stored))) = user.zip(fitting) else {
            metrics::counter!(SIGN_INS, "outcome" => "wrong").increment(1);
            return Ok(SignInOutcome::WrongCredentials);
        };
        self.welcome(&subjects).await?;
        self.renew(user, password, &stored).await;
        Ok(SignInOutcome::SignedIn(self.sessions.begin(user, caller).await?))
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
        let credential = self.stores.accounts.credential_of(viewer.id).await?;
        let handle = credential.as_ref().map_or("", |(handle, _)| handle.as_str());
        let subjects = subjects(handle, caller);
        if let Some(at) = self.not_before(&subjects).await? {
            return Ok(PasswordOutcome::NotBefore(at));
        }
        let stored = credential.map(|(_, stored)| stored);
        let Some((_, stored)) = self.fitting(old, stored).await? else {
            return Ok(PasswordOutcome::WrongCredentials);
        };
        let new = self.passwords.hash(new).await?;
        // Another request has changed the password in between, so the old one no longer counts.
        if !self.stores.accounts.replace_password(viewer.id, &stored, &new).await? {
            return Ok(PasswordOutcome::WrongCredentials);
        }
        self.welcome(&subjects).await?;
        Ok(PasswordOutcome::Changed(self.sessions.end_all(viewer.id, viewer.session).await?))
    }

    /// Deletes the viewer's account. Users with a password confirm with it; users of an outside issuer have none to
    /// confirm with.
    pub async fn delete(
        &self,
        viewer: &Viewer,
        password: Option<String>,
        caller: &Caller,
    ) -> Result<DeleteOutcome, AccountError> {
        let credential = self.stores.accounts.credential_of(viewer.id).await?;
        let confirmed = match credential {
            None => None,
            Some((handle, stored)) => {
                let subjects = subjects(handle.as_str(), caller);
                if let Some(at) = self.not_before(&subjects).await? {
                    return Ok(DeleteOutcome::NotBefore(at));
                }
                let Some((_, stored)) = self.fitting(password.unwrap_or_default(), Some(stored)).await? else {
                    return Ok(DeleteOutcome::WrongCredentials);
                };
                self.welcome(&subjects).await?;
                Some(stored)
            }
        };
        match self.stores.deletions.delete(viewer.id, confirmed.as_ref(), self.ambient.0.now_ms()).await? {
            Deleted::Gone { sessions } => {
                self.sessions.account_deleted(viewer.id, &sessions).await;
                Ok(DeleteOutcome::Deleted(sessions.len()))
            }
            Deleted::PasswordChanged => Ok(DeleteOutcome::WrongCredentials),
            Deleted::Unknown => Ok(DeleteOutcome::Unknown),
        }
    }

    /// The time at which the next attempt is allowed; `None` if now. The attempt then counts as failed until
    /// [`Self::welcome`].
    async fn not_before(&self, subjects: &Subjects) -> Result<Option<i64>, StoreError> {
        match self.stores.attempts.admit(subjects, self.ambient.0.now_ms()).await? {
            Admission::Admitted => Ok(None),
            Admission::NotBefore(at) => {
                metrics::counter!(SIGN_INS, "outcome" => "waiting").increment(1);
                Ok(Some(at))
            }
        }
    }

    async fn welcome(&self, subjects: &Subjects) -> Result<(), StoreError> {
        metrics::counter!(SIGN_INS, "outcome" => "good").increment(1);
        self.stores.attempts.succeeded(subjects, self.ambient.0.now_ms()).await
    }

    /// The password and the stored hash, if they match. An overlong password never matches, and takes as long to
    /// check.
    async fn fitting(
        &self,
        password: String,
        stored: Option<PasswordHash>,
    ) -> Result<Option<(String, PasswordHash)>, PasswordError> {
        let too_long = password.len() > MAX_PASSWORD_BYTES;
        let (password, stored) = if too_long { (String::new(), None) } else { (password, stored) };
        let fits = self.passwords.verify(password.clone(), stored.clone()).await?;
        Ok(stored.filter(|_| fits).map(|stored| (password, stored)))
    }

    /// Rehashes a password whose stored hash is cheaper than the settings ask. After an error the next sign-in tries
    /// again.
    async fn renew(&self, user: UserId, password: String, stored: &PasswordHash) {
        if !self.passwords.is_outdated(stored) {
            return;
        }
        let renewed = async {
            let new = self.passwords.hash(password).await?;
            Ok::<_, AccountError>(self.stores.accounts.replace_password(user, stored, &new).await?)
        };
        if let Err(error) = renewed.await {
            tracing::warn!(%user, error = &error as &dyn std::error::Error, "A password could not be rehashed with the configured parameters.");
        }
    }
}

/// `account`: the handle, or empty if the text is not a valid handle.
fn subjects(account: &str, caller: &Caller) -> Subjects {
    let (account, network) = (account.as_bytes(), caller.network_name());
    Subjects {
        pair: digest(&[b"pair", account, network.as_bytes()]),
        account: digest(&[b"account", account]),
        network: digest(&[b"network", network.as_bytes()]),
    }
}
