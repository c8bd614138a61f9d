//! Admits operations: a number of each kind run at once, a number wait, and the others are refused at once.
//!
//! Queries and mutations have separate limits, so neither kind waits for the other. Subscriptions are bounded
//! elsewhere: by sockets, streams and their operations.

use std::{sync::Arc, time::Duration};

use async_graphql::parser::types::{OperationDefinition, OperationType, SelectionSet};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{
    limits::{AdmissionLimit, AdmissionLimits},
    outcome::{Refused, overloaded},
    public_operations::consists_of,
};
use crate::{guard::Prepared, measurements::MetricNames};

/// Operations with a common limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Query,
    Mutation,
}

/// Why an operation is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overload {
    /// Too many wait already.
    Full,
    /// It has waited too long.
    Late,
}

/// The limits of both kinds and their use.
pub(super) struct Admission {
    queries: Limit,
    mutations: Limit,
    /// Mutations without a limit.
    always: &'static [&'static str],
    names: MetricNames,
}

impl Admission {
    /// `always`: mutations that are never refused for load.
    pub(super) fn new(limits: AdmissionLimits, always: &'static [&'static str], names: MetricNames) -> Self {
        let (queries, mutations) = (Limit::new(limits.queries), Limit::new(limits.mutations));
        Self { queries, mutations, always, names }
    }

    /// Whether operations of some kind would be refused now.
    pub(super) fn is_full(&self) -> bool {
        self.queries.is_full() || self.mutations.is_full()
    }

    /// Refuses this operation if [`Self::admit`] would do so now.
    pub(super) fn refuse_early(&self, operation: &OperationDefinition) -> Result<(), Refused> {
        match self.kind(operation.ty, &operation.selection_set.node) {
            Some(kind) if self.limit(kind).is_full() => Err(self.refused(kind, Overload::Full)),
            _ => Ok(()),
        }
    }

    /// Waits for a permit to run, first come, first served; `None` for operations without a limit. A dropped caller
    /// makes room for the next.
    pub(super) async fn admit(&self, operation: &Prepared) -> Result<Option<Permit>, Refused> {
        let Some(kind) = self.kind(operation.operation_type(), &operation.selections().node) else { return Ok(None) };
        let limit = self.limit(kind);
        match limit.take(|| Gauged::new(self.names.operations_waiting, kind)).await {
            Ok(permit) => {
                let gauged = Gauged::new(self.names.operations_running, kind);
                Ok(Some(Permit { _permit: permit, _gauged: gauged }))
            }
            Err(overload) => Err(self.refused(kind, overload)),
        }
    }

    /// `None` for operations without a limit.
    fn kind(&self, operation: OperationType, selections: &SelectionSet) -> Option<Kind> {
        match operation {
            OperationType::Subscription => None,
            OperationType::Mutation if consists_of(selections, self.always) => None,
            OperationType::Mutation => Some(Kind::Mutation),
            OperationType::Query => Some(Kind::Query),
        }
    }

    fn limit(&self, kind: Kind) -> &Limit {
        match kind {
            Kind::Query => &self.queries,
            Kind::Mutation => &self.mutations,
        }
    }

    /// Counts the refusal.
    fn refused(&self, kind: Kind, overload: Overload) -> Refused {
        count_refused(self.names.operations_refused, kind, overload);
        overloaded()
    }
}

/// A permit to run, held until it is dropped.
pub(super) struct Permit {
    _permit: OwnedSemaphorePermit,
    _gauged: Gauged,
}

/// The limit of one kind.
struct Limit {
    free: Arc<Semaphore>,
    queue: Semaphore,
    wait_time: Duration,
}

impl Limit {
    fn new(limit: AdmissionLimit) -> Self {
        let semaphore = |permits: usize| Semaphore::new(permits.min(Semaphore::MAX_PERMITS));
        Self {
            free: Arc::new(semaphore(limit.running.max(1))),
            queue: semaphore(limit.waiting),
            wait_time: limit.wait_time,
        }
    }

    /// Whether another operation would be refused now.
    fn is_full(&self) -> bool {
        self.free.available_permits() == 0 && self.queue.available_permits() == 0
    }

    /// Waits for a permit. Calls `waits` if it has to wait, and drops its result after the wait.
    async fn take<T>(&self, waits: impl FnOnce() -> T) -> Result<OwnedSemaphorePermit, Overload> {
        // If a permit is free, nobody waits: the semaphore hands permits to waiters.
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(permit);
        }
        let _queued = self.queue.try_acquire().map_err(|_| Overload::Full)?;
        let _noted = waits();
        match timeout(self.wait_time, Arc::clone(&self.free).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(Overload::Late),
        }
    }
}

