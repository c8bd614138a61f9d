//! Writes down what services do. Calls that end at the same time share a statement.

use std::sync::{Arc, Mutex, PoisonError};

use quick_cache::sync::Cache;

use crate::{
    ambient::Ambient,
    domain::{UserId, account::service::ServiceName},
    store::{ServiceLog, service_log::LoggedCall},
    telemetry::metrics::{SERVICE_CALLS, SERVICE_CALLS_UNLOGGED},
};

/// Reads that are remembered, so that the same is not written down again.
const REMEMBERED: usize = 10_000;
/// How often the same read of the same service as the same user is written down at most, in ms.
const REPEATED_MS: i64 = 60_000;

/// The log of this node's calls.
pub struct CallLog {
    log: Arc<dyn ServiceLog>,
    waiting: Mutex<Vec<(LoggedCall, i64)>>,
    writing: tokio::sync::Mutex<()>,
    reads: Cache<(ServiceName, Option<UserId>, String, String), i64>,
    ambient: Ambient,
}

impl CallLog {
    /// A log that writes to `log`.
    pub fn new(log: Arc<dyn ServiceLog>, ambient: Ambient) -> Self {
        let reads = Cache::new(REMEMBERED);
        Self { log, waiting: Mutex::default(), writing: tokio::sync::Mutex::default(), reads, ambient }
    }

    /// Writes the lines of a call down. Afterwards the store has them, unless it takes nothing: the process's own log
    /// says so then.
    pub async fn note(&self, call: Vec<LoggedCall>) {
        let Some(first) = call.first() else { return };
        let outcome = if call.iter().all(|line| line.outcome == "OK") { "ok" } else { "refused" };
        metrics::counter!(SERVICE_CALLS, "service" => first.service.to_string(), "outcome" => outcome).increment(1);
        let lines = call.into_iter().map(|line| (line, self.ambient.rng.incarnation()));
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
        let _turn = self.writing.lock().await;
        let lines = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() {
            // Who had the turn before has written it.
            return;
        }
        if let Err(error) = self.log.log_calls(&lines).await {
            metrics::counter!(SERVICE_CALLS_UNLOGGED).increment(lines.len() as u64);
            for (call, _) in &lines {
                let (service, user) = (&call.service, call.user.map_or(0, UserId::get));
                let (operation, outcome) = (&call.operation, &call.outcome);
                let error = &error as &dyn std::error::Error;
                tracing::error!(%service, user, operation, outcome, error, "A service's call could not be logged.");
            }
        }
    }

    /// Writes a read down, unless the same was written down lately.
    pub async fn note_read(&self, call: LoggedCall) {
        let same = (call.service.clone(), call.user, call.operation.clone(), call.outcome.clone());
        if self.reads.get(&same).is_some_and(|at| (0..REPEATED_MS).contains(&(call.at_ms - at))) {
            return;
        }
        self.reads.insert(same, call.at_ms);
        self.note(vec![call]).await;
    }
}
