//! Runs one operation whose results are sent one by one, over a WebSocket or an event stream.
//!
//! Both protocols use this file, so they apply the same limits and mask the same errors.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use async_graphql::{Value, parser::types::OperationType};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use tokio::time::{Instant, sleep_until};

use super::{
    codes::{BAD_USER_INPUT, INTERNAL, UNAUTHENTICATED},
    engine::{AdmittedOperation, Execution},
    mask,
    outcome::{Payload, Reason, Refused, cost_extension, id_extension, too_large},
    params::{Params, ParamsError},
    request_id::RequestId,
    state::Core,
    viewer::{Scope, Viewer},
};
use crate::{execution::PreparedExecutor, memory::Hold};

/// Streams and sockets close this long before their token ends, so that the client gets the protocol's own message
/// instead of a failing operation.
const BEFORE_THE_END: Duration = Duration::from_millis(100);

/// A result has too many bytes and was not sent.
#[derive(Debug)]
pub(super) struct TooLarge;

/// The destination of an operation's results.
pub(super) trait OperationSink {
    /// An encoded result.
    type Event: Send;

    /// Encodes a result, which keeps the memory of `hold` until it is sent. `Err`: it exceeds the limit of an answer.
    fn event(&self, payload: Payload<'_>, hold: Hold) -> Result<Self::Event, TooLarge>;

    /// Sends a result; waits while there is no room.
    fn send(&self, event: Self::Event) -> impl Future<Output = ()> + Send;
}

/// Completes when the connection of `viewer` must end: the token expires or the session was ended. Never completes
/// without a viewer.
pub(super) fn over<E, V: Viewer>(core: &Core<E, V>, viewer: Option<V>) -> BoxFuture<'static, ()> {
    let until = end_of(core, viewer.as_ref());
    let authenticate = Arc::clone(&core.authenticate);
    Box::pin(async move {
        let Some(viewer) = viewer else { return std::future::pending().await };
        tokio::select! {
            () = authenticate.until_revoked(&viewer) => {}
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {}
        }
    })
}

fn end_of<E, V: Viewer>(core: &Core<E, V>, viewer: Option<&V>) -> Option<Instant> {
    let left = core.authenticate.good_for(viewer?)?.saturating_sub(BEFORE_THE_END);
    Instant::now().checked_add(left)
}

/// The refusal at the end of a sign-in.
pub(super) fn signed_out(request_id: &RequestId) -> Refused {
    let mut refused = Refused::new(Reason::Unauthenticated, UNAUTHENTICATED, "The sign-in has ended. Sign in again.");
    mask::mask(&mut refused.errors, request_id);
    refused
}

pub(super) fn malformed(error: &ParamsError) -> Refused {
    Refused::new(Reason::Malformed, BAD_USER_INPUT, error.to_string())
}

/// The top-level extensions of a refusal.
pub(super) fn extensions_of(refused: &Refused, request_id: &RequestId) -> BTreeMap<String, Value> {
    refused.charge.iter().map(cost_extension).chain([id_extension(request_id)]).collect()
}

/// Runs `admitted` to its end. `Err`: why it did not begin or broke off, for the client.
pub(super) async fn run<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    admitted: Box<AdmittedOperation>,
    scope: Scope<V>,
    sink: &(impl OperationSink + Sync),
) -> Result<(), Refused> {
    let request_id = scope.request_id.clone();
    let work = async {
        if admitted.operation_type() == OperationType::Subscription {
            follow(core, admitted, scope, sink).await
        } else {
            // Boxed, because a subscription does not need its room.
            Box::pin(answer(core, admitted, &scope, sink)).await
        }
    };
    let ended = AssertUnwindSafe(work).catch_unwind().await;
    let mut refused = match ended {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(refused)) => refused,
        Err(panic) => {
            let errors = vec![mask::panicked(&*panic)];
            Refused { reason: Reason::Internal, errors, charge: None }
        }
    };
    mask::mask(&mut refused.errors, &request_id);
    Err(refused)
}

/// As [`run`], including the preparation from `params`, which are dropped before it runs.
pub(super) fn run_params<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    params: Result<Params, Refused>,
    scope: Scope<V>,
    sink: &(impl OperationSink + Sync),
) -> impl Future<Output = Result<(), Refused>> + Send {
    let preparing = Box::pin(async move {
        let admitted = async { core.engine.prepare(params?, &scope, |_| Ok(())).await.map(Box::new) }.await;
        (admitted, scope)
    });
    async move {
        // A separate statement, which drops what preparing needed.
        let (admitted, scope) = preparing.await;
        match admitted {
            Ok(admitted) => run(core, admitted, scope, sink).await,
            Err(mut refused) => {
                mask::mask(&mut refused.errors, &scope.request_id);
                Err(refused)
            }
        }
    }
}

/// A subscription: as many results as it has.
async fn follow<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    admitted: Box<AdmittedOperation>,
    scope: Scope<V>,
    sink: &impl OperationSink,
) -> Result<(), Refused> {
    let (request_id, most) = (scope.request_id.clone(), core.settings.request.answer_bytes);
    let with_id = id_extension(&request_id);
    let mut events = pin!(core.engine.subscribe(admitted, scope));
    while let Some(event) = events.next().await {
        match event {
            Execution::Executed(mut response, budget) => {
                response.extensions.extend([with_id.clone()]);
                let event = sink.event(Payload::executed(&response), budget.take_hold());
                // While it waits to be sent, only its JSON takes memory.
                drop(response);
                sink.send(event.map_err(|TooLarge| too_large(most, &request_id))?).await;
            }
            Execution::Refused(refused) => return Err(refused),
        }
    }
    Ok(())
}

/// A query or a mutation: one result.
async fn answer<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    admitted: Box<AdmittedOperation>,
    scope: &Scope<V>,
    sink: &impl OperationSink,
) -> Result<(), Refused> {
    let limit = core.settings.request.time;
    let Ok(execution) = tokio::time::timeout(limit, core.engine.execute(*admitted, scope)).await else {
        tracing::warn!("An operation took too long.");
        let message = format!("The operation took longer than {} seconds.", limit.as_secs_f32());
        return Err(Refused::new(Reason::TimedOut, INTERNAL, message));
    };
    match execution {
        Execution::Executed(mut response, budget) => {
            response.extensions.extend([id_extension(&scope.request_id)]);
            let event = sink.event(Payload::executed(&response), budget.take_hold());
            drop(response);
            let too_large = |TooLarge| too_large(core.settings.request.answer_bytes, &scope.request_id);
            sink.send(event.map_err(too_large)?).await;
            Ok(())
        }
        Execution::Refused(refused) => Err(refused),
    }
}
