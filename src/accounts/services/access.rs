//! Decides whose a service's key is, and as whom it may act.

use std::{sync::Arc, time::Duration};

use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use super::keys::KeyDigest;
use crate::{
    accounts::{
        liveness::Liveness,
        viewer::{IssuingKey, Viewer},
    },
    clock::SharedClock,
    domain::{
        ServiceKeyId, UserId,
        account::service::{Scope, ServiceName},
    },
    store::{Accounts, StoreError, service_keys::ServiceKey},
};

/// Keys remembered. What they are never changes; whether they still are is asked of [`Liveness`].
const REMEMBERED: usize = 10_000;
/// Unknown keys that this node looks up at the same time. So clients that guess keys leave the store to others.
const LOOKED_UP_AT_ONCE: usize = 2;
/// How long a service may act as somebody without asking anew, in ms: so long may a subscription last.
const LONGEST_MS: i64 = 365 * 24 * 60 * 60_000;
/// A key's use is noted this often at most, in ms.
const NOTED_EVERY_MS: i64 = 60_000;

/// Why a service is refused.
#[derive(Debug, thiserror::Error)]
pub enum ServiceRefusal {
    /// There is no such key, or not any more.
    #[error("This service key is unknown, expired or revoked. `tidefeed service list` shows which there are.")]
    UnknownKey,
    /// The key lacks a scope.
    #[error("The key of `{0}` may not act as a user: it lacks the scope act_as. Give the service a key that has it.")]
    MayNotAct(ServiceName),
    /// There is nobody to act as.
    #[error("The header tidefeed-act-as names no user. Pass the id of a user who exists and is not deactivated.")]
    NoSuchUser,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What this node knows of keys, and of the users as whom services act.
pub struct ServiceAccess {
    accounts: Arc<dyn Accounts>,
    configured: Option<(KeyDigest, Arc<ServiceKey>)>,
    known: Cache<KeyDigest, Arc<ServiceKey>>,
    lookups: Semaphore,
    noted: Cache<ServiceKeyId, i64>,
    keys: Arc<Liveness<ServiceKeyId>>,
    users: Arc<Liveness<UserId>>,
    clock: SharedClock,
}

impl ServiceAccess {
    /// `configured`: a key that is in no store. `trust`: how long an answer of the store is used.
    pub fn new(
        accounts: Arc<dyn Accounts>,
        configured: Option<(KeyDigest, ServiceKey)>,
        trust: Duration,
        clock: SharedClock,
    ) -> Self {
        let keys = Arc::new(Liveness::new(accounts.clone(), trust, clock.clone()));
        let users = Arc::new(Liveness::new(accounts.clone(), trust, clock.clone()));
        let configured = configured.map(|(digest, key)| (digest, Arc::new(key)));
        let (known, noted) = (Cache::new(REMEMBERED), Cache::new(REMEMBERED));
        let lookups = Semaphore::new(LOOKED_UP_AT_ONCE);
        Self { accounts, configured, known, lookups, noted, keys, users, clock }
    }

    /// This node's caches. The caller runs [`Liveness::run`] of both.
    pub fn liveness(&self) -> (Arc<Liveness<ServiceKeyId>>, Arc<Liveness<UserId>>) {
        (Arc::clone(&self.keys), Arc::clone(&self.users))
    }

    /// The key with this text, if this node has seen it before. It may be over.
    pub fn remembered(&self, text: &str) -> Option<Arc<ServiceKey>> {
        self.of_configuration(text).or_else(|| self.known.get(&KeyDigest::of(text)))
    }

    /// The key with this text, which is not over. Notes its use.
    pub async fn key(&self, text: &str) -> Result<Arc<ServiceKey>, ServiceRefusal> {
        let key = if let Some(known) = self.remembered(text) {
            known
        } else {
            let digest = KeyDigest::of(text);
            let _turn = self.lookups.acquire().await.map_err(|_| ServiceRefusal::UnknownKey)?;
            let key = self.accounts.key(&digest.0).await?.map(Arc::new).ok_or(ServiceRefusal::UnknownKey)?;
            self.known.insert(digest, Arc::clone(&key));
            key
        };
        if let Some(id) = key.id {
            if key.expires_at <= self.clock.now_ms() || !self.keys.is_alive(id).await? {
                return Err(ServiceRefusal::UnknownKey);
            }
            self.note_used(id).await;
        }
        Ok(key)
    }

    /// The viewer whom a service with this key is as `user`.
    pub async fn act_as(&self, key: &ServiceKey, user: UserId) -> Result<Viewer, ServiceRefusal> {
        if !key.scopes.contain(Scope::ActAs) {
            return Err(ServiceRefusal::MayNotAct(key.service.clone()));
        }
        if !self.users.is_alive(user).await? {
            return Err(ServiceRefusal::NoSuchUser);
        }
        let good_until_ms = key.expires_at.min(self.clock.now_ms().saturating_add(LONGEST_MS));
        Ok(Viewer { acted_by: Some(key.scopes), ..Viewer::without_session(user, good_until_ms) })
    }

    /// Whether a token without a session is still good, as far as its user and the key that has issued it decide that.
    pub async fn is_good(&self, issued_by: Option<IssuingKey>, user: UserId) -> Result<bool, StoreError> {
        let has_key = match issued_by {
            None => true,
            Some(IssuingKey::Configured) => self.configured.is_some(),
            Some(IssuingKey::Stored(key)) => self.keys.is_alive(key).await?,
        };
        Ok(has_key && self.users.is_alive(user).await?)
    }

    /// Completes when the key is over, or the account as which it acts.
    pub async fn until_ended(&self, key: Option<ServiceKeyId>, user: Option<UserId>) {
        let key = async {
            match key {
                Some(id) => self.keys.clone().until_ended(id).await,
                None => std::future::pending().await,
            }
        };
        let user = async {
            match user {
                Some(user) => self.users.clone().until_ended(user).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = key => {}
            () = user => {}
        }
    }

    fn of_configuration(&self, text: &str) -> Option<Arc<ServiceKey>> {
        let (digest, key) = self.configured.as_ref()?;
        (*digest == KeyDigest::of(text)).then(|| Arc::clone(key))
    }

    async fn note_used(&self, id: ServiceKeyId) {
        let now = self.clock.now_ms();
        if self.noted.get(&id).is_some_and(|noted| (0..NOTED_EVERY_MS).contains(&(now - noted))) {
            return;
        }
        // Before the write: a store that takes none is not asked by every request.
        self.noted.insert(id, now);
        if let Err(error) = self.accounts.note_used(id, now).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "The use of a service's key could not be noted.");
        }
    }
}
