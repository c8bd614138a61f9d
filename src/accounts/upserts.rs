//! Users by the product's own ids, as its backend creates them and keeps them up to date.
//!
//! An external id is the subject of the product's issuer, so that a user who is created here and one who signs in first
//! are one.

use std::sync::Arc;

use quick_cache::sync::Cache;

use super::{
    adoption::{Adoption, adopt},
    digest::digest,
    profiles::{InvalidChange, ProfileChange, checked},
};
use crate::{
    ambient::Ambient,
    domain::{
        Handle, UserId,
        account::{
            external::{ExternalId, InvalidExternalId},
            profile::{InvalidProfile, Registration},
        },
        limits::MAX_NAME_CHARS,
    },
    rng::MAX_DRAWS,
    store::{
        Accounts, StoreError,
        identities::{Identity, Revised, Revision},
    },
};

/// External ids remembered. Whose they are never changes.
const REMEMBERED: usize = 100_000;
/// How far ahead of this node's clock a time may be, in ms.
const AHEAD_MS: i64 = 5 * 60_000;
/// Digits of a digest in a handle that nobody has chosen.
const HANDLE_DIGITS: usize = 12;

/// What the product says of a user, unchecked.
#[derive(Debug, Clone, Default)]
pub struct ProductUser {
    /// The product's id.
    pub external_id: String,
    /// The handle. Without one a user keeps theirs, and a new one gets one.
    pub handle: Option<String>,
    /// The rest of the profile; what is `None` stays.
    pub profile: ProfileChange,
    /// When the user joined the product, ms UTC. Only counts for a new user.
    pub created_at: Option<i64>,
    /// Since when all this is so, ms UTC. Something older than what was said before changes nothing.
    pub as_of: Option<i64>,
}

/// How an upsert ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upserted {
    /// There is a new user.
    Created(UserId),
    /// The user has changed.
    Updated(UserId),
    /// All of it was so already, or something newer was said before.
    Unchanged(UserId),
    /// Nothing has changed.
    Refused(InvalidUpsert),
}

/// Why an upsert is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidUpsert {
    /// The external id.
    ExternalId(InvalidExternalId),
    /// The handle.
    Handle(InvalidProfile),
    /// Another user has the handle.
    HandleTaken,
    /// The rest of the profile.
    Profile(InvalidChange),
    /// `created_at` is in the future.
    CreatedAhead,
    /// `as_of` is in the future.
    AsOfAhead,
    /// The account was deleted.
    Deleted,
}

/// The users whom the product knows by ids of its own.
pub struct ExternalUsers {
    accounts: Arc<dyn Accounts>,
    issuer: String,
    known: Cache<String, UserId>,
    ambient: Ambient,
}

impl ExternalUsers {
    /// `issuer`: whose subjects the external ids are.
    pub fn new(accounts: Arc<dyn Accounts>, issuer: String, ambient: Ambient) -> Self {
        Self { accounts, issuer, known: Cache::new(REMEMBERED), ambient }
    }

    /// The user with this external id, whose account may be deleted.
    pub async fn find(&self, external_id: &str) -> Result<Option<UserId>, StoreError> {
        let Ok(external_id) = ExternalId::try_new(external_id) else { return Ok(None) };
        let digest = self.digest(&external_id);
        if let Some(known) = self.known.get(&digest) {
            return Ok(Some(known));
        }
        let user = self.accounts.user_of(&digest).await?;
        user.inspect(|user| self.known.insert(digest, *user));
        Ok(user)
    }

    /// Creates the user, or brings them up to date. Doing it again changes nothing.
    pub async fn upsert(&self, given: ProductUser) -> Result<Upserted, StoreError> {
        let (external_id, revision, created_at) = match self.check(given) {
            Ok(checked) => checked,
            Err(invalid) => return Ok(Upserted::Refused(invalid)),
        };
        let digest = self.digest(&external_id);
        match self.revise(&digest, &revision).await? {
            Some(ended) => Ok(ended),
            None => self.create(&external_id, &revision, created_at).await,
        }
    }

