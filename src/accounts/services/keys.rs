//! Keys as services hold them: `tfs_` and 256 random bits. The store keeps digests alone.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    accounts::digest::{DIGEST_BYTES, digest},
    ambient::Ambient,
    domain::{
        ServiceKeyId,
        account::service::{Scopes, ServiceName},
    },
    store::{
        ServiceKeys, StoreError,
        service_keys::{NewKey, ServiceKey},
    },
};

/// What every key begins with, so that scanners for secrets find it.
const PREFIX: &str = "tfs_";
/// How long the former key of a rotation is good, in ms.
const FORMER_MS: i64 = 24 * 60 * 60_000;
/// The name under which the configured key is known.
pub const CONFIGURED: &str = "configured";

/// Whether a token claims to be the key of a service.
pub fn is_service_key(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// What is kept of a key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeyDigest(pub(super) String);

impl KeyDigest {
    /// Of the whole text of a key.
    pub fn of(key: &str) -> Self {
        Self(digest(&[b"service", key.as_bytes()]))
    }
}

/// Makes the first key of `service`. `None` if it has one already. `lifetime_ms`: until it expires, if ever.
pub async fn add_key(
    keys: &dyn ServiceKeys,
    (service, scopes): (&ServiceName, Scopes),
    lifetime_ms: Option<i64>,
    ambient: &Ambient,
) -> Result<Option<String>, StoreError> {
    let (text, key) = generate(lifetime_ms, ambient);
    Ok(keys.add_key(service, scopes, &key).await?.then_some(text))
}

/// Makes another key of `service`, with the same scopes. The former one is good for a day more. `None` if there is
/// none. `lifetime_ms`: of the new one; that of the former one if it is not given.
pub async fn rotate_key(
    keys: &dyn ServiceKeys,
    service: &ServiceName,
    lifetime_ms: Option<i64>,
    ambient: &Ambient,
) -> Result<Option<(String, ServiceKey)>, StoreError> {
    let (text, key) = generate(lifetime_ms, ambient);
    let rotated = keys.rotate_key(service, &key, key.now_ms.saturating_add(FORMER_MS)).await?;
    Ok(rotated.map(|kept| (text, kept)))
}

fn generate(lifetime_ms: Option<i64>, ambient: &Ambient) -> (String, NewKey) {
    let (now_ms, mut secret) = (ambient.now_ms(), [0; DIGEST_BYTES]);
    ambient.rng.fill(&mut secret);
    let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret));
    let id = ServiceKeyId::generate(now_ms, ambient.rng.u32());
    let expires_at = lifetime_ms.map(|lifetime| now_ms.saturating_add(lifetime));
    let key = NewKey { id, digest: KeyDigest::of(&text).0, now_ms, expires_at };
    (text, key)
}
