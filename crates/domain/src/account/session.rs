//! Sessions, and what each of their refresh tokens is good for.
//!
//! Using a refresh token returns the next one. For a short time the previous token still returns the same next one, so
//! a client whose answer was lost can ask again. A client that presents an older token shares the session with a
//! thief, or is one, so the session ends.

use crate::ids::{SessionId, UserId};

/// A stored session. Digests are in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its user.
    pub user: UserId,
    /// Digest of the part that all refresh tokens of the session share.
    pub family: String,
    /// Digest of the valid refresh token.
    pub current: String,
    /// Digest of the previous token, and the number from which the current one was derived.
    pub previous: Option<(String, String)>,
    /// When the current token was issued, ms UTC.
    pub rotated_at: i64,
    /// When the user signed in, ms UTC.
    pub created_at: i64,
    /// Until when the session can be refreshed, ms UTC.
    pub good_until: i64,
    /// The client's `User-Agent`.
    pub agent: String,
}

/// The meaning of a presented refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// The current one: return the next.
    Current,
    /// The previous one, whose answer may have been lost: return the current one again, derived with this number.
    Again(String),
    /// An older one: end the session.
    Reused,
    /// Not of this session, or the session is over.
    Unknown,
}

impl Session {
    /// `family` and `token` are digests of the presented token. The previous token is accepted for `grace_ms`.
    pub fn presented(&self, family: &str, token: &str, now_ms: i64, grace_ms: i64) -> Presented {
        if self.family != family || now_ms >= self.good_until {
            return Presented::Unknown;
        }
        if self.current == token {
            return Presented::Current;
        }
        match &self.previous {
            Some((previous, nonce)) if previous == token && now_ms - self.rotated_at < grace_ms => {
                Presented::Again(nonce.clone())
            }
            _ => Presented::Reused,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    fn session() -> Session {
        Session {
            id: SessionId::try_new(1).unwrap(),
            user: UserId::try_new(2).unwrap(),
            family: "f".to_owned(),
            current: "c".to_owned(),
            previous: Some(("p".to_owned(), "n".to_owned())),
            rotated_at: 1_000,
            created_at: 0,
            good_until: 100_000,
            agent: String::new(),
        }
    }

    #[test]
    fn the_previous_refresh_token_has_a_grace_period() {
        let of = |token, now| session().presented("f", token, now, 30_000);
        assert_eq!(of("c", 90_000), Presented::Current);
        assert_eq!(of("p", 30_999), Presented::Again("n".to_owned()));
        assert_eq!(of("p", 31_000), Presented::Reused);
        assert_eq!(of("o", 1_000), Presented::Reused);
    }

    #[test]
    fn a_token_of_another_family_ends_no_session() {
        assert_eq!(session().presented("g", "c", 1_000, 30_000), Presented::Unknown);
        assert_eq!(session().presented("f", "c", 100_000, 30_000), Presented::Unknown);
    }
}
