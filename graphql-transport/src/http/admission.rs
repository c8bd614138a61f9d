//! Admits operations: a number of each kind run at once, a number wait, and the others are refused. Clients are served
//! in turn, and each has a share.
//!
//! Queries, mutations, and both of services have separate limits, so no kind waits for another. Subscriptions are
//! bounded elsewhere: by sockets, streams and their operations.

use std::{sync::OnceLock, time::Duration};

use async_graphql::parser::types::{OperationDefinition, OperationType, SelectionSet};
use fair_queue::{Asked, Bounds, FairQueue, Full, Gauged, Limits, Turn};
use metrics::Gauge;
use tokio::time::timeout;

use super::{
    limits::{AdmissionLimit, AdmissionLimits},
    outcome::{COME_AGAIN, Refused, overloaded},
    patience::Patience,
    permit::Permit,
    proportion::Proportion,
    public_operations::consists_of,
};
use crate::{guard::Prepared, measurements::MetricNames, payer::Payer};

/// Operations with a common limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Query,
    Mutation,
    /// A query or a mutation of a service.
    OfService,
}

/// Why an operation is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overload {
    /// Too many wait already, or too many of this client.
    Full,
    /// It has waited too long.
    Late,
}

/// A refusal, and how long to hold it back: a client that does not wait as it was told gets it late.
#[derive(Debug)]
pub(super) struct Overloaded {
    pub(super) refused: Refused,
    pub(super) held_back: Option<Duration>,
}

/// The limits of each kind and their use.
pub(super) struct Admission {
    queries: Limit,
    mutations: Limit,
    services: Limit,
    /// Mutations without a limit.
    always: &'static [&'static str],
    patience: Patience,
    proportion: Proportion,
    names: MetricNames,
}

impl Admission {
    /// `always`: mutations that are never refused for load.
    pub(super) fn new(limits: AdmissionLimits, always: &'static [&'static str], names: MetricNames) -> Self {
        let limit = |limit| Limit::new(limit, limits.client_percent);
        let [queries, mutations, services] = [limits.queries, limits.mutations, limits.services].map(limit);
        let patience = Patience::new(Duration::from_secs(COME_AGAIN));
        Self { queries, mutations, services, always, patience, proportion: Proportion::new(), names }
    }

    /// Whether operations of some kind, and of some client, would be refused now.
    pub(super) fn may_refuse(&self) -> bool {
        [&self.queries, &self.mutations, &self.services].iter().any(|limit| limit.queue.may_refuse())
    }

    /// Refuses this operation if [`Self::admit`] would do so now.
    pub(super) fn refuse_early(&self, operation: &OperationDefinition, client: Payer) -> Result<(), Overloaded> {
        match self.kind(operation.ty, &operation.selection_set.node, client) {
            Some(kind) if self.limit(kind).queue.is_full_for(&client) => {
                Err(self.refused(kind, client, Overload::Full))
            }
            _ => Ok(()),
        }
    }

    /// Waits in turn for a permit to run; `None` for operations without a limit. A dropped caller makes room for the
    /// next.
    pub(super) async fn admit(&self, operation: &Prepared, client: Payer) -> Result<Option<Permit>, Overloaded> {
        let kind = self.kind(operation.operation_type(), &operation.selections().node, client);
        let Some(kind) = kind else { return Ok(None) };
        if kind == Kind::Mutation && self.proportion.refuses_mutation(client) {
            return Err(self.refused(kind, client, Overload::Full));
        }
        let limit = self.limit(kind);
        match limit.take(client, || Gauged::of(gauge(self.names.operations_waiting, kind))).await {
            Ok(turn) => {
                if kind == Kind::Query {
                    self.proportion.note_query(client, false);
                }
                let running = limit.running.get_or_init(|| gauge(self.names.operations_running, kind));
                Ok(Some(Permit::new(limit.queue.clone(), turn, running.clone())))
            }
            Err(overload) => Err(self.refused(kind, client, overload)),
        }
    }

    /// `None` for operations without a limit.
    fn kind(&self, operation: OperationType, selections: &SelectionSet, client: Payer) -> Option<Kind> {
        match operation {
            OperationType::Subscription => None,
            OperationType::Mutation if consists_of(selections, self.always) => None,
            _ if matches!(client, Payer::Service(_)) => Some(Kind::OfService),
            OperationType::Mutation => Some(Kind::Mutation),
            OperationType::Query => Some(Kind::Query),
        }
    }

    fn limit(&self, kind: Kind) -> &Limit {
        match kind {
            Kind::Query => &self.queries,
            Kind::Mutation => &self.mutations,
            Kind::OfService => &self.services,
        }
    }

    /// Counts the refusal.
    fn refused(&self, kind: Kind, client: Payer, overload: Overload) -> Overloaded {
        count_refused(self.names.operations_refused, kind, overload);
        if kind == Kind::Query {
            self.proportion.note_query(client, true);
        }
        Overloaded { refused: overloaded(), held_back: self.patience.refuse(client) }
    }
}

/// The limit of one kind.
struct Limit {
    queue: FairQueue<Payer>,
    wait_time: Duration,
    /// Counts those that run.
    running: OnceLock<Gauge>,
}

impl Limit {
    fn new(limit: AdmissionLimit, client_percent: usize) -> Self {
        let all = Limits { running: limit.running.max(1), waiting: limit.waiting };
        let queue = FairQueue::new(Bounds::shared(all, client_percent));
        Self { queue, wait_time: limit.wait_time, running: OnceLock::new() }
    }

