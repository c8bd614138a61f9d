//! Runs one operation whose results are sent one by one, over a WebSocket or an event stream.
//!
//! Both protocols use this file, so they apply the same limits and mask the same errors.

use std::{any::Any, collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_graphql::{Value, parser::types::OperationType};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::time::{Instant, sleep_until};

use super::{
    codes::{BAD_USER_INPUT, INTERNAL, UNAUTHENTICATED},
    engine::{AdmittedOperation, Execution},
    mask,
    outcome::{Payload, Reason, Refused, cost_extension, id_extension, too_large},
    params::{Params, ParamsError},
    request_id::RequestId,
    state::Core,
    viewer::{RequestContext, Viewer},
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
    type Encoded: Send;

    /// Encodes a result, which keeps the memory of `hold` until it is sent. `Err`: it exceeds the limit of an answer.
    fn event(&self, payload: Payload<'_>, hold: Hold) -> Result<Self::Encoded, TooLarge>;

    /// Sends a result; waits while there is no room.
    fn send(&self, event: Self::Encoded) -> impl Future<Output = ()> + Send;
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

/// An operation before its preparation.
pub(super) struct UnpreparedOperation<V> {
    /// `Err`: the parameters are malformed.
    pub(super) params: Result<Params, Refused>,
    pub(super) context: RequestContext<V>,
}

/// Runs `admitted` to its end. `Err`: why it did not begin or broke off, for the client.
///
/// The work is boxed by kind: a subscription, which is idle most of the time, takes no room of a query.
pub(super) fn run<'a, E: PreparedExecutor, V: Viewer>(
    core: &'a Core<E, V>,
    admitted: Box<AdmittedOperation>,
    context: RequestContext<V>,
    sink: &'a (impl OperationSink + Sync),
) -> BoxFuture<'a, Result<(), Refused>> {
    let request_id = context.request_id.clone();
    let work = if admitted.operation_type() == OperationType::Subscription {
        follow(core, admitted, context, sink).boxed()
    } else {
        answer(core, admitted, context, sink).boxed()
    };
    let masked = move |ended: std::thread::Result<_>| {
        let mut refused = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(refused)) => refused,
            Err(panic) => panicked(&*panic),
        };
        mask::mask(&mut refused.errors, &request_id);
        Err(refused)
    };
    AssertUnwindSafe(work).catch_unwind().map(masked).boxed()
}

fn panicked(panic: &(dyn Any + Send)) -> Refused {
    Refused { reason: Reason::Internal, errors: vec![mask::panicked(panic)], charge: None }
}

/// As [`run`], including the preparation. What only the preparation needs is dropped before the operation runs.
pub(super) async fn prepare_and_run<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    unprepared: Box<UnpreparedOperation<V>>,
    sink: &(impl OperationSink + Sync),
) -> Result<(), Refused> {
    let preparing = Box::pin(async move {
        let UnpreparedOperation { params, context } = *unprepared;
        match async { core.engine.prepare(params?, &context, |_| Ok(())).await }.await {
            Ok(admitted) => Ok(run(core, Box::new(admitted), context, sink)),
            Err(mut refused) => {
                mask::mask(&mut refused.errors, &context.request_id);
                Err(refused)
            }
        }
    });
    preparing.await?.await
}

/// A subscription: as many results as it has.
async fn follow<E: PreparedExecutor, V: Viewer, S: OperationSink>(
    core: &Core<E, V>,
    admitted: Box<AdmittedOperation>,
    context: RequestContext<V>,
    sink: &S,
) -> Result<(), Refused> {
    let most = core.settings.request.answer_bytes;
    let mut events = core.engine.subscribe(admitted, context);
    // Encoded at once: while it waits to be sent, only its JSON takes memory.
    while let Some(event) = events.next().await.map(|event| encoded(event, most, events.request_id(), sink)) {
        match event {
            Ok(event) => sink.send(event).await,
            Err(refused) => return Err(refused),
        }
    }
    Ok(())
}

/// A query or a mutation: one result.
async fn answer<E: PreparedExecutor, V: Viewer, S: OperationSink>(
    core: &Core<E, V>,
    admitted: Box<AdmittedOperation>,
    context: RequestContext<V>,
    sink: &S,
) -> Result<(), Refused> {
    let limits = core.settings.request;
    let Ok(execution) = tokio::time::timeout(limits.time, core.engine.execute(*admitted, &context)).await else {
        tracing::warn!("An operation took too long.");
        let message = format!("The operation took longer than {} seconds.", limits.time.as_secs_f32());
        return Err(Refused::new(Reason::TimedOut, INTERNAL, message));
    };
    let event = encoded(execution, limits.answer_bytes, &context.request_id, sink)?;
    sink.send(event).await;
    Ok(())
}

/// `execution` for its client, in at most `most` bytes.
fn encoded<S: OperationSink>(
    execution: Execution,
    most: usize,
    request_id: &RequestId,
    sink: &S,
) -> Result<S::Encoded, Refused> {
    match execution {
        Execution::Executed(mut response, budget) => {
            response.extensions.extend([id_extension(request_id)]);
            let event = sink.event(Payload::executed(&response), budget.take_hold());
            event.map_err(|TooLarge| too_large(most, request_id))
        }
        Execution::Refused(refused) => Err(refused),
    }
}
