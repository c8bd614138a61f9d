//! Users by the ids that their issuer, or the product, has for them: the one memory of identities.
//!
//! An external id is the subject of the product's issuer, so that a user whom a service creates and one who signs in
//! first are one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use quick_cache::sync::Cache;

use super::{
    adoption::{Adoption, adopt},
    digest::{digest_bytes, hex},
    viewer::SubjectDigest,
};
use crate::{
    ambient::Ambient,
    domain::{
        UserId,
        account::{
            external::{ExternalId, InvalidExternalId},
            profile::Registration,
        },
    },
    store::{
        Accounts, StoreError,
        identities::{Bound, Identified, Identity, Rebound, Standing},
    },
};

/// Stands for the issuer of a product that has none.
pub const PRODUCT: &str = "product";
/// Identities remembered.
const REMEMBERED: usize = 100_000;

/// How giving a user another external id ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebindOutcome {
    /// It is theirs.
    Done,
    /// It is another user's.
    Taken,
    /// There is no such user.
    NoUser,
    /// It is no external id.
    Invalid(InvalidExternalId),
}

/// The users whom one issuer, or the product, knows by ids of its own.
pub struct ExternalUsers {
    pub(super) accounts: Arc<dyn Accounts>,
    issuer: String,
    /// With when the store was asked, ms UTC.
    known: Cache<String, (Identified, i64)>,
    trust_ms: i64,
    pub(super) ambient: Ambient,
}

impl ExternalUsers {
    /// `issuer`: whose subjects the external ids are. `trust`: how long an answer of the store is used.
    pub fn new(accounts: Arc<dyn Accounts>, issuer: String, trust: Duration, ambient: Ambient) -> Self {
        let trust_ms = i64::try_from(trust.as_millis()).unwrap_or(i64::MAX);
        Self { accounts, issuer, known: Cache::new(REMEMBERED), trust_ms, ambient }
    }

    /// Whose subjects the external ids are.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The user with this external id, whose account may be deleted.
    pub async fn find(&self, external_id: &str) -> Result<Option<UserId>, StoreError> {
        Ok(self.find_all(&[external_id]).await?.remove(external_id))
    }

    /// The users with these external ids, whose accounts may be deleted. One statement for those that this node has not
    /// asked for lately.
    pub async fn find_all<'a>(&self, external_ids: &[&'a str]) -> Result<HashMap<&'a str, UserId>, StoreError> {
        let valid = external_ids.iter().filter(|id| ExternalId::try_new(id).is_ok());
        let digests: HashMap<String, &str> = valid.map(|id| (self.digest(id), *id)).collect();
        let found = self.identified(digests.keys()).await?;
        Ok(found.into_iter().filter_map(|it| Some((*digests.get(&it.digest)?, it.user))).collect())
    }

    /// Whose this subject is, as it was at most `trust` ago.
    pub(super) async fn known(&self, subject: &str) -> Result<Option<Identified>, StoreError> {
        Ok(self.identified([&self.digest(subject)].into_iter()).await?.pop())
    }

    async fn identified(&self, digests: impl Iterator<Item = &String>) -> Result<Vec<Identified>, StoreError> {
        let now = self.ambient.now_ms();
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for digest in digests {
            // If the clock was set back, an entry must not count as fresh.
            match self.known.get(digest).filter(|(_, asked)| (0..self.trust_ms).contains(&(now - asked))) {
                Some((known, _)) => found.push(known),
                None => unknown.push(digest.clone()),
            }
        }
        if !unknown.is_empty() {
            for identified in self.accounts.identified(&unknown).await? {
                // Who is let in again, or comes back, is so at once.
                if identified.standing == Standing::Active {
                    self.known.insert(identified.digest.clone(), (identified.clone(), now));
                }
                found.push(identified);
            }
        }
        Ok(found)
    }

    /// Gives the subject a new account, with the first of these registrations whose handle is free.
    pub(super) async fn adopt(&self, subject: &str, wanted: (Vec<Registration>, i64)) -> Result<Adoption, StoreError> {
        let identity = self.identity(subject);
        self.known.remove(&identity.digest);
        adopt(&*self.accounts, &identity, wanted, &self.ambient).await
    }

    /// Gives a user another external id, or a first one. The former one is nobody's then; nodes that remember it notice
    /// within `trust`.
    pub async fn rebind(&self, user: UserId, external_id: &str) -> Result<RebindOutcome, StoreError> {
        let external_id = match ExternalId::try_new(external_id) {
            Ok(external_id) => external_id,
            Err(invalid) => return Ok(RebindOutcome::Invalid(invalid)),
        };
        let (identity, version) = (self.identity(external_id.as_str()), self.ambient.rng.version());
        let outcome = match self.accounts.rebind(user, &identity, version).await? {
            Rebound::Done => RebindOutcome::Done,
            Rebound::Taken => RebindOutcome::Taken,
            Rebound::NoUser => RebindOutcome::NoUser,
        };
        self.known.remove(&identity.digest);
        Ok(outcome)
    }

    /// The external ids of those of the users who have one.
    pub async fn subjects(&self, users: &[UserId]) -> Result<HashMap<UserId, String>, StoreError> {
        let found = self.accounts.memberships(&self.issuer, users).await?;
        Ok(found.into_iter().filter_map(|it| Some((it.user, it.subject?))).collect())
    }

    /// Users whom `issuer` knows, in ascending digests behind `after`, at most `limit`.
    pub async fn of_issuer(&self, issuer: &str, after: &str, limit: usize) -> Result<Vec<Bound>, StoreError> {
        self.accounts.of_issuer(issuer, after, limit).await
    }

    /// Asks the store anew.
    pub(super) fn forget(&self, digest: &str) {
        self.known.remove(digest);
    }

    pub(super) fn digest(&self, subject: &str) -> String {
        hex(&self.subject(subject).0)
    }

    pub(super) fn subject(&self, subject: &str) -> SubjectDigest {
        SubjectDigest(digest_bytes(&[self.issuer.as_bytes(), subject.as_bytes()]))
    }

    /// The identity whose subject this is.
    pub fn identity(&self, subject: &str) -> Identity {
        Identity { digest: self.digest(subject), issuer: self.issuer.clone(), subject: subject.to_owned() }
    }
}
