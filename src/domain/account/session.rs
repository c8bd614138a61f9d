//! Sessions: what a refresh token of one is good for.
//!
//! Each use of a refresh token gives the next one. The token before is good for a moment longer and gives the same
//! next one again: a client whose answer was lost asks once more and is not taken for a thief. Any other token of the
//! family has been used before: two parties hold the family, and the session ends.

use crate::domain::ids::{SessionId, UserId};

/// A session as it is kept. Digests in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Which.
    pub id: SessionId,
    /// Whose.
    pub user: UserId,
    /// Digest of what all refresh tokens of the session share.
    pub family: String,
    /// Digest of the refresh token that is good now.
    pub current: String,
    /// Digest of the one before, and the number that made the present one of it.
    pub previous: Option<(String, String)>,
    /// When the present one was given, ms UTC.
    pub rotated_at: i64,
    /// When the user signed in, ms UTC.
    pub created_at: i64,
    /// Until when it can be refreshed, ms UTC.
    pub good_until: i64,
    /// What the client called itself.
    pub agent: String,
}

/// What a presented refresh token means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// It is the present one: give the next.
    Current,
    /// It is the one before, and its answer may have been lost: give the present one again, which this number makes of
    /// it.
    Again(String),
    /// It was used before: end the session.
    Reused,
    /// It is none of this session, or the session is over.
    Unknown,
}

impl Session {
    /// `family` and `token`: digests of what was presented; `grace_ms`: for how long the token before is taken.
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
    fn the_token_before_is_good_for_a_moment_and_older_ones_end_the_session() {
        let of = |token, now| session().presented("f", token, now, 30_000);
        assert_eq!(of("c", 90_000), Presented::Current);
        assert_eq!(of("p", 30_999), Presented::Again("n".to_owned()));
        assert_eq!(of("p", 31_000), Presented::Reused);
        assert_eq!(of("o", 1_000), Presented::Reused);
    }

    #[test]
    fn who_does_not_hold_the_family_can_end_nothing() {
        assert_eq!(session().presented("g", "c", 1_000, 30_000), Presented::Unknown);
        assert_eq!(session().presented("f", "c", 100_000, 30_000), Presented::Unknown);
    }
}
