//! Tokens: JWT (RFC 7519), signed with HS256. They carry an identity and an end, nothing else.
//!
//! Apart, because it is the one place that trusts a signature. Time comes from the injected clock: the library's own
//! reading of the wall clock is off.

use std::{fmt, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};

use super::Viewer;
use crate::{clock::SharedClock, domain::UserId};

const ISSUER: &str = "tidefeed";
/// Clocks of two nodes may differ by this.
const LEEWAY_MS: i64 = 5_000;
/// As long as the output of the hash (RFC 7518 section 3.2).
const MIN_SECRET_BYTES: usize = 32;

/// The secret is too short to sign with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the token secret has {0} bytes and needs at least {MIN_SECRET_BYTES}: make one with `openssl rand -base64 48`"
)]
pub struct WeakSecret(pub usize);

/// Why a token gives no viewer, or none was made. Tells nothing about keys and claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not signed by this service, or not of its form.
    #[error("The token is not valid here. Sign in for a new one.")]
    Invalid,
    /// It was good once.
    #[error("The token has expired. Sign in for a new one.")]
    Expired,
    /// The library could not sign.
    #[error("The token could not be signed.")]
    Unsignable,
}

/// A secret and its name, by which a token says what it was signed with.
#[derive(Clone)]
pub struct TokenKey {
    kid: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl TokenKey {
    /// `secret`: at least 32 bytes, the same on every node.
    pub fn try_new(kid: &str, secret: &[u8]) -> Result<Self, WeakSecret> {
        if secret.len() < MIN_SECRET_BYTES {
            return Err(WeakSecret(secret.len()));
        }
        let (encoding, decoding) = (EncodingKey::from_secret(secret), DecodingKey::from_secret(secret));
        Ok(Self { kid: kid.to_owned(), encoding, decoding })
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
    /// When to sign in again; milliseconds UTC, whole seconds.
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
}

/// Issues tokens and checks them.
pub struct Tokens {
    signing: TokenKey,
    former: Vec<TokenKey>,
    ttl_ms: i64,
    clock: SharedClock,
    validation: Validation,
}

impl Tokens {
    /// Signs with `key` tokens that are good for `ttl`, to the second.
    pub fn new(key: TokenKey, ttl: Duration, clock: SharedClock) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["iss", "sub", "exp"]);
        let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        Self { signing: key, former: Vec::new(), ttl_ms, clock, validation }
    }

    /// Also takes tokens that were signed with `key`, as long as they last: for a change of the secret.
    #[must_use]
    pub fn with_former_key(mut self, key: TokenKey) -> Self {
        self.former.push(key);
        self
    }

    /// A token that speaks for `user`.
    pub fn issue(&self, user: UserId) -> Result<Token, TokenError> {
        let now = self.clock.now_ms();
        let exp = now.saturating_add(self.ttl_ms) / 1000;
        let claims = Claims { iss: ISSUER.to_owned(), sub: user.to_string(), iat: now / 1000, exp };
        let header = Header { kid: Some(self.signing.kid.clone()), ..Header::new(Algorithm::HS256) };
        let text = encode(&header, &claims, &self.signing.encoding).map_err(|_| TokenError::Unsignable)?;
        Ok(Token { text, expires_at_ms: exp * 1000 })
    }