/// Raises a kind's gauge until it is dropped.
struct Gauged(&'static str, Kind);

impl Gauged {
    fn new(name: &'static str, kind: Kind) -> Self {
        gauge(name, kind).increment(1);
        Self(name, kind)
    }
}

impl Drop for Gauged {
    fn drop(&mut self) {
        gauge(self.0, self.1).decrement(1);
    }
}

/// Labels that are literals are not copied.
fn gauge(name: &'static str, kind: Kind) -> metrics::Gauge {
    match kind {
        Kind::Query => metrics::gauge!(name, "kind" => "query"),
        Kind::Mutation => metrics::gauge!(name, "kind" => "mutation"),
    }
}

fn count_refused(name: &'static str, kind: Kind, overload: Overload) {
    let kind = if kind == Kind::Query { "query" } else { "mutation" };
    let reason = if overload == Overload::Full { "full" } else { "late" };
    metrics::counter!(name, "kind" => kind, "reason" => reason).increment(1);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use async_graphql::Variables;
    use tokio::task::{JoinHandle, yield_now};

    use super::*;
    use crate::{guard::Guard, http::outcome::Reason};

    const WAIT: Duration = Duration::from_secs(2);

    fn limit(running: usize, waiting: usize) -> Arc<Limit> {
        Arc::new(Limit::new(AdmissionLimit { running, waiting, wait_time: WAIT }))
    }

    type Taken = Result<OwnedSemaphorePermit, Overload>;

    /// Spawns a request for a permit, which has begun to wait if it must.
    async fn asks(limit: &Arc<Limit>) -> JoinHandle<Taken> {
        let limit = Arc::clone(limit);
        #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
        let asked = tokio::spawn(async move { limit.take(|| ()).await });
        yield_now().await;
        asked
    }

    /// The result, if there is one without any time passing.
    async fn answered(asked: JoinHandle<Taken>) -> Option<Taken> {
        yield_now().await;
        if asked.is_finished() { Some(asked.await.unwrap()) } else { None }
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_first_is_served_first() {
        let limit = limit(1, 3);
        let running = limit.take(|| ()).await.unwrap();
        let [first, second, third] = [asks(&limit).await, asks(&limit).await, asks(&limit).await];
        drop(running);
        let first = answered(first).await.unwrap().unwrap();
        assert!(!second.is_finished() && !third.is_finished());
        // A new request does not overtake those that wait.
        let fourth = asks(&limit).await;
        drop(first);
        let second = answered(second).await.unwrap().unwrap();
        assert!(!third.is_finished() && !fourth.is_finished());
        drop(second);
        assert!(answered(third).await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_more_than_may_wait_is_refused_at_once() {
        let limit = limit(2, 1);
        let running = [limit.take(|| ()).await.unwrap(), limit.take(|| ()).await.unwrap()];
        let waiting = asks(&limit).await;
        let begin = tokio::time::Instant::now();
        assert_eq!(limit.take(|| ()).await.unwrap_err(), Overload::Full);
        assert_eq!(begin.elapsed(), Duration::ZERO);
        drop(running);
        assert!(waiting.await.unwrap().is_ok());
        assert!(limit.take(|| ()).await.is_ok(), "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_over_the_queue_time_is_refused() {
        let limit = limit(1, 1);
        let running = limit.take(|| ()).await.unwrap();
        let begin = tokio::time::Instant::now();
        assert_eq!(limit.take(|| ()).await.unwrap_err(), Overload::Late);
        assert_eq!(begin.elapsed(), WAIT);
        let waiting = asks(&limit).await;
        assert!(!waiting.is_finished(), "their place is free again");
        drop(running);
        assert!(answered(waiting).await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_request_frees_its_slot_and_its_turn() {
        let limit = limit(1, 2);
        let running = limit.take(|| ()).await.unwrap();
        let [leaving, staying] = [asks(&limit).await, asks(&limit).await];
        assert_eq!(limit.take(|| ()).await.unwrap_err(), Overload::Full);
        leaving.abort();
        assert!(leaving.await.unwrap_err().is_cancelled());
        let next = asks(&limit).await;
        assert!(!next.is_finished(), "there is a place to wait");
        drop(running);
        let served = answered(staying).await.unwrap().unwrap();
        assert!(!next.is_finished());
        drop(served);
        assert!(answered(next).await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn without_waiting_places_one_more_than_may_run_is_refused() {
        let limit = limit(1, 0);
        let running = limit.take(|| ()).await.unwrap();
        assert_eq!(limit.take(|| ()).await.unwrap_err(), Overload::Full);
        drop(running);
        assert!(limit.take(|| ()).await.is_ok());
    }

    fn prepared(query: &str) -> Arc<Prepared> {
        let guard = Guard::default();
        let document = guard.open(query).unwrap();
        guard.admit(&document, None, &mut Variables::default()).unwrap().operation
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_has_its_limit_and_some_operations_have_none() {
        let one = AdmissionLimit { running: 1, waiting: 0, wait_time: WAIT };
        let limits = AdmissionLimits { queries: one, mutations: one };
        let admission = Admission::new(limits, &["signOut", "leave"], MetricNames::default());
        let query = admission.admit(&prepared("{ page }")).await.unwrap();
        let mutation = admission.admit(&prepared("mutation { like }")).await.unwrap();
        assert!(query.is_some() && mutation.is_some());
        for (document, is_refused) in [
            ("{ page }", true),
            ("{ signOut }", true),
            ("mutation { like }", true),
            ("mutation { signOut like }", true),
            ("mutation { signOut: like }", true),
            ("mutation { signOut }", false),
            ("mutation { bye: signOut { done } leave __typename }", false),
            ("mutation { ...F } fragment F on Mutation { signOut }", true),
            ("subscription { feed }", false),
        ] {
            let admitted = admission.admit(&prepared(document)).await;
            match admitted {
                Ok(permit) => assert!(!is_refused && permit.is_none(), "{document}"),
                Err(refused) => assert!(is_refused && refused.reason == Reason::Overloaded, "{document}"),
            }
        }
        drop(query);
        assert!(admission.admit(&prepared("mutation { like }")).await.is_err(), "a query's place is a query's");
        assert!(admission.admit(&prepared("{ page }")).await.is_ok());
    }
}
