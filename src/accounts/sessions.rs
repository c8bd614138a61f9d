//! Session commands: begin, refresh, end, list. Access tokens are short-lived and name their session; refresh tokens
//! give new ones.
//!
//! Passwords and issuers only decide whether a session may begin.

use std::{sync::Arc, time::Duration};

use super::{
    digest::hex,
    error::AccountError,
    liveness::Liveness,
    refresh::RefreshToken,
    tokens::{Token, Tokens},
    viewer::{Caller, Viewer},
};
use crate::{
    ambient::Ambient,
    domain::{
        SessionId, UserId,
        account::session::{Presented, Session},
        limits::{MAX_AGENT_CHARS, MAX_SESSIONS},
    },
    read::Readers,
    store::{
        Announcements, Ports, Sessions, StoreError,
        announcements::Announcement,
        sessions::{Begun, Rotation},
    },
    telemetry::{
        metrics::{REFRESHES, SESSIONS_ENDED},
        notifications::note_lost,
    },
};

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// From the last refresh on.
    pub idle: Duration,
    /// How long a used refresh token returns the same answer again.
    pub grace: Duration,
    /// How long a node may accept a session after another node has ended it.
    pub revocation: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            idle: Duration::from_hours(30 * 24),
            grace: Duration::from_secs(30),
            revocation: Duration::from_secs(10),
        }
    }
}

/// Somebody with new tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// Who.
    pub viewer: Viewer,
    /// For requests.
    pub token: Token,
    /// Exchanges once for the next pair of tokens.
    pub refresh: Token,
}

/// How a refresh ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// New tokens.
    Refreshed(SignedIn),
    /// The token is unknown, its session has ended, or it was used before, which ends the session. The answer does not
    /// tell which.
    Ended,
}

/// Begins, refreshes and ends sessions.
pub struct SessionsService {
    sessions: Arc<dyn Sessions>,
    announcements: Arc<dyn Announcements>,
    tokens: Arc<Tokens>,
    liveness: Arc<Liveness<SessionId>>,
    readers: Arc<Readers>,
    settings: SessionSettings,
    ambient: Ambient,
}

impl SessionsService {
    /// `tokens` must use the same clock.
    pub fn new(
        ports: &Ports,
        tokens: Arc<Tokens>,
        readers: Arc<Readers>,
        settings: SessionSettings,
        ambient: Ambient,
    ) -> Self {
        let (sessions, announcements): (Arc<dyn Sessions>, _) = (ports.accounts.clone(), ports.announcements.clone());
        let liveness = Arc::new(Liveness::new(ports.accounts.clone(), settings.revocation, ambient.clock.clone()));
        Self { sessions, announcements, tokens, liveness, readers, settings, ambient }
    }

    /// This node's cache of sessions. The caller runs [`Liveness::run`].
    pub fn liveness(&self) -> Arc<Liveness<SessionId>> {
        Arc::clone(&self.liveness)
    }

    /// Begins a session of `user`. Ends their oldest ones beyond [`MAX_SESSIONS`].
    pub async fn begin(&self, user: UserId, caller: &Caller) -> Result<SignedIn, AccountError> {
        let (now, rng) = (self.now_ms(), &self.ambient.rng);
        for random in rng.draws() {
            let id = SessionId::generate(now, random);
            let refresh = RefreshToken::generate(id, rng);
            let session = Session {
                id,
                user,
                family: refresh.family_digest(),
                current: refresh.digest(),
                previous: None,
                rotated_at: now,
                created_at: now,
                good_until: self.good_until(now),
                agent: printable(&caller.agent),
            };
            match self.sessions.begin(&session, MAX_SESSIONS).await? {
                Begun::Began(ended) => {
                    self.announce_ended(user, &ended).await;
                    self.readers.note_present(user).await;
                    return self.signed_in(user, &refresh, now);
                }
                Begun::Deactivated => return Err(AccountError::Deactivated),
                Begun::IdTaken => {}
            }
        }
        Err(AccountError::NoFreeId)
    }

