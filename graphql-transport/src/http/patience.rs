//! Makes refused clients wait who do not wait as they were told.
//!
//! A refusal for load says when to try again. A client that tries earlier and is refused again gets its answer only at
//! that time. So repeating at once costs the node no more than waiting does.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::payer::Payer;

/// Clients whose waits are known at once. Beyond that, every refusal waits.
const MOST: usize = 16_384;

/// The clients that were told to wait.
pub(super) struct Patience {
    wait: Duration,
    warned: Mutex<Warned>,
}

struct Warned {
    clients: HashMap<Payer, Warning>,
    /// When to forget those whose wait is over.
    forget_at: Instant,
}

/// What a client was told.
#[derive(Debug, Clone, Copy)]
struct Warning {
    /// Until when it was told to wait.
    until: Instant,
    /// Whether a refusal is held back until then, which says to wait once more.
    holds: bool,
}

impl Warning {
    /// The end of the last wait that a refusal has said.
    fn end(self, wait: Duration) -> Instant {
        if self.holds { self.until + wait } else { self.until }
    }
}

impl Patience {
    /// `wait`: what refusals say.
    pub(super) fn new(wait: Duration) -> Self {
        let warned = Warned { clients: HashMap::new(), forget_at: Instant::now() };
        Self { wait, warned: Mutex::new(warned) }
    }

    /// Notes a refusal. Returns how long it has to be held back; `None` if the client gets it at once.
    pub(super) fn refuse(&self, client: Payer) -> Option<Duration> {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if warned.forget_at <= now {
            warned.clients.retain(|_, warning| warning.end(self.wait) > now);
            warned.clients.shrink_to(MOST / 16);
            warned.forget_at = now + self.wait;
        }
        let is_full = warned.clients.len() >= MOST;
        match warned.clients.get_mut(&client) {
            Some(warning) if warning.end(self.wait) > now => {
                if warning.until <= now {
                    warning.until = warning.end(self.wait);
                }
                warning.holds = true;
                Some(warning.until - now)
            }
            None if is_full => Some(self.wait),
            _ => {
                warned.clients.insert(client, Warning { until: now + self.wait, holds: false });
                None
            }
        }
    }
}

/// Holds a refusal back for this time.
pub(super) async fn hold_back(time: Option<Duration>) {
    if let Some(time) = time {
        sleep(time).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn who_does_not_wait_is_answered_when_the_wait_is_over() {
        let patience = Patience::new(SECOND);
        let [ann, bob] = [Payer::Viewer(1), Payer::Viewer(2)];
        assert_eq!((patience.refuse(ann), patience.refuse(bob)), (None, None));
        advance(SECOND / 4).await;
        assert_eq!((patience.refuse(ann), patience.refuse(ann)), (Some(SECOND * 3 / 4), Some(SECOND * 3 / 4)));
        advance(SECOND * 3 / 4).await;
        assert_eq!((patience.refuse(ann), patience.refuse(ann)), (Some(SECOND), Some(SECOND)), "both have said: wait");
        advance(SECOND * 2).await;
        assert_eq!((patience.refuse(ann), patience.refuse(ann)), (None, Some(SECOND)), "it has waited");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bounded_number_of_clients_is_remembered() {
        let patience = Patience::new(SECOND);
        let clients = || (0..MOST as u64).map(Payer::Viewer);
        assert!(clients().all(|client| patience.refuse(client).is_none()));
        assert_eq!(patience.refuse(Payer::Unknown), Some(SECOND));
        advance(SECOND).await;
        assert_eq!(patience.refuse(Payer::Unknown), None);
        assert_eq!(patience.warned.lock().map_or(0, |warned| warned.clients.len()), 1);
    }
}
