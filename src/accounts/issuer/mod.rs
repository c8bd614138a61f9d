//! Verifies tokens of an external issuer: JWT (RFC 7519), signed with keys that the issuer publishes.
//!
//! The operator names the accepted algorithms, and only asymmetric ones work: a public key never serves as a secret. A
//! user who is seen for the first time gets an account.

mod keys;
mod users;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use jsonwebtoken::{Algorithm, AlgorithmFamily, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

pub use self::keys::{KeySettings, KeySource, Keys, NoKeys};
use self::users::Profiled;
pub use self::users::{NoUser, Users};
use super::{
    signatures::use_ring,
    tokens::TokenError,
    viewer::{SubjectDigest, Viewer},
};
use crate::clock::SharedClock;

/// Tolerated difference between the issuer's clock and ours.
const LEEWAY_MS: i64 = 5_000;
/// Bytes of a token at most.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The accepted issuer, and which of its tokens are valid here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The claim `iss`, letter for letter.
    pub issuer: String,
    /// The required value, or element, of the claim `aud`.
    pub audience: String,
    /// Algorithms that may sign a token.
    pub algorithms: Vec<Algorithm>,
}

/// Why a token of the issuer was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// For the client.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// For the log.
    #[error("the issuer's keys are not available: {0}")]
    Keys(#[from] NoKeys),
    /// The token is valid.
    #[error(transparent)]
    User(#[from] NoUser),
}

#[derive(Deserialize)]
struct Claims {
    /// One text (RFC 7519 section 4.1.1); the library alone would take a list, too.
    #[serde(rename = "iss")]
    _iss: String,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    #[serde(flatten)]
    others: HashMap<String, Value>,
}

/// Which claims make a profile. An empty name is no claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNames {
    /// The handle of a new user, if it is free.
    pub handle: String,
    /// The name to show.
    pub name: String,
    /// The address of a picture.
    pub avatar: String,
    /// The open attributes: an object of texts, numbers and truth values.
    pub attributes: String,
    /// Since when the others are so, in seconds; `None`: a profile does not follow the claims.
    pub updated_at: Option<String>,
}

impl ClaimNames {
    fn profiled(&self, claims: &HashMap<String, Value>) -> Profiled {
        let text = |name: &String| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let updated_at = self.updated_at.as_ref().and_then(|name| claims.get(name)?.as_f64());
        let (handle, name, avatar) = (text(&self.handle), text(&self.name), text(&self.avatar));
        let attributes = claims.get(&self.attributes).and_then(Value::as_object).map(attributes);
        Profiled { handle, name, avatar, attributes, updated_at: updated_at.map(ms) }
    }
}

/// Keys and values. What is nothing, a list or an object is left out.
fn attributes(claim: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    claim.iter().filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect()
}

/// Checks tokens of one issuer.
pub struct Issuer {
    settings: IssuerSettings,
    claims: ClaimNames,
    keys: Arc<Keys>,
    users: Users,
    clock: SharedClock,
    /// Whether the log has that a token does not say since when its claims are so.
    has_warned: AtomicBool,
}

/// Whether the header names an asymmetric algorithm, so that the token is not one of ours.
pub fn is_external(token: &str) -> bool {
    decode_header(token).is_ok_and(|header| header.alg.family() != AlgorithmFamily::Hmac)
}

impl Issuer {
    /// Ignores symmetric algorithms in the settings.
    pub fn new(
        (mut settings, claims): (IssuerSettings, ClaimNames),
        keys: Arc<Keys>,
        users: Users,
        clock: SharedClock,
    ) -> Self {
        use_ring();
        settings.algorithms.retain(|algorithm| algorithm.family() != AlgorithmFamily::Hmac);
        Self { settings, claims, keys, users, clock, has_warned: AtomicBool::new(false) }
    }

    /// The viewer of `token`, and whom it is about. It names no session, and ends when it expires or its subject is
    /// this user no more.
    pub async fn verify(&self, token: &str) -> Result<(Viewer, SubjectDigest), IssuerError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        // No critical header is supported (RFC 7515 section 4.1.11).
        let is_plain = token.len() <= MAX_TOKEN_BYTES && header.crit.is_none();
        if !is_plain || !self.settings.algorithms.contains(&header.alg) {
            return Err(TokenError::Invalid.into());
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg).await?.ok_or(TokenError::Invalid)?;
        let claims = decode::<Claims>(token, &key, &self.validation(header.alg));
        let claims = claims.map_err(|_| TokenError::Invalid)?.claims;
        let (now, good_until_ms) = (self.clock.now_ms(), ms(claims.exp).saturating_add(LEEWAY_MS));
        if now >= good_until_ms {
            return Err(TokenError::Expired.into());
        }
        if claims.sub.is_empty() || claims.nbf.is_some_and(|nbf| ms(nbf) > now.saturating_add(LEEWAY_MS)) {
            return Err(TokenError::Invalid.into());
        }
        let profiled = self.claims.profiled(&claims.others);
        if profiled.updated_at.is_none() {
            self.warn_of_no_time();
        }
        let id = self.users.of(&claims.sub, &profiled).await?;
        Ok((Viewer::without_session(id, good_until_ms), self.users.subject(&claims.sub)))
    }

    /// Once, and only if profiles are to follow the claims.
    fn warn_of_no_time(&self) {
        if let Some(claim) = &self.claims.updated_at
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            let remedy = "let the issuer add the claim, name another one in issuer.claim_updated_at (\"iat\": each new \
                          token counts), or set issuer.sync = \"once\"";
            tracing::warn!(
                claim,
                remedy,
                "A token does not say since when its claims are so: no profile follows them."
            );
        }
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        // Times are checked above, against the injected clock.
        validation.validate_exp = false;
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        validation
    }
}

/// Converts a token's seconds, possibly fractional, to ms. Saturates.
fn ms(seconds: f64) -> i64 {
    const LAST: f64 = 9e15;
    let ms = (seconds * 1000.0).clamp(-LAST, LAST);
    #[expect(clippy::cast_possible_truncation, reason = "clamped to what an i64 holds exactly; no number is 0")]
    let ms = ms as i64;
    ms
}