    /// New tokens for a refresh token.
    pub async fn refresh(&self, text: &str) -> Result<RefreshOutcome, AccountError> {
        let Some(token) = RefreshToken::parse(text) else { return Ok(RefreshOutcome::Ended) };
        let now = self.now_ms();
        let mut nonce = [0; 32];
        self.ambient.rng.fill(&mut nonce);
        let nonce = hex(&nonce);
        let rotation = Rotation {
            id: token.session,
            family: token.family_digest(),
            token: token.digest(),
            next: token.next(&nonce).digest(),
            nonce: nonce.clone(),
            now_ms: now,
            grace_ms: i64::try_from(self.settings.grace.as_millis()).unwrap_or(i64::MAX),
            good_until: self.good_until(now),
        };
        let (presented, user) = self.sessions.rotate(&rotation).await?;
        let outcome = match &presented {
            Presented::Current => "refreshed",
            Presented::Again(_) => "repeated",
            Presented::Reused => "reused",
            Presented::Unknown => "unknown",
        };
        metrics::counter!(REFRESHES, "outcome" => outcome).increment(1);
        match (presented, user) {
            (Presented::Current, Some(user)) => {
                self.readers.note_present(user).await;
                Ok(RefreshOutcome::Refreshed(self.signed_in(user, &token.next(&nonce), now)?))
            }
            (Presented::Again(nonce), Some(user)) => {
                Ok(RefreshOutcome::Refreshed(self.signed_in(user, &token.next(&nonce), now)?))
            }
            (Presented::Reused, Some(user)) => {
                tracing::warn!(%user, session = %token.session, "A refresh token was used twice. Its session has been ended.");
                self.announce_ended(user, &[token.session]).await;
                Ok(RefreshOutcome::Ended)
            }
            _ => Ok(RefreshOutcome::Ended),
        }
    }

    /// Ends one session of `user`; `false` if there is no such session.
    pub async fn end(&self, user: UserId, id: SessionId) -> Result<bool, StoreError> {
        let ended = self.sessions.end(user, id).await?;
        if ended {
            self.announce_ended(user, &[id]).await;
        }
        Ok(ended)
    }

    /// Ends all sessions of `user` except `except`, and returns how many.
    pub async fn end_all(&self, user: UserId, except: Option<SessionId>) -> Result<usize, StoreError> {
        let ended = self.sessions.end_all(user, except).await?;
        self.announce_ended(user, &ended).await;
        Ok(ended.len())
    }

    /// Announces a deleted account and the sessions that ended with it, so that other nodes and subscribers drop both.
    pub async fn account_deleted(&self, user: UserId, ended: &[SessionId]) {
        self.announce_ended(user, ended).await;
        self.announce(&Announcement::AccountDeleted { user }).await;
    }

    /// The user's sessions, newest first.
    pub async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.sessions.of_user(user, self.now_ms()).await
    }

    /// Ends the sessions on this node and announces them to the others.
    pub(super) async fn announce_ended(&self, user: UserId, ended: &[SessionId]) {
        for session in ended {
            self.liveness.ended(*session);
        }
        announce_ended(&*self.announcements, user, ended).await;
    }

    async fn announce(&self, announcement: &Announcement) {
        // If the announcement is lost, other nodes notice at their next check.
        note_lost("announcement", self.announcements.announce(announcement).await);
    }

    fn signed_in(&self, user: UserId, refresh: &RefreshToken, now: i64) -> Result<SignedIn, AccountError> {
        let (viewer, token) = self.tokens.issue(user, refresh.session)?;
        let refresh = Token { text: refresh.text(), expires_at_ms: self.good_until(now) };
        Ok(SignedIn { viewer, token, refresh })
    }

    fn good_until(&self, now: i64) -> i64 {
        now.saturating_add(i64::try_from(self.settings.idle.as_millis()).unwrap_or(i64::MAX))
    }

    fn now_ms(&self) -> i64 {
        self.ambient.now_ms()
    }
}

/// Announces ended sessions to every node.
pub(super) async fn announce_ended(announcements: &dyn Announcements, user: UserId, ended: &[SessionId]) {
    metrics::counter!(SESSIONS_ENDED).increment(ended.len() as u64);
    for &session in ended {
        let announcement = Announcement::SessionEnded { user, session };
        // If it is lost, nodes notice at their next check.
        note_lost("announcement", announcements.announce(&announcement).await);
    }
}

/// The client's `User-Agent` without control characters, cut to its bound.
fn printable(agent: &str) -> String {
    agent.chars().filter(|c| !c.is_control()).take(MAX_AGENT_CHARS).collect()
}
