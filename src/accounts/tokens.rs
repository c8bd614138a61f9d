//! Signs and verifies access tokens: JWT (RFC 7519) with HS256. They carry an identity, its session and an expiry.
//!
//! A token without a session is valid as long as its signature and expiry are, its user may sign in, and the key of the
//! service that asked for it exists: its maker holds the secret.
//!
//! Time comes from the injected clock; the library's own clock is off.

use std::{fmt, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    digest::{derived, digest, hex},
    signatures::use_ring,
    viewer::{IssuingKey, Viewer},
};
use crate::{
    clock::SharedClock,
    domain::{ServiceKeyId, SessionId, UserId},
};

const ISSUER: &str = "tidefeed";
/// Stands for the configured key of a service, which has no id.
const CONFIGURED: &str = "0";
/// Tolerated difference between the clocks of two nodes.
const LEEWAY_MS: i64 = 5_000;
/// As long as the output of the hash (RFC 7518 section 3.2).
const MIN_SECRET_BYTES: usize = 32;
/// Characters of a key's name.
const KID_CHARS: usize = 12;

/// Tokens whose signature is remembered.
const REMEMBERED: usize = 10_000;

/// The secret is too short to sign with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the token secret has {0} bytes and needs at least {MIN_SECRET_BYTES}: make one with `openssl rand -base64 48`"
)]
pub struct WeakSecret(pub usize);

/// Why a token could not be verified or signed. Reveals nothing about keys and claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token was not signed by this service, or is malformed.
    #[error("The token is not valid here. Sign in for a new one.")]
    Invalid,
    /// It was good once.
    #[error("The token has expired. Sign in for a new one.")]
    Expired,
    /// The library could not sign.
    #[error("The token could not be signed.")]
    Unsignable,
}

/// A secret and its name, which tokens carry as `kid`.
#[derive(Clone)]
pub struct TokenKey {
    kid: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl TokenKey {
    /// Takes a `secret` of at least 32 bytes, the same on every node. The name is its digest, so all nodes use the
    /// same one.
    pub fn try_new(secret: &[u8]) -> Result<Self, WeakSecret> {
        if secret.len() < MIN_SECRET_BYTES {
            return Err(WeakSecret(secret.len()));
        }
        use_ring();
        let (encoding, decoding) = (EncodingKey::from_secret(secret), DecodingKey::from_secret(secret));
        let kid = digest(&[b"signing key", secret]).chars().take(KID_CHARS).collect();
        Ok(Self { kid, encoding, decoding })
    }

    /// Derives a key from `secret` for one purpose. No other derived key accepts its signatures.
    pub fn for_purpose(secret: &[u8], purpose: &str) -> Result<Self, WeakSecret> {
        if secret.len() < MIN_SECRET_BYTES {
            return Err(WeakSecret(secret.len()));
        }
        Self::try_new(hex(&derived(secret, purpose.as_bytes())).as_bytes())
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenKey({}, ..)", self.kid)
    }
}

/// A token as the client gets it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// What to send as bearer token.
    pub text: String,
    /// Expiry in milliseconds UTC, in whole seconds.
    pub expires_at_ms: i64,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(.., until {})", self.expires_at_ms)
    }
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    iat: i64,
    exp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sid: Option<String>,
    /// The id of a service's key; 0: that of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// Issues tokens and checks them.
pub struct Tokens {
    signing: TokenKey,
    former: Vec<TokenKey>,
    ttl_ms: i64,
    clock: SharedClock,
    validation: Validation,
    /// The viewers of tokens with a verified signature, by the digest of the token. The keys never change, so they stay
    /// true. The expiry is checked at each use.
    signed: Cache<[u8; 32], Viewer>,
}

