//! Sessions: each lasts until it is ended, expires, or is pushed out by newer ones.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    SessionId, UserId,
    account::session::{Presented, Session},
};

/// A presented refresh token, and what would follow it. Digests in hexadecimal.
#[derive(Debug, Clone)]
pub struct Rotation {
    /// The session.
    pub id: SessionId,
    /// Digest of the presented family.
    pub family: String,
    /// Digest of the presented token.
    pub token: String,
    /// The number from which the next token is derived.
    pub nonce: String,
    /// Digest of the next token.
    pub next: String,
    /// ms UTC.
    pub now_ms: i64,
    /// How long the previous token is accepted.
    pub grace_ms: i64,
    /// Until when the session can be refreshed afterwards.
    pub good_until: i64,
}

/// The outcome of beginning a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It has begun, and these have ended.
    Began(Vec<SessionId>),
    /// The id is taken: draw another.
    IdTaken,
    /// The user is deactivated.
    Deactivated,
}

/// Sessions.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// One transaction: begins the session, unless the user is deactivated, and ends the user's expired ones and the
    /// oldest beyond `keep`.
    async fn begin(&self, session: &Session, keep: u32) -> Result<Begun, StoreError>;

    /// The session. May return an expired one.
    async fn find(&self, id: SessionId) -> Result<Option<Session>, StoreError>;

    /// The sessions among `ids` that exist and are not over at `now_ms`, in any order. One statement for every 16384.
    async fn living(&self, ids: &[SessionId], now_ms: i64) -> Result<Vec<SessionId>, StoreError>;

    /// One transaction: decides by [`Session::presented`]. [`Presented::Current`] gives the session its next token,
    /// [`Presented::Reused`] ends it. Returns the user, too, unless the token is unknown.
    async fn rotate(&self, rotation: &Rotation) -> Result<(Presented, Option<UserId>), StoreError>;

    /// Ends a session of `user`; `false` if they have no such session.
    async fn end(&self, user: UserId, id: SessionId) -> Result<bool, StoreError>;

    /// Ends all of the user's sessions except the named one; returns the ended ones.
    async fn end_all(&self, user: UserId, except: Option<SessionId>) -> Result<Vec<SessionId>, StoreError>;

    /// The user's sessions that are not over at `now_ms`, newest first.
    async fn of_user(&self, user: UserId, now_ms: i64) -> Result<Vec<Session>, StoreError>;

    /// Deletes at most `limit` sessions that were over before `before_ms`; returns how many.
    async fn forget(&self, before_ms: i64, limit: u64) -> Result<u64, StoreError>;
}
