//! Refresh tokens as clients hold them: a session, a value shared by the session's tokens, and 256 bits of their own.
//!
//! The store keeps digests only. The next token derives from the present one and a number that only the store has:
//! stealing either is not enough, and a client that lost an answer can get the same token again.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::digest::{DIGEST_BYTES, derived, digest};
use crate::{domain::SessionId, rng::SharedRng};

const ID_BYTES: usize = 8;
const FAMILY_BYTES: usize = 16;
const BYTES: usize = ID_BYTES + FAMILY_BYTES + DIGEST_BYTES;

/// A refresh token in clear.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshToken {
    /// Of which session.
    pub session: SessionId,
    family: [u8; FAMILY_BYTES],
    secret: [u8; DIGEST_BYTES],
}

impl fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RefreshToken({}, ..)", self.session)
    }
}

impl RefreshToken {
    /// The first one of `session`.
    pub fn generate(session: SessionId, rng: &SharedRng) -> Self {
        let (mut family, mut secret) = ([0; FAMILY_BYTES], [0; DIGEST_BYTES]);
        rng.fill(&mut family);
        rng.fill(&mut secret);
        Self { session, family, secret }
    }

    /// The token that follows this one under `nonce`.
    #[must_use]
    pub fn next(&self, nonce: &str) -> Self {
        Self { session: self.session, family: self.family, secret: derived(&self.secret, nonce.as_bytes()) }
    }

    /// What is kept of the family.
    pub fn family_digest(&self) -> String {
        digest(&[b"family", &self.family])
    }

    /// What is kept of the token.
    pub fn digest(&self) -> String {
        digest(&[b"refresh", &self.secret])
    }

    /// As the client gets it.
    pub fn text(&self) -> String {
        let id = self.session.get().to_be_bytes();
        URL_SAFE_NO_PAD.encode([id.as_slice(), &self.family, &self.secret].concat())
    }

    /// Parses a token from a client; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; BYTES];
        let length = URL_SAFE_NO_PAD.decode_slice(text.trim(), &mut bytes).ok()?;
        let (id, rest) = bytes.get(..length)?.split_first_chunk::<ID_BYTES>()?;
        let (family, secret) = rest.split_first_chunk::<FAMILY_BYTES>()?;
        let session = SessionId::try_new(i64::from_be_bytes(*id)).ok()?;
        Some(Self { session, family: *family, secret: secret.try_into().ok()? })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written_and_nothing_else_is() {
        let token = RefreshToken::generate(SessionId::try_new(7).unwrap(), &SharedRng::from_seed(1));
        assert_eq!(RefreshToken::parse(&token.text()), Some(token.clone()));
        for bad in ["", "a", &token.text()[1..], &format!("{}A", token.text())] {
            assert_eq!(RefreshToken::parse(bad), None, "{bad}");
        }
        assert_eq!(format!("{token:?}"), "RefreshToken(7, ..)");
    }

    #[test]
    fn the_next_token_is_of_the_family_and_the_same_each_time() {
        let token = RefreshToken::generate(SessionId::try_new(7).unwrap(), &SharedRng::from_seed(1));
        let next = token.next("n");
        assert_eq!(next, token.next("n"));
        assert_eq!(next.family_digest(), token.family_digest());
        assert!(next.digest() != token.digest() && next.digest() != token.next("m").digest());
    }
}
