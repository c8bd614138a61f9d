//! Serves waiting work in turn between clients. Each client has a share of what runs and of what waits, so that nobody
//! who asks for much shuts out others who ask for little.
//!
//! A free permit goes to the waiting client that has the fewest; among equals, to the one that was served least often
//! of late; then to the one that waits longest. If the queue is full, the newest of the client with the most waiting
//! gives way to one that has less, or as much and asks clearly less often: who asks seldom is served whatever others
//! ask.

mod counted;
mod state;
mod turn;

use std::{
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use self::counted::{Gauged, counted};
use self::state::State;
pub use self::turn::{Asked, Turn, Waiting};

/// A bound of what runs at once and of what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Permits.
    pub running: usize,
    /// Limits in the queue.
    pub waiting: usize,
}

/// The bounds of a [`FairQueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of all clients together.
    pub all: Limits,
    /// Of one client.
    pub one: Limits,
}

impl Bounds {
    /// Gives one client this percentage of both, rounded up: never nothing of what there is.
    pub fn shared(all: Limits, percent: usize) -> Self {
        let part = |of: usize| (of / 100).saturating_mul(percent).saturating_add((of % 100 * percent).div_ceil(100));
        Self { all, one: Limits { running: part(all.running), waiting: part(all.waiting) } }
    }
}

/// There is no place for this client: it has its share, or as many wait as may and none of them has more waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many wait already")]
pub struct Full;

/// Permits and a queue, shared by clients `K`. Clones share both. A client without any is forgotten.
pub struct FairQueue<K: Client>(Arc<Mutex<State<K>>>);

/// What can tell clients apart.
pub trait Client: Clone + Eq + Hash + Unpin {}

impl<K: Clone + Eq + Hash + Unpin> Client for K {}

impl<K: Client> FairQueue<K> {
    /// All permits are free.
    pub fn new(bounds: Bounds) -> Self {
        Self(Arc::new(Mutex::new(State::new(bounds))))
    }

    /// A permit, or a place in the queue.
    pub fn ask(&self, client: K) -> Result<Asked<K>, Full> {
        let mut state = self.state();
        let is_free = state.may_run(&client);
        let place = if is_free { Ok(None) } else { state.wait(&client).map(Some) };
        if is_free {
            state.run(&client);
        }
        state.note_ask(&client);
        Ok(match place? {
            Some(place) => Asked::Waits(Waiting::new(self.clone(), client, place)),
            None => Asked::Served(self.turn(client)),
        })
    }

    /// Waits for a permit. A dropped caller leaves its place.
    pub async fn take(&self, client: K) -> Result<Turn<K>, Full> {
        match self.ask(client)? {
            Asked::Served(turn) => Ok(turn),
            Asked::Waits(waiting) => waiting.await,
        }
    }

    /// Waits for a permit for work that has begun and given its permit back meanwhile. It waits before the client's
    /// other work, takes no place in the queue, and is never refused.
    pub async fn resume(&self, client: K) -> Turn<K> {
        let place = {
            let mut state = self.state();
            if state.may_run(&client) {
                state.run(&client);
                None
            } else {
                Some(state.wait_to_resume(&client))
            }
        };
        // Only the client's own share or a full queue refuse.
        if let Some(place) = place {
            let _ = Waiting::new(self.clone(), client.clone(), place).served().await;
        }
        self.turn(client)
    }

    /// Whether [`Self::ask`] would refuse this client now. If so, it counts as asked.
    pub fn is_full_for(&self, client: &K) -> bool {
        let mut state = self.state();
        let is_full = !state.may_run(client) && !state.may_wait(client);
        if is_full {
            state.note_ask(client);
        }
        is_full
    }

    /// Whether some client would be refused now, which costs less than [`Self::is_full_for`].
    pub fn may_refuse(&self) -> bool {
        self.state().may_refuse()
    }

    /// Whether anybody waits.
    pub fn has_waiting(&self) -> bool {
        self.state().has_waiting()
    }

    fn turn(&self, client: K) -> Turn<K> {
        Turn::new(self.clone(), client)
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Client> Clone for FairQueue<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Client> fmt::Debug for FairQueue<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FairQueue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
