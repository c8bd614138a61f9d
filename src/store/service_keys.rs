//! Keys with which other services ask. The store has their digests alone.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    ServiceKeyId,
    account::service::{Scopes, ServiceName},
};

/// When a key ends that was given no end.
pub const NEVER: i64 = i64::MAX;

/// A key of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceKey {
    /// Its id; that of the configured key is in no store.
    pub id: Option<ServiceKeyId>,
    /// Whose it is.
    pub service: ServiceName,
    /// What it allows.
    pub scopes: Scopes,
    /// ms UTC.
    pub created_at: i64,
    /// ms UTC; [`NEVER`] for a key without an end.
    pub expires_at: i64,
    /// ms UTC, to the minute; 0: never.
    pub last_used_at: i64,
}

/// A key that is to be kept.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Its id.
    pub id: ServiceKeyId,
    /// SHA-256 in hexadecimal.
    pub digest: String,
    /// ms UTC.
    pub now_ms: i64,
    /// ms UTC; [`NEVER`] for none. For a rotation, `None`: as long after now as the former key had from its beginning.
    pub expires_at: Option<i64>,
}

/// Keys of services.
#[async_trait]
pub trait ServiceKeys: Send + Sync {
    /// One transaction: keeps the key. `false`, without a change, if the service has a key that is not over.
    async fn add_key(&self, service: &ServiceName, scopes: Scopes, key: &NewKey) -> Result<bool, StoreError>;

    /// One transaction: adds a key with the scopes of the service's newest one that is not over. The earlier ones end
    /// at `former_end` at the latest. Returns the new key; `None`, without a change, if there is none.
    async fn rotate_key(
        &self,
        service: &ServiceName,
        key: &NewKey,
        former_end: i64,
    ) -> Result<Option<ServiceKey>, StoreError>;

    /// Deletes all keys of the service. Returns how many there were.
    async fn revoke_keys(&self, service: &ServiceName) -> Result<u64, StoreError>;

    /// The key with this digest. May return an expired one.
    async fn key(&self, digest: &str) -> Result<Option<ServiceKey>, StoreError>;

    /// All keys, expired ones too, by service and newest first; at most [`crate::domain::limits::MAX_LISTED_KEYS`].
    async fn keys(&self) -> Result<Vec<ServiceKey>, StoreError>;

    /// The keys among `ids` that exist and are not over at `now_ms`, in any order. One statement for every 16384.
    async fn living_keys(&self, ids: &[ServiceKeyId], now_ms: i64) -> Result<Vec<ServiceKeyId>, StoreError>;

    /// Notes that the key was used at `now_ms`.
    async fn note_used(&self, id: ServiceKeyId, now_ms: i64) -> Result<(), StoreError>;

    /// Deletes keys that were over before `before_ms`; returns how many.
    async fn forget_keys(&self, before_ms: i64) -> Result<u64, StoreError>;
}
