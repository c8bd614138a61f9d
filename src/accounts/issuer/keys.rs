//! Caches an external issuer's public keys (JWK set, RFC 7517).
//!
//! Fetches them again when they are old or a token names an unknown key. Anybody can send such a token, so fetches are
//! limited in number.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use async_trait::async_trait;
use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{Jwk, JwkSet, PublicKeyUse},
};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::clock::SharedClock;

/// Most keys in one set; a larger set is refused.
const MAX_KEYS: usize = 100;
/// While the issuer cannot be reached, keys stay in use for this many times `max_age`. After that all its tokens are
/// refused.
const STALE_AGES: i64 = 24;

/// The issuer did not answer with a usable key set. For the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoKeys(pub String);

/// Where the keys come from.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The issuer's key set as JSON. Bounded in time and size.
    async fn fetch(&self) -> Result<Vec<u8>, NoKeys>;
}

/// How long keys are kept, and how often they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySettings {
    /// Age at which keys are fetched again.
    pub max_age: Duration,
    /// Shortest time between two fetches, failed ones included.
    pub wait: Duration,
}

struct Key {
    kid: Option<String>,
    /// The algorithm that the key is for, if the set names one.
    algorithm: Option<Algorithm>,
    decoding: DecodingKey,
}

struct FetchedKeys {
    keys: Vec<Key>,
    fetched_ms: i64,
}

impl FetchedKeys {
    /// The key named `kid`; without a name, the only key of the set.
    fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let key = match (kid, self.keys.as_slice()) {
            (Some(kid), keys) => keys.iter().find(|key| key.kid.as_deref() == Some(kid))?,
            (None, [only]) => only,
            (None, _) => return None,
        };
        let fits = key.decoding.family() == algorithm.family() && key.algorithm.is_none_or(|its| its == algorithm);
        fits.then(|| key.decoding.clone())
    }
}

/// The keys as this node knows them.
pub struct Keys {
    source: Arc<dyn KeySource>,
    settings: KeySettings,
    fetched: RwLock<Option<Arc<FetchedKeys>>>,
    /// The last fetch, ms UTC. Locked during a fetch.
    asked: Mutex<Option<i64>>,
    clock: SharedClock,
    tasks: TaskTracker,
}

impl Keys {
    /// Fetches nothing yet. A fetch runs on `tasks`, so that it outlives the request that needed it.
    pub fn new(source: Arc<dyn KeySource>, settings: KeySettings, clock: SharedClock, tasks: TaskTracker) -> Self {
        Self { source, settings, fetched: RwLock::default(), asked: Mutex::default(), clock, tasks }
    }

    /// The key named `kid` for `algorithm`; `None` if the issuer has none. Answers from the cache while it is young.
    pub async fn find(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Option<DecodingKey>, NoKeys> {
        let before = self.fetched();
        let found = before.as_ref().and_then(|fetched| fetched.find(kid, algorithm));
        let is_young = before.as_ref().is_some_and(|fetched| self.is_younger(fetched.fetched_ms, self.max_age_ms()));
        if found.is_some() && is_young {
            return Ok(found);
        }
        let (asking, seen) = (Arc::clone(self), before.map(|fetched| fetched.fetched_ms));
        let patient = found.is_none();
        // Runs as its own task, so that a client who disconnects does not waste the fetch.
        let asked = self.tasks.spawn(async move { asking.refetch(seen, patient).await }.in_current_span());
        asked.await.map_err(|_| NoKeys("fetching the keys was interrupted".to_owned()))?;
        match self.fetched() {
            Some(fetched) if self.is_younger(fetched.fetched_ms, self.max_age_ms().saturating_mul(STALE_AGES)) => {
                Ok(fetched.find(kid, algorithm))
            }
            _ => Err(NoKeys("the issuer's keys are unknown".to_owned())),
        }
    }

    /// Fetches unless the keys were fetched since `seen`, or too recently. If `patient`, waits for a fetch that is
    /// under way.
    async fn refetch(&self, seen: Option<i64>, patient: bool) {
        let mut asked = if patient {
            self.asked.lock().await
        } else {
            let Ok(asked) = self.asked.try_lock() else { return };
            asked
        };
        let somebody_has = self.fetched().map(|fetched| fetched.fetched_ms) != seen;
        let wait_ms = i64::try_from(self.settings.wait.as_millis()).unwrap_or(i64::MAX);
        if somebody_has || asked.is_some_and(|at| self.is_younger(at, wait_ms)) {
            return;
        }
        let now = self.clock.now_ms();
        *asked = Some(now);
        match self.source.fetch().await.and_then(|json| parse(&json)) {
            Ok(keys) => {
                tracing::info!(keys = keys.len(), "The issuer's keys were fetched.");
                let fetched = Some(Arc::new(FetchedKeys { keys, fetched_ms: now }));
                *self.fetched.write().unwrap_or_else(PoisonError::into_inner) = fetched;
            }
            Err(error) => tracing::warn!(%error, "The issuer's keys cannot be fetched."),
        }
    }

    fn fetched(&self) -> Option<Arc<FetchedKeys>> {
        self.fetched.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn max_age_ms(&self) -> i64 {
        i64::try_from(self.settings.max_age.as_millis()).unwrap_or(i64::MAX)
    }

    /// If the clock was set back, nothing counts as fresh.
    fn is_younger(&self, at_ms: i64, age_ms: i64) -> bool {
        (0..age_ms).contains(&(self.clock.now_ms() - at_ms))
    }
}

/// The usable keys of a set. The RFC asks to ignore the others.
fn parse(json: &[u8]) -> Result<Vec<Key>, NoKeys> {
    let set: JwkSet = serde_json::from_slice(json).map_err(|error| NoKeys(format!("no key set: {error}")))?;
    if set.keys.is_empty() {
        return Err(NoKeys("a set without any key".to_owned()));
    }
    if set.keys.len() > MAX_KEYS {
        return Err(NoKeys(format!("a set of {} keys, expected at most {MAX_KEYS}", set.keys.len())));
    }
    Ok(set.keys.iter().filter_map(usable).collect())
}

fn usable(jwk: &Jwk) -> Option<Key> {
    let signs = jwk.common.public_key_use.as_ref().is_none_or(|its| *its == PublicKeyUse::Signature);
    let decoding = DecodingKey::from_jwk(jwk).ok().filter(|_| signs)?;
    let algorithm = match &jwk.common.key_algorithm {
        // A key for another algorithm checks no signature.
        Some(named) => Some(named.to_string().parse().ok()?),
        None => None,
    };
    Some(Key { kid: jwk.common.key_id.clone(), algorithm, decoding })
}
