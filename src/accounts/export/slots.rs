//! Limits the exports that a node writes at once: for each account, for each network, and in total. Networks are served
//! in turn.

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fair_queue::{Bounds, FairQueue, Limits, Turn};
use tokio::time::timeout;

use super::error::ExportError;
use crate::domain::{
    UserId,
    limits::{MAX_EXPORTS, MAX_EXPORTS_OF_NETWORK, MAX_EXPORTS_WAITING},
};

/// How long an export may wait for a slot: longer than who holds one may stop reading while another waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Copies under way.
#[derive(Debug, Clone)]
pub struct Slots {
    users: Arc<Mutex<HashSet<UserId>>>,
    networks: FairQueue<Option<IpAddr>>,
}

impl Default for Slots {
    fn default() -> Self {
        let bounds = Bounds {
            all: Limits { running: MAX_EXPORTS, waiting: MAX_EXPORTS_WAITING },
            one: Limits { running: MAX_EXPORTS_OF_NETWORK, waiting: MAX_EXPORTS_WAITING / 2 },
        };
        Self { users: Arc::default(), networks: FairQueue::new(bounds) }
    }
}

impl Slots {
    /// Waits in turn for a slot for an export of this user, whose client is in `network`.
    pub async fn take(&self, user: UserId, network: Option<IpAddr>) -> Result<ExportSlot, ExportError> {
        let own = OwnSlot::take(&self.users, user)?;
        match timeout(PATIENCE, self.networks.take(network)).await {
            Ok(Ok(turn)) => Ok(ExportSlot { _own: own, _turn: turn }),
            Ok(Err(_)) | Err(_) => Err(ExportError::NodeBusy),
        }
    }

    /// Whether somebody waits for a slot.
    pub fn are_waited_for(&self) -> bool {
        self.networks.has_waiting()
    }
}

/// A slot, taken until this is dropped.
#[derive(Debug)]
pub struct ExportSlot {
    _own: OwnSlot,
    _turn: Turn<Option<IpAddr>>,
}

/// The slot of a user.
#[derive(Debug)]
struct OwnSlot {
    users: Arc<Mutex<HashSet<UserId>>>,
    user: UserId,
}

impl OwnSlot {
    fn take(users: &Arc<Mutex<HashSet<UserId>>>, user: UserId) -> Result<Self, ExportError> {
        if users.lock().unwrap_or_else(PoisonError::into_inner).insert(user) {
            Ok(Self { users: Arc::clone(users), user })
        } else {
            Err(ExportError::ViewerBusy)
        }
    }
}

impl Drop for OwnSlot {
    fn drop(&mut self) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.user);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use futures_util::FutureExt as _;

    use super::*;

    fn user(id: usize) -> UserId {
        UserId::try_new(i64::try_from(id).unwrap()).unwrap()
    }

    fn network(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[tokio::test(start_paused = true)]
    async fn exports_are_bounded_per_user_network_and_node() {
        let slots = Slots::default();
        let mut held = Vec::new();
        for id in 1..=MAX_EXPORTS {
            let of = u8::from(id <= MAX_EXPORTS_OF_NETWORK);
            held.push(slots.take(user(id), Some(network(of))).await.unwrap());
        }
        assert!(matches!(slots.take(user(1), Some(network(3))).await, Err(ExportError::ViewerBusy)));
        assert!(matches!(slots.take(user(100), Some(network(3))).await, Err(ExportError::NodeBusy)));
        let waits = slots.take(user(100), Some(network(3)));
        let mut waits = Box::pin(waits);
        assert!((&mut waits).now_or_never().is_none() && slots.are_waited_for());
        held.pop();
        let last = waits.await;
        assert!(last.is_ok() && slots.users.lock().unwrap().len() == MAX_EXPORTS && !slots.are_waited_for());
    }

    #[tokio::test(start_paused = true)]
    async fn one_network_leaves_slots_to_others() {
        let slots = Slots::default();
        let mut held = Vec::new();
        for id in 1..=MAX_EXPORTS_OF_NETWORK {
            held.push(slots.take(user(id), Some(network(1))).await.unwrap());
        }
        assert!(matches!(slots.take(user(100), Some(network(1))).await, Err(ExportError::NodeBusy)));
        assert!(slots.take(user(100), Some(network(2))).await.is_ok());
    }
}
