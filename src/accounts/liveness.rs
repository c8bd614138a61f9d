//! Tells whether what a request rests on still exists, from a cache of bounded age: its session, the key of its
//! service, the user as whom that acts, the link from an issuer's subject to its user.
//!
//! Announcements end them early in the cache; without them a node notices after the configured time at the latest. Open
//! sockets are checked in one statement for all.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use quick_cache::sync::Cache;
use tokio::{sync::broadcast, time::interval};
use tokio_util::sync::CancellationToken;

use super::{digest::hex, viewer::SubjectDigest};
use crate::{
    clock::SharedClock,
    domain::{ServiceKeyId, SessionId, UserId},
    store::{Accounts, StoreError, announcements::Announcement},
};

/// Ids in the cache. The store is asked about all others.
const REMEMBERED: usize = 100_000;
/// Shortest time between two checks of what is watched.
const SHORTEST_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// When an id was last known to be alive, ms UTC of this node's clock, read before the store was asked.
type SeenAt = i64;

/// An id of what ends one day.
#[async_trait]
pub trait Mortal: Copy + Eq + Hash + Send + Sync + 'static {
    /// Those among `ids` that are not over at `now_ms`, in any order. One statement for many.
    async fn living(accounts: &dyn Accounts, ids: &[Self], now_ms: i64) -> Result<Vec<Self>, StoreError>;

    /// Whose end this announces.
    fn ended_by(announcement: &Announcement) -> Option<Self>;
}

#[async_trait]
impl Mortal for SessionId {
    async fn living(accounts: &dyn Accounts, ids: &[Self], now_ms: i64) -> Result<Vec<Self>, StoreError> {
        accounts.living(ids, now_ms).await
    }

    fn ended_by(announcement: &Announcement) -> Option<Self> {
        if let Announcement::SessionEnded { session, .. } = announcement { Some(*session) } else { None }
    }
}

#[async_trait]
impl Mortal for ServiceKeyId {
    async fn living(accounts: &dyn Accounts, ids: &[Self], now_ms: i64) -> Result<Vec<Self>, StoreError> {
        accounts.living_keys(ids, now_ms).await
    }

    fn ended_by(_: &Announcement) -> Option<Self> {
        None
    }
}

/// A user lives as long as the account, and not while it is deactivated.
#[async_trait]
impl Mortal for UserId {
    async fn living(accounts: &dyn Accounts, ids: &[Self], _: i64) -> Result<Vec<Self>, StoreError> {
        accounts.active_among(ids).await
    }

    fn ended_by(announcement: &Announcement) -> Option<Self> {
        if let Announcement::AccountDeleted { user } = announcement { Some(*user) } else { None }
    }
}

/// A subject of an external issuer that is this user. It ends when it is another's, or nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubjectOf(pub UserId, pub SubjectDigest);

#[async_trait]
impl Mortal for SubjectOf {
    async fn living(accounts: &dyn Accounts, ids: &[Self], _: i64) -> Result<Vec<Self>, StoreError> {
        let digests: Vec<String> = ids.iter().map(|Self(_, digest)| hex(&digest.0)).collect();
        let found = accounts.identified(&digests).await?;
        let users: HashMap<&str, UserId> = found.iter().map(|it| (it.digest.as_str(), it.user)).collect();
        let living = ids.iter().zip(&digests).filter(|(id, digest)| users.get(digest.as_str()) == Some(&id.0));
        Ok(living.map(|(id, _)| *id).collect())
    }

    fn ended_by(_: &Announcement) -> Option<Self> {
        None
    }
}

/// What this node knows of the lives of ids.
pub struct Liveness<I> {
    accounts: Arc<dyn Accounts>,
    seen: Cache<I, SeenAt>,
    watched: Mutex<HashMap<I, (usize, CancellationToken)>>,
    trust: Duration,
    clock: SharedClock,
}

impl<I: Mortal> Liveness<I> {
    /// `trust`: how long an answer of the store is used. Zero asks the store each time.
    pub fn new(accounts: Arc<dyn Accounts>, trust: Duration, clock: SharedClock) -> Self {
        Self { accounts, seen: Cache::new(REMEMBERED), watched: Mutex::default(), trust, clock }
    }

    /// Whether it exists. A store that cannot be asked is an error and never means yes.
    pub async fn is_alive(&self, id: I) -> Result<bool, StoreError> {
        let now = self.clock.now_ms();
        let trust_ms = i64::try_from(self.trust.as_millis()).unwrap_or(i64::MAX);
        // If the clock was set back, an entry must not count as fresh.
        if self.seen.get(&id).is_some_and(|seen| (0..trust_ms).contains(&(now - seen))) {
            return Ok(true);
        }
        let alive = !I::living(&*self.accounts, &[id], now).await?.is_empty();
        if alive {
            self.seen.insert(id, now);
        } else {
            self.ended(id);
        }
        Ok(alive)
    }

    /// Makes this node treat it as ended from now on.
    pub fn ended(&self, id: I) {
        self.seen.remove(&id);
        if let Some((_, ended)) = self.watched().get(&id) {
            ended.cancel();
        }
    }

    /// Completes when this node knows that it has ended.
    pub async fn until_ended(self: Arc<Self>, id: I) {
        let watch = Watch::begin(self, id);
        watch.ended.cancelled().await;
    }

    /// Checks what is watched and follows `announcements` until the task is dropped.
    pub async fn run(&self, mut announcements: broadcast::Receiver<Announcement>) {
        let mut checks = interval(self.trust.max(SHORTEST_CHECK_INTERVAL));
        let mut open = true;
        loop {
            tokio::select! {
                _ = checks.tick() => self.check().await,
                announcement = announcements.recv(), if open => match announcement {
                    Ok(announcement) => I::ended_by(&announcement).into_iter().for_each(|id| self.ended(id)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => open = false,
                },
            }
        }
    }

    /// Checks all that is watched. After an error the next check asks again: meanwhile a socket gets nothing out of
    /// the store that is down.
    async fn check(&self) {
        let ids: Vec<I> = self.watched().keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        match I::living(&*self.accounts, &ids, self.clock.now_ms()).await {
            Ok(living) => {
                let living: HashSet<I> = living.into_iter().collect();
                ids.into_iter().filter(|id| !living.contains(id)).for_each(|id| self.ended(id));
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "The sign-ins behind open WebSockets could not be checked."
                );
            }
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<I, (usize, CancellationToken)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiter for one end.
struct Watch<I: Mortal> {
    liveness: Arc<Liveness<I>>,
    id: I,
    ended: CancellationToken,
}

impl<I: Mortal> Watch<I> {
    fn begin(liveness: Arc<Liveness<I>>, id: I) -> Self {
        let ended = {
            let mut watched = liveness.watched();
            let (count, ended) = watched.entry(id).or_default();
            *count += 1;
            ended.clone()
        };
        Self { liveness, id, ended }
    }
}

impl<I: Mortal> Drop for Watch<I> {
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