    /// Waits for a permit. Calls `waits` if it has to wait, and drops its result after the wait.
    async fn take<T>(&self, client: Payer, waits: impl FnOnce() -> T) -> Result<Turn<Payer>, Overload> {
        let waiting = match self.queue.ask(client) {
            Ok(Asked::Served(turn)) => return Ok(turn),
            Ok(Asked::Waits(waiting)) => waiting,
            Err(Full) => return Err(Overload::Full),
        };
        let _noted = waits();
        match timeout(self.wait_time, waiting).await {
            Ok(served) => served.map_err(|Full| Overload::Full),
            Err(_) => Err(Overload::Late),
        }
    }
}

/// Labels that are literals are not copied.
fn gauge(name: &'static str, kind: Kind) -> Gauge {
    match kind {
        Kind::Query => metrics::gauge!(name, "kind" => "query"),
        Kind::Mutation => metrics::gauge!(name, "kind" => "mutation"),
        Kind::OfService => metrics::gauge!(name, "kind" => "service"),
    }
}

fn count_refused(name: &'static str, kind: Kind, overload: Overload) {
    let kind = match kind {
        Kind::Query => "query",
        Kind::Mutation => "mutation",
        Kind::OfService => "service",
    };
    let reason = if overload == Overload::Full { "full" } else { "late" };
    metrics::counter!(name, "kind" => kind, "reason" => reason).increment(1);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use std::sync::Arc;

    use async_graphql::Variables;
    use tokio::task::{JoinHandle, yield_now};

    use super::*;
    use crate::{guard::Guard, http::outcome::Reason};

    const WAIT: Duration = Duration::from_secs(2);

    fn limit(running: usize, waiting: usize) -> Arc<Limit> {
        Arc::new(Limit::new(AdmissionLimit { running, waiting, wait_time: WAIT }, 100))
    }

    const ANN: Payer = Payer::Viewer(1);

    type Taken = Result<Turn<Payer>, Overload>;

    /// Spawns a request for a permit, which has begun to wait if it must.
    async fn asks(limit: &Arc<Limit>) -> JoinHandle<Taken> {
        let limit = Arc::clone(limit);
        #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
        let asked = tokio::spawn(async move { limit.take(ANN, || ()).await });
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
        let running = limit.take(ANN, || ()).await.unwrap();
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
        let running = [limit.take(ANN, || ()).await.unwrap(), limit.take(ANN, || ()).await.unwrap()];
        let waiting = asks(&limit).await;
        let begin = tokio::time::Instant::now();
        assert_eq!(limit.take(ANN, || ()).await.unwrap_err(), Overload::Full);
        assert_eq!(begin.elapsed(), Duration::ZERO);
        drop(running);
        assert!(waiting.await.unwrap().is_ok());
        assert!(limit.take(ANN, || ()).await.is_ok(), "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_over_the_queue_time_is_refused() {
        let limit = limit(1, 1);
        let running = limit.take(ANN, || ()).await.unwrap();
        let begin = tokio::time::Instant::now();
        assert_eq!(limit.take(ANN, || ()).await.unwrap_err(), Overload::Late);
        assert_eq!(begin.elapsed(), WAIT);
        let waiting = asks(&limit).await;
        assert!(!waiting.is_finished(), "their place is free again");
        drop(running);
        assert!(answered(waiting).await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_request_frees_its_slot_and_its_turn() {
        let limit = limit(1, 2);
        let running = limit.take(ANN, || ()).await.unwrap();
        let [leaving, staying] = [asks(&limit).await, asks(&limit).await];
        assert_eq!(limit.take(ANN, || ()).await.unwrap_err(), Overload::Full);
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
        let running = limit.take(ANN, || ()).await.unwrap();
        assert_eq!(limit.take(ANN, || ()).await.unwrap_err(), Overload::Full);
        drop(running);
        assert!(limit.take(ANN, || ()).await.is_ok());
    }

    fn prepared(query: &str) -> Arc<Prepared> {
        let guard = Guard::default();
        let document = guard.open(query).unwrap();
        guard.admit(&document, None, &mut Variables::default()).unwrap().operation
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_has_its_limit_and_some_operations_have_none() {
        let one = AdmissionLimit { running: 1, waiting: 0, wait_time: WAIT };
        let limits = AdmissionLimits { queries: one, mutations: one, ..AdmissionLimits::default() };
        let admission = Admission::new(limits, &["signOut", "leave"], MetricNames::default());
        let query = admission.admit(&prepared("{ page }"), ANN).await.unwrap();
        let mutation = admission.admit(&prepared("mutation { like }"), ANN).await.unwrap();
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
            let admitted = admission.admit(&prepared(document), ANN).await;
            match admitted {
                Ok(permit) => assert!(!is_refused && permit.is_none(), "{document}"),
                Err(refused) => assert!(is_refused && refused.refused.reason == Reason::Overloaded, "{document}"),
            }
        }
        drop(query);
        assert!(admission.admit(&prepared("mutation { like }"), ANN).await.is_err(), "a query's place is a query's");
        assert!(admission.admit(&prepared("{ page }"), ANN).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn services_and_viewers_take_no_places_of_each_other() {
        let one = AdmissionLimit { running: 1, waiting: 0, wait_time: WAIT };
        let limits = AdmissionLimits { queries: one, mutations: one, services: one, client_percent: 100 };
        let admission = Admission::new(limits, &[], MetricNames::default());
        let (page, like) = (prepared("{ page }"), prepared("mutation { like }"));
        let nightly = admission.admit(&page, Payer::Service(1)).await.unwrap();
        assert!(admission.admit(&like, Payer::Service(2)).await.is_err(), "services share their places");
        let ann = [admission.admit(&page, ANN).await.unwrap(), admission.admit(&like, ANN).await.unwrap()];
        drop(nightly);
        assert!(admission.admit(&like, Payer::Service(2)).await.is_ok(), "whatever viewers have");
        drop(ann);
    }
}