    /// `None`: there is no such user.
    async fn revise(&self, digest: &str, revision: &Revision) -> Result<Option<Upserted>, StoreError> {
        Ok(Some(match self.accounts.revise(digest, revision).await? {
            Revised::Changed(user) => Upserted::Updated(user),
            Revised::Unchanged(user) => Upserted::Unchanged(user),
            Revised::HandleTaken => Upserted::Refused(InvalidUpsert::HandleTaken),
            Revised::Deleted => Upserted::Refused(InvalidUpsert::Deleted),
            Revised::Unknown => return Ok(None),
        }))
    }

    /// The user is there before the attributes and the time of what was said: if this breaks off in between, doing it
    /// again adds them.
    async fn create(
        &self,
        external_id: &ExternalId,
        revision: &Revision,
        created_at: i64,
    ) -> Result<Upserted, StoreError> {
        let (digest, issuer, subject) =
            (self.digest(external_id), self.issuer.clone(), external_id.as_str().to_owned());
        let identity = Identity { digest: digest.clone(), issuer, subject };
        let registration = registration(&digest, revision);
        let registration = registration.map_err(|invalid| StoreError::Unreadable(invalid.to_string()))?;
        let wanted = (vec![registration], created_at);
        match adopt(&*self.accounts, &identity, wanted, &self.ambient).await? {
            Adoption::Created(id) => {
                self.accounts.revise(&digest, revision).await?;
                Ok(Upserted::Created(id))
            }
            // Another request was faster.
            Adoption::Known(user) => Ok(self.revise(&digest, revision).await?.unwrap_or(Upserted::Unchanged(user))),
            Adoption::HandlesTaken => Ok(Upserted::Refused(InvalidUpsert::HandleTaken)),
            Adoption::NoFreeId => Err(StoreError::Contended(format!("no free id in {MAX_DRAWS} draws").into())),
        }
    }

    fn check(&self, given: ProductUser) -> Result<(ExternalId, Revision, i64), InvalidUpsert> {
        let now = self.ambient.now_ms();
        let external_id = ExternalId::try_new(&given.external_id).map_err(InvalidUpsert::ExternalId)?;
        let handle = given.handle.as_deref().map(Handle::try_new).transpose().map_err(InvalidUpsert::Handle)?;
        let edit = checked(given.profile).map_err(InvalidUpsert::Profile)?;
        let is_ahead = |at: Option<i64>| at.is_some_and(|at| at > now.saturating_add(AHEAD_MS));
        if is_ahead(given.created_at) {
            return Err(InvalidUpsert::CreatedAhead);
        }
        if is_ahead(given.as_of) {
            return Err(InvalidUpsert::AsOfAhead);
        }
        let revision = Revision { handle, edit, as_of: given.as_of, version: self.ambient.rng.version() };
        Ok((external_id, revision, given.created_at.unwrap_or(now).clamp(0, now)))
    }

    fn digest(&self, external_id: &ExternalId) -> String {
        digest(&[self.issuer.as_bytes(), external_id.as_str().as_bytes()])
    }
}

/// The beginnings of a new user: with the given handle, or with one that nobody chooses.
fn registration(digest: &str, revision: &Revision) -> Result<Registration, InvalidProfile> {
    let digits: String = digest.chars().take(HANDLE_DIGITS).collect();
    let handle = revision.handle.as_ref().map_or_else(|| format!("user_{digits}"), |it| it.as_str().to_owned());
    let edit = &revision.edit;
    let name: String = edit.name.as_deref().unwrap_or(&handle).chars().take(MAX_NAME_CHARS).collect();
    let avatar = edit.avatar_url.clone().flatten();
    Registration::try_new(&handle, &name, edit.bio.as_deref().unwrap_or_default(), avatar)
        .map_err(|refused| refused.0.first().copied().unwrap_or(InvalidProfile::Handle))
}
