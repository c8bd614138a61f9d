//! Users as the product's backend creates them and keeps them up to date.

use super::{
    adoption::Adoption,
    external_users::ExternalUsers,
    profiles::{InvalidChange, ProfileChange, checked},
};
use crate::{
    domain::{
        Handle, UserId,
        account::{
            external::{ExternalId, InvalidExternalId},
            profile::InvalidProfile,
        },
    },
    rng::MAX_DRAWS,
    store::{
        StoreError,
        identities::{Revised, Revision},
    },
};

/// How far ahead of this node's clock a time may be, in ms.
pub(super) const AHEAD_MS: i64 = 5 * 60_000;

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
    /// Since when all this is so, ms UTC; `None`: since now. Something older than what was said before changes nothing.
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
}

impl ExternalUsers {
    /// Creates the user, or brings them up to date. Doing it again changes nothing. One who deleted the account comes
    /// back as a new user: the former one keeps its handle.
    pub async fn upsert(&self, given: ProductUser) -> Result<Upserted, StoreError> {
        let (external_id, revision, created_at) = match self.check(given) {
            Ok(checked) => checked,
            Err(invalid) => return Ok(Upserted::Refused(invalid)),
        };
        match self.revise(&self.digest(external_id.as_str()), &revision).await? {
            Some(ended) => Ok(ended),
            None => self.create(external_id.as_str(), &revision, created_at).await,
        }
    }

    /// Brings the user up to date with what the issuer says, which is newer than what this node knows. The handle is
    /// left out if it is taken.
    pub(super) async fn revise_newer(&self, subject: &str, revision: Revision) -> Result<(), StoreError> {
        let digest = self.digest(subject);
        if self.accounts.revise(&digest, &revision).await? == Revised::HandleTaken {
            self.accounts.revise(&digest, &Revision { handle: None, ..revision }).await?;
        }
        self.forget(&digest);
        Ok(())
    }

    /// `None`: there is no such user, or no more.
    async fn revise(&self, digest: &str, revision: &Revision) -> Result<Option<Upserted>, StoreError> {
        Ok(Some(match self.accounts.revise(digest, revision).await? {
            Revised::Changed(user) => Upserted::Updated(user),
            Revised::Unchanged(user) => Upserted::Unchanged(user),
            Revised::HandleTaken => Upserted::Refused(InvalidUpsert::HandleTaken),
            Revised::Deleted => {
                self.accounts.release(digest).await?;
                return Ok(None);
            }
            Revised::Unknown => return Ok(None),
        }))
    }

    /// The user is there before the attributes and the time of what was said: if this breaks off in between, doing it
    /// again adds them.
    async fn create(&self, subject: &str, revision: &Revision, created_at: i64) -> Result<Upserted, StoreError> {
        let digest = self.digest(subject);
        let registrations = revision.registrations([self.ambient.rng.u64(), self.ambient.rng.u64()]);
        let registrations = registrations.map_err(|invalid| StoreError::Unreadable(invalid.to_string()))?;
        match self.adopt(subject, (registrations, created_at)).await? {
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
        let version = self.ambient.rng.version();
        let revision = Revision { handle, edit, as_of: given.as_of, now_ms: now, version };
        Ok((external_id, revision, given.created_at.unwrap_or(now).clamp(0, now)))
    }
}