    /// Whom `token` speaks for. An account that is gone since is not noticed: no store is asked.
    pub fn verify(&self, token: &str) -> Result<Viewer, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid)?;
        let key = self.key(header.kid.as_deref()).ok_or(TokenError::Invalid)?;
        let claims = decode::<Claims>(token, &key.decoding, &self.validation).map_err(|_| TokenError::Invalid)?.claims;
        let number: i64 = claims.sub.parse().map_err(|_| TokenError::Invalid)?;
        let id = UserId::try_new(number).map_err(|_| TokenError::Invalid)?;
        let now = self.clock.now_ms();
        if claims.iat.saturating_mul(1000) > now.saturating_add(LEEWAY_MS) {
            return Err(TokenError::Invalid);
        }
        let good_until_ms = claims.exp.saturating_mul(1000).saturating_add(LEEWAY_MS);
        if now >= good_until_ms { Err(TokenError::Expired) } else { Ok(Viewer { id, good_until_ms }) }
    }

    fn key(&self, kid: Option<&str>) -> Option<&TokenKey> {
        std::iter::once(&self.signing).chain(&self.former).find(|key| Some(key.kid.as_str()) == kid)
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

    fn key(kid: &str, byte: u8) -> TokenKey {
        TokenKey::try_new(kid, &[byte; 32]).unwrap()
    }

    fn tokens(key: TokenKey) -> (Tokens, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(NOW));
        (Tokens::new(key, Duration::from_mins(1), clock.clone()), clock)
    }

    fn user() -> UserId {
        UserId::try_new(7).unwrap()
    }

    fn forged(header: &str, claims: &str) -> String {
        format!("{}.{}.", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn an_issued_token_speaks_for_its_user_until_it_ends() {
        let (tokens, clock) = tokens(key("1", 1));
        let token = tokens.issue(user()).unwrap();
        assert_eq!(token.expires_at_ms, NOW + 60_000);
        let viewer = tokens.verify(&token.text).unwrap();
        assert_eq!(viewer, Viewer { id: user(), good_until_ms: NOW + 60_000 + LEEWAY_MS });
        clock.set(viewer.good_until_ms - 1);
        assert!(tokens.verify(&token.text).is_ok());
        clock.set(viewer.good_until_ms);
        assert_eq!(tokens.verify(&token.text), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_with_any_character_changed_is_refused() {
        let (tokens, _) = tokens(key("1", 1));
        let text = tokens.issue(user()).unwrap().text;
        for (at, old) in text.char_indices() {
            let new = if old == 'A' { 'B' } else { 'A' };
            let tampered = format!("{}{new}{}", &text[..at], &text[at + 1..]);
            assert_eq!(tokens.verify(&tampered), Err(TokenError::Invalid), "character {at}");
        }
    }

    #[test]
    fn a_token_of_another_secret_is_refused_even_under_the_same_key_id() {
        let (ours, _) = tokens(key("1", 1));
        let (theirs, _) = tokens(key("1", 2));
        assert_eq!(ours.verify(&theirs.issue(user()).unwrap().text), Err(TokenError::Invalid));
    }

    #[test]
    fn a_former_key_is_taken_and_an_unknown_one_is_not() {
        let (old, _) = tokens(key("1", 1));
        let (new, _) = tokens(key("2", 2));
        let token = old.issue(user()).unwrap().text;
        assert_eq!(new.verify(&token), Err(TokenError::Invalid));
        assert!(new.with_former_key(key("1", 1)).verify(&token).is_ok());
    }

    #[test]
    fn unsigned_and_foreign_texts_are_refused() {
        let (tokens, _) = tokens(key("1", 1));
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
        let (tokens, _) = tokens(key("1", 1));
        let exp = NOW / 1000 + 60;
        for claims in [
            serde_json::json!({"iss": "other", "sub": "7", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "0", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "ann", "iat": 1, "exp": exp}),
            serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": 1}),
            serde_json::json!({"iss": "tidefeed", "sub": "7", "iat": exp + 60, "exp": exp + 90}),
            serde_json::json!({"sub": "7", "iat": 1, "exp": exp}),
        ] {
            let header = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::HS256) };
            let text = encode(&header, &claims, &EncodingKey::from_secret(&[1; 32])).unwrap();
            assert_eq!(tokens.verify(&text), Err(TokenError::Invalid), "{claims}");
        }
    }

    #[test]
    fn short_secrets_are_refused_and_none_is_shown() {
        assert_eq!(TokenKey::try_new("1", &[1; 31]).err(), Some(WeakSecret(31)));
        assert_eq!(format!("{:?}", key("k", b's')), "TokenKey(k, ..)");
    }
}
