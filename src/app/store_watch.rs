//! Watches whether the store takes writes: logs once when it stops and once when it takes them again.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

use crate::{
    lifecycle::Lifecycle,
    store::sql::{SqlStore, Writes},
    telemetry::metrics::STORE_TAKES_WRITES,
};

/// Time between two probes of a store that refuses writes. Otherwise there are no probes.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// Watches until the process drains.
pub fn watch(store: SqlStore, lifecycle: &Lifecycle) {
    let draining = lifecycle.draining();
    lifecycle.spawn("store watch", async move {
        let mut log = WritesLog::default();
        log.record(&Writes::Taken);
        let mut writes = store.writes();
        while draining.run_until_cancelled(look(&store, &mut writes)).await.is_some() {
            log.record(&writes.borrow_and_update().clone());
        }
    });
}

/// Waits for a change. Probes the store while it refuses writes.
async fn look(store: &SqlStore, writes: &mut watch::Receiver<Writes>) {
    if *writes.borrow() == Writes::Taken {
        // Cannot fail: the store holds the sender.
        let _ = writes.changed().await;
        return;
    }
    sleep(PROBE_EVERY).await;
    // The store remembers the outcome.
    let _ = store.probe_writes().await;
}

/// Whether the last log line said that the store refuses writes.
#[derive(Default)]
struct WritesLog(bool);

impl WritesLog {
    fn record(&mut self, writes: &Writes) {
        match writes {
            Writes::Refused(reason) if !self.0 => {
                tracing::error!(
                    reason,
                    "The store does not accept writes. Reads continue, and the node probes until writes work again."
                );
                self.0 = true;
            }
            Writes::Taken if self.0 => {
                tracing::info!("The store accepts writes again.");
                self.0 = false;
            }
            _ => {}
        }
        metrics::gauge!(STORE_TAKES_WRITES).set(if self.0 { 0.0 } else { 1.0 });
    }
}