impl Tokens {
    /// Signs tokens with `key`; each is valid for `ttl`, in whole seconds.
    pub fn new(key: TokenKey, ttl: Duration, clock: SharedClock) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["iss", "sub", "exp"]);
        let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        Self { signing: key, former: Vec::new(), ttl_ms, clock, validation, signed: Cache::new(REMEMBERED) }
    }

    /// Also accepts tokens signed with `key` until they expire, for a change of the secret.
    #[must_use]
    pub fn with_former_key(mut self, key: TokenKey) -> Self {
        self.former.push(key);
        self
    }

    /// Signs a token for `user` that is valid while `session` exists. Returns its viewer, too.
    pub fn issue(&self, user: UserId, session: SessionId) -> Result<(Viewer, Token), TokenError> {
        self.issue_as(&Viewer { session: Some(session), ..Viewer::without_session(user, 0) })
    }

    /// Signs a token that ends with what the viewer's own rests on, and may name no session.
    pub fn issue_as(&self, viewer: &Viewer) -> Result<(Viewer, Token), TokenError> {
        self.sign(*viewer, self.ttl_ms)
    }

    /// Signs a token for `user` that is valid for `ttl_ms` while `key` exists, which is a service's.
    pub fn issue_by(&self, key: IssuingKey, user: UserId, ttl_ms: i64) -> Result<Token, TokenError> {
        let viewer = Viewer { issued_by: Some(key), ..Viewer::without_session(user, 0) };
        self.sign(viewer, ttl_ms).map(|(_, token)| token)
    }

    fn sign(&self, viewer: Viewer, ttl_ms: i64) -> Result<(Viewer, Token), TokenError> {
        let now = self.clock.now_ms();
        let exp = now.saturating_add(ttl_ms) / 1000;
        let (sub, sid) = (viewer.id.to_string(), viewer.session.map(|session| session.to_string()));
        let key = viewer.issued_by.map(|key| match key {
            IssuingKey::Stored(id) => id.to_string(),
            IssuingKey::Configured => CONFIGURED.to_owned(),
        });
        let claims = Claims { iss: ISSUER.to_owned(), sub, iat: now / 1000, exp, sid, key };
        let header = Header { kid: Some(self.signing.kid.clone()), ..Header::new(Algorithm::HS256) };
        let text = encode(&header, &claims, &self.signing.encoding).map_err(|_| TokenError::Unsignable)?;
        let token = Token { text, expires_at_ms: exp * 1000 };
        let good_until_ms = token.expires_at_ms.saturating_add(LEEWAY_MS);
        Ok((Viewer { good_until_ms, ..viewer }, token))
    }

    /// The viewer of a token with a valid signature and expiry. Does not check that the session exists, and gives `iat`
    /// no say (RFC 7519 section 4.1.6): the clocks of nodes differ.
    pub fn verify(&self, token: &str) -> Result<Viewer, TokenError> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let viewer = match self.signed.get(&digest) {
            Some(viewer) => viewer,
            None => self.read(token).inspect(|viewer| self.signed.insert(digest, *viewer))?,
        };
        if self.clock.now_ms() >= viewer.good_until_ms { Err(TokenError::Expired) } else { Ok(viewer) }
    }

    fn read(&self, token: &str) -> Result<Viewer, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        let claims = self.claims(token, header.kid.as_deref()).ok_or(TokenError::Invalid)?;
        let number = |text: &str| text.parse::<i64>().map_err(|_| TokenError::Invalid);
        let id = UserId::try_new(number(&claims.sub)?).map_err(|_| TokenError::Invalid)?;
        let session = claims.sid.as_deref().map(number).transpose()?;
        let session = session.map(SessionId::try_new).transpose().map_err(|_| TokenError::Invalid)?;
        let issued_by = match claims.key.as_deref() {
            None => None,
            Some(CONFIGURED) => Some(IssuingKey::Configured),
            Some(id) => {
                let id = ServiceKeyId::try_new(number(id)?).map_err(|_| TokenError::Invalid)?;
                Some(IssuingKey::Stored(id))
            }
        };
        let good_until_ms = claims.exp.saturating_mul(1000).saturating_add(LEEWAY_MS);
        Ok(Viewer { session, issued_by, ..Viewer::without_session(id, good_until_ms) })
    }

    /// The claims if one of our keys has signed them: the key with this name, or any key if no key has it.
    fn claims(&self, token: &str, kid: Option<&str>) -> Option<Claims> {
        let keys = || std::iter::once(&self.signing).chain(&self.former);
        let named = keys().find(|key| Some(key.kid.as_str()) == kid);
        let signed_by = |key: &TokenKey| decode::<Claims>(token, &key.decoding, &self.validation).ok();
        let signed = named.map_or_else(|| keys().find_map(signed_by), signed_by);
        signed.map(|token| token.claims)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::sync::Arc;

    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::*;
    use crate::clock::ManualClock;

    const NOW: i64 = 1_800_000_000_000;

    fn key(byte: u8) -> TokenKey {
        TokenKey::try_new(&[byte; 32]).unwrap()
    }

    fn tokens(key: TokenKey) -> (Tokens, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(NOW));
        (Tokens::new(key, Duration::from_mins(1), clock.clone()), clock)
    }

    fn user() -> UserId {
        UserId::try_new(7).unwrap()
    }

    fn session() -> SessionId {
        SessionId::try_new(9).unwrap()
    }

    /// Signed with the secret of `key(1)`, under any name.
    fn signed(claims: &serde_json::Value) -> String {
        use_ring();
        let header = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::HS256) };
        encode(&header, claims, &EncodingKey::from_secret(&[1; 32])).unwrap()
    }

    fn forged(header: &str, claims: &str) -> String {
        format!("{}.{}.", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn an_issued_token_speaks_for_its_user_until_it_ends() {
        let (tokens, clock) = tokens(key(1));
        let (issued, token) = tokens.issue(user(), session()).unwrap();
        assert_eq!(token.expires_at_ms, NOW + 60_000);
        let viewer = tokens.verify(&token.text).unwrap();
        let good_until_ms = NOW + 60_000 + LEEWAY_MS;
        let (session, issued_by) = (Some(session()), None);
        assert_eq!(viewer, Viewer { session, issued_by, ..Viewer::without_session(user(), good_until_ms) });
        assert_eq!(viewer, issued);
        clock.set(viewer.good_until_ms - 1);
        assert!(tokens.verify(&token.text).is_ok());
        clock.set(viewer.good_until_ms);
        assert_eq!(tokens.verify(&token.text), Err(TokenError::Expired));
    }

    #[test]
    fn a_services_token_names_its_key_and_its_own_end() {
        let (tokens, _) = tokens(key(1));
        for key in [IssuingKey::Configured, IssuingKey::Stored(ServiceKeyId::try_new(5).unwrap())] {
            let token = tokens.issue_by(key, user(), 120_000).unwrap();
            let viewer = tokens.verify(&token.text).unwrap();
            assert_eq!((viewer.id, viewer.session, viewer.issued_by), (user(), None, Some(key)));
            assert_eq!(token.expires_at_ms, NOW + 120_000);
        }
    }

    #[test]
    fn a_signature_is_remembered_and_the_time_is_checked_each_time() {
        let (tokens, clock) = tokens(key(1));
        let exp = NOW / 1000 + 60;
        let text = signed(&serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": NOW / 1000, "exp": exp}));
        for now in [NOW, NOW + 1, NOW + 2] {
            clock.set(now);
            assert!(tokens.verify(&text).is_ok());
        }
        clock.set(NOW + 60_000 + LEEWAY_MS);
        assert_eq!(tokens.verify(&text), Err(TokenError::Expired));
        assert_eq!(tokens.verify("Bearer x"), Err(TokenError::Invalid));
        assert_eq!(tokens.signed.len(), 1, "what nobody has signed is not kept");
    }

    #[test]
    fn a_token_is_taken_by_a_node_whose_clock_is_behind() {
        let (ahead, clock) = tokens(key(1));
        clock.set(NOW + 3_600_000);
        let (behind, _) = tokens(key(1));
        assert!(behind.verify(&ahead.issue(user(), session()).unwrap().1.text).is_ok());
    }

    #[test]
    fn a_token_with_any_character_changed_is_refused() {
        let (tokens, _) = tokens(key(1));
        let text = tokens.issue(user(), session()).unwrap().1.text;
        for (at, old) in text.char_indices() {
            let new = if old == 'A' { 'B' } else { 'A' };
            let tampered = format!("{}{new}{}", &text[..at], &text[at + 1..]);
            assert_eq!(tokens.verify(&tampered), Err(TokenError::Invalid), "character {at}");
        }
    }

    #[test]
    fn a_token_of_another_secret_is_refused_despite_our_key_id() {
        let (ours, _) = tokens(key(1));
        let (theirs, _) = tokens(TokenKey { kid: key(1).kid, ..key(2) });
        assert_eq!(ours.verify(&theirs.issue(user(), session()).unwrap().1.text), Err(TokenError::Invalid));
    }

    #[test]
    fn a_former_key_is_taken_and_an_unknown_one_is_not() {
        let (old, _) = tokens(key(1));
        let (new, _) = tokens(key(2));
        let token = old.issue(user(), session()).unwrap().1.text;
        assert_eq!(new.verify(&token), Err(TokenError::Invalid));
        assert!(new.with_former_key(key(1)).verify(&token).is_ok());
    }

    #[test]
    fn unsigned_and_foreign_texts_are_refused() {
        let (tokens, _) = tokens(key(1));
        let claims = r#"{"iss":"tidefeed","sub":"7","iat":1,"exp":9999999999}"#;
        for header in [r#"{"alg":"none","kid":"1"}"#, r#"{"alg":"HS256","kid":"1"}"#, r#"{"alg":"HS512","kid":"1"}"#] {
            assert_eq!(tokens.verify(&forged(header, claims)), Err(TokenError::Invalid), "{header}");
        }
        for text in ["", ".", "..", "a.b.c", "Bearer x"] {
            assert_eq!(tokens.verify(text), Err(TokenError::Invalid), "{text}");
        }
    }

    #[test]
    fn signed_claims_of_another_form_are_refused() {
        let (tokens, _) = tokens(key(1));
        let exp = NOW / 1000 + 60;
        for claims in [
            serde_json::json!({"iss": "other", "sub": "7", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "0", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "ann", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": 1}),
            serde_json::json!({"sub": "7", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": 1, "exp": exp, "sid": "0"}),
            serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": 1, "exp": exp, "sid": ""}),
            serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": 1, "exp": exp, "key": "x"}),
        ] {
            assert_eq!(tokens.verify(&signed(&claims)), Err(TokenError::Invalid), "{claims}");
        }
    }

    #[test]
    fn a_token_signed_elsewhere_needs_no_session_or_key_name() {
        let (tokens, _) = tokens(key(1));
        let text = signed(&serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": 1, "exp": NOW / 1000 + 60}));
        let viewer = tokens.verify(&text).unwrap();
        assert_eq!((viewer.id, viewer.session), (user(), None));
    }

    #[test]
    fn short_secrets_are_refused_and_none_is_shown() {
        assert_eq!(TokenKey::try_new(&[1; 31]).err(), Some(WeakSecret(31)));
        assert_eq!(format!("{:?}", key(b's')), format!("TokenKey({}, ..)", key(b's').kid));
    }
}
