//! Sessions: sign-ins that last, each until it is ended, refreshed no more, or pushed out by newer ones.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{
    SessionId, UserId,
    account::session::{Presented, Session},
};

/// What a client presents and what it would get for it. Digests in hexadecimal.
#[derive(Debug, Clone)]
pub struct Rotation {
    /// Which session.
    pub id: SessionId,
    /// Digest of what was presented as family.
    pub family: String,
    /// Digest of what was presented as token.
    pub token: String,
    /// The number that makes the next token of the presented one.
    pub nonce: String,
    /// Digest of that next token.
    pub next: String,
    /// ms UTC.
    pub now_ms: i64,
    /// For how long the token before is taken.
    pub grace_ms: i64,
    /// Until when the session can be refreshed then.
    pub good_until: i64,
}

/// Sessions.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// One transaction: the session begins; those of the same user that are over, and the oldest beyond `keep`, end.
    /// Returns the ended ones; `None` if the id is taken: draw another.
    async fn begin(&self, session: &Session, keep: u32) -> Result<Option<Vec<SessionId>>, StoreError>;

    /// The session; one that is over may still be there.
    async fn find(&self, id: SessionId) -> Result<Option<Session>, StoreError>;

    /// Those of `ids` that are there and not over at `now_ms`, in any order. One statement for 16384 of them.
    async fn living(&self, ids: &[SessionId], now_ms: i64) -> Result<Vec<SessionId>, StoreError>;

    /// One transaction: decides by [`Session::presented`]; [`Presented::Current`] gives the session its next token,
    /// [`Presented::Reused`] ends it. With whose it is, unless unknown.
    async fn rotate(&self, rotation: &Rotation) -> Result<(Presented, Option<UserId>), StoreError>;

    /// Ends a session of `user`; `false` if they have no such session.
    async fn end(&self, user: UserId, id: SessionId) -> Result<bool, StoreError>;

    /// Ends all of the user's, but for one if it is named; returns the ended ones.
    async fn end_all(&self, user: UserId, except: Option<SessionId>) -> Result<Vec<SessionId>, StoreError>;

    /// The user's sessions that are not over at `now_ms`, newest first.
    async fn of_user(&self, user: UserId, now_ms: i64) -> Result<Vec<Session>, StoreError>;

    /// Deletes sessions that were over before `before_ms`, `limit` at most; returns how many.
    async fn forget(&self, before_ms: i64, limit: u64) -> Result<u64, StoreError>;
}
