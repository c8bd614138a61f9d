//! Tells whether a session still exists, from a cache of bounded age.
//!
//! Announcements end sessions early in the cache; without them a node notices after the configured time at the latest.
//! Open sockets are checked in one statement for all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use quick_cache::sync::Cache;
use tokio::{sync::broadcast, time::interval};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SharedClock,
    domain::SessionId,
    store::{Sessions, StoreError, announcements::Announcement},
};

/// Sessions in the cache. The store is asked about all others.
const REMEMBERED: usize = 100_000;
/// Shortest time between two checks of the watched sessions.
const SHORTEST_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// When a session was last known to be alive, ms UTC of this node's clock, read before the store was asked.
type SeenAt = i64;

/// What this node knows of sessions.
pub struct Liveness {
    sessions: Arc<dyn Sessions>,
    seen: Cache<SessionId, SeenAt>,
    watched: Mutex<HashMap<SessionId, (usize, CancellationToken)>>,
    trust: Duration,
    clock: SharedClock,
}

impl Liveness {
    /// `trust`: how long an answer of the store is used. Zero asks the store each time.
    pub fn new(sessions: Arc<dyn Sessions>, trust: Duration, clock: SharedClock) -> Self {
        Self { sessions, seen: Cache::new(REMEMBERED), watched: Mutex::default(), trust, clock }
    }

    /// Whether the session exists. A store that cannot be asked is an error and never means yes.
    pub async fn is_alive(&self, id: SessionId) -> Result<bool, StoreError> {
        let now = self.clock.now_ms();
        let trust_ms = i64::try_from(self.trust.as_millis()).unwrap_or(i64::MAX);
        // If the clock was set back, an entry must not count as fresh.
        if self.seen.get(&id).is_some_and(|seen| (0..trust_ms).contains(&(now - seen))) {
            return Ok(true);
        }
        let alive = !self.sessions.living(&[id], now).await?.is_empty();
        if alive {
            self.seen.insert(id, now);
        } else {
            self.ended(id);
        }
        Ok(alive)
    }

    /// Makes this node treat the session as ended from now on.
    pub fn ended(&self, id: SessionId) {
        self.seen.remove(&id);
        if let Some((_, ended)) = self.watched().get(&id) {
            ended.cancel();
        }
    }

    /// Completes when this node knows that the session has ended.
    pub async fn until_ended(self: Arc<Self>, id: SessionId) {
        let watch = Watch::begin(self, id);
        watch.ended.cancelled().await;
    }

    /// Checks the watched sessions and follows `announcements` until the task is dropped.
    pub async fn run(&self, mut announcements: broadcast::Receiver<Announcement>) {
        let mut checks = interval(self.trust.max(SHORTEST_CHECK_INTERVAL));
        let mut open = true;
        loop {
            tokio::select! {
                _ = checks.tick() => self.check().await,
                announcement = announcements.recv(), if open => match announcement {
                    Ok(Announcement::SessionEnded { session, .. }) => self.ended(session),
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => open = false,
                },
            }
        }
    }

    /// Checks all watched sessions. After an error the next check asks again: meanwhile a socket gets nothing out of
    /// the store that is down.
    async fn check(&self) {
        let ids: Vec<SessionId> = self.watched().keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        match self.sessions.living(&ids, self.clock.now_ms()).await {
            Ok(living) => {
                let living: std::collections::HashSet<SessionId> = living.into_iter().collect();
                ids.into_iter().filter(|id| !living.contains(id)).for_each(|id| self.ended(id));
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "The sessions behind open WebSockets could not be checked."
                );
            }
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<SessionId, (usize, CancellationToken)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiter for the end of one session.
struct Watch {
    liveness: Arc<Liveness>,
    id: SessionId,
    ended: CancellationToken,
}

impl Watch {
    fn begin(liveness: Arc<Liveness>, id: SessionId) -> Self {
        let ended = {
            let mut watched = liveness.watched();
            let (count, ended) = watched.entry(id).or_default();
            *count += 1;
            ended.clone()
        };
        Self { liveness, id, ended }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.liveness.watched();
        if let Some((count, _)) = watched.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.id);
            }
        }
    }
}
