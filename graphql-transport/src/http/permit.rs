//! The permit of an operation to run, which a resolver may give back for a while.

use std::sync::{Arc, Mutex, PoisonError};

use fair_queue::{FairQueue, Gauged, Turn};

use crate::payer::Payer;

/// A permit to run. Resolvers find it in the data of their request, unless the operation needs none.
#[derive(Debug, Clone)]
pub struct Permit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queue: FairQueue<Payer>,
    client: Payer,
    gauge: metrics::Gauge,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    _turn: Turn<Payer>,
    _gauged: Gauged,
}

impl Permit {
    /// `queue`: what `turn` is of. `gauge` counts those that run.
    pub(super) fn new(queue: FairQueue<Payer>, turn: Turn<Payer>, gauge: metrics::Gauge) -> Self {
        let client = *turn.client();
        let held = Mutex::new(Some(Held { _turn: turn, _gauged: Gauged::of(gauge.clone()) }));
        Self(Arc::new(Inner { queue, client, gauge, held }))
    }

    /// Runs `work` without the permit, so that another operation can run meanwhile. `work` bounds itself. Afterwards
    /// the operation waits until it may go on.
    pub async fn without<T>(&self, work: impl Future<Output = T>) -> T {
        // If several fields of an operation ask, the permit is away until the first comes back.
        let is_away = self.end();
        let done = work.await;
        if is_away {
            let turn = self.0.queue.resume(self.0.client).await;
            let gauged = Gauged::of(self.0.gauge.clone());
            *self.held() = Some(Held { _turn: turn, _gauged: gauged });
        }
        done
    }

    /// Gives it back; `false` if it was.
    pub(super) fn end(&self) -> bool {
        let held = self.held().take();
        held.is_some()
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<Held>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
