//! The single connection mode, for browsers that open at most six connections. PUT reserves a stream, GET opens it with
//! the token; further requests send operations, whose results the stream carries, and cancel them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderValue, Response, StatusCode, header},
};
use futures_util::{StreamExt as _, future::BoxFuture};
use serde::Serialize;
use tokio::{sync::mpsc::channel, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    framing::event,
    stream::{StreamPermit, body, response, send, take_permit},
    streams::{Reserved, parameter, token_of},
};
use crate::{
    execution::PreparedExecutor,
    http::{
        codes::{BAD_USER_INPUT, RATE_LIMITED},
        engine::AdmittedOperation,
        outcome::{COME_AGAIN, Payload, Reason, Refused, json_within},
        request_id::RequestId,
        runner::{self, OperationSink, TooLarge, extensions_of, over, signed_out},
        state::Core,
        viewer::{RequestContext, Viewer},
    },
    memory::Hold,
};

/// Time for operations to report that the session has ended.
const FAREWELL: Duration = Duration::from_secs(1);
/// Points of a reservation: as many as the cheapest operation costs.
const RESERVATION_POINTS: u64 = 1;
/// Characters of an operation's id.
const ID_CHARS: usize = 128;

/// Reserves a stream and answers 201 with its token, which opens it once.
pub fn reserve<E: PreparedExecutor, V: Viewer>(
    core: &Arc<Core<E, V>>,
    context: RequestContext<V>,
) -> Result<Response<Body>, Refused> {
    core.engine.charge(&context, RESERVATION_POINTS)?;
    let permit = take_permit(core, &context)?;
    // Twice as long as a request's id, because guessing the token would open the stream.
    let token = [RequestId::new(&core.entropy), RequestId::new(&core.entropy)].map(|half| half.to_string()).concat();
    let (events, queue) = channel(core.settings.stream.queued_events.max(1));
    let reserved = Arc::new(Reserved {
        events,
        queue: Mutex::new(Some(queue)),
        operations: Mutex::default(),
        opened: CancellationToken::new(),
        ended: CancellationToken::new(),
    });
    core.streams.with(|streams| streams.insert(token.clone(), Arc::clone(&reserved)));
    let (of_task, name, over) = (Arc::clone(core), token.clone(), over(core, context.viewer));
    core.sockets.spawn(async move { watch(&of_task, &name, &reserved, over, permit).await });
    let mut response = Response::new(Body::from(token));
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Drops the stream when it is not opened in time, when its client leaves, when the token expires or when the server
/// stops.
async fn watch<E, V: Viewer>(
    core: &Core<E, V>,
    token: &str,
    reserved: &Reserved,
    over: BoxFuture<'static, ()>,
    permit: StreamPermit,
) {
    let is_opened = tokio::select! {
        () = reserved.opened.cancelled() => true,
        () = sleep(core.settings.stream.reserved_time) => false,
        () = core.stop.cancelled() => false,
    };
    if is_opened {
        tokio::select! {
            () = reserved.ended.cancelled() => {}
            () = core.stop.cancelled() => {}
            () = async { over.await; sleep(FAREWELL).await } => {}
        }
    }
    reserved.ended.cancel();
    core.streams.with(|streams| streams.remove(token));
    drop(permit);
}

/// Opens the stream of `token`, once.
pub fn fulfil<E, V: Viewer>(core: &Core<E, V>, token: &str, id: &RequestId) -> Result<Response<Body>, Refused> {
    let reserved = core.streams.get(token)?;
    let Some(queue) = reserved.take_queue() else {
        return Err(Refused::new(Reason::Conflict, BAD_USER_INPUT, "The stream with this token is open already."));
    };
    reserved.opened.cancel();
    let ended = reserved.ended.clone();
    let leaving = ended.clone().drop_guard();
    let events = body(queue, core.settings.stream.keep_alive).take_until(ended.cancelled_owned());
    // Dropped with the body, when the client has left.
    let events = events.inspect(move |_| {
        let _ = &leaving;
    });
    Ok(response(events, id))
}

/// The destination of the results of one operation on a reserved stream.
struct ReservedSink {
    id: String,
    reserved: Arc<Reserved>,
    /// Most bytes of one result.
    answer_bytes: usize,
    /// Counts the memory of a refusal.
    hold: Hold,
}

#[derive(Serialize)]
struct Addressed<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Payload<'a>>,
}

impl ReservedSink {
    fn json(&self, payload: Option<Payload<'_>>) -> Result<Vec<u8>, TooLarge> {
        json_within(&Addressed { id: &self.id, payload }, self.answer_bytes).ok_or(TooLarge)
    }

    /// Sends an event that is not a result: a refusal, or the end.
    async fn say(&mut self, name: &str, payload: Option<Payload<'_>>) {
        if let Ok(json) = self.json(payload) {
            let event = self.hold.take().over(event(name, &json));
            send(&self.reserved.events, event).await;
        }
    }
}

impl OperationSink for ReservedSink {
    type Encoded = Bytes;

    fn event(&self, payload: Payload<'_>, hold: Hold) -> Result<Bytes, TooLarge> {
        Ok(hold.over(event("next", &self.json(Some(payload))?)))
    }

    async fn send(&self, event: Bytes) {
        send(&self.reserved.events, event).await;
    }
}

/// Runs `admitted` beside the running operations and sends its results to the stream of `token`. 202.
pub fn join<E: PreparedExecutor, V: Viewer>(
    core: &Arc<Core<E, V>>,
    token: &str,
    operation: Option<String>,
    admitted: AdmittedOperation,
    context: RequestContext<V>,
) -> Result<Response<Body>, Refused> {
    let reserved = core.streams.get(token)?;
    let Some(id) = operation.filter(|id| !id.is_empty() && id.chars().count() <= ID_CHARS) else {
        let message = "\"extensions.operationId\" has to be a text of 1 to 128 characters.";
        return Err(Refused::new(Reason::Malformed, BAD_USER_INPUT, message));
    };
    let stop = CancellationToken::new();
    reserved.operations(|operations| {
        if operations.contains_key(&id) {
            let message = "An operation with this id runs already.";
            return Err(Refused::new(Reason::Conflict, BAD_USER_INPUT, message));
        }
        if operations.len() >= core.settings.stream.operations {
            metrics::counter!(core.settings.metrics.refused, "bound" => "stream_operations").increment(1);
            let message = "Too many operations run on this stream.";
            return Err(Refused::new(Reason::TooManyPoints, RATE_LIMITED, message).for_seconds(COME_AGAIN));
        }
        operations.insert(id.clone(), stop.clone());
        Ok(())
    })?;
    let (of_task, answer_bytes) = (Arc::clone(core), core.settings.request.answer_bytes);
    let hold = core.engine.answers.open(context.holders());
    let sink = ReservedSink { id, reserved, answer_bytes, hold };
    let work = async move { part(&of_task, admitted, context, sink, stop).await };
    core.sockets.spawn(work.instrument(tracing::Span::current()));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

async fn part<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    admitted: AdmittedOperation,
    context: RequestContext<V>,
    mut part: ReservedSink,
    stop: CancellationToken,
) {
    let (over, request_id) = (over(core, context.viewer.clone()), context.request_id.clone());
    let stream_end = part.reserved.ended.clone();
    let whole = async {
        let ended = tokio::select! {
            ended = runner::run(core, Box::new(admitted), context, &part) => ended,
            () = over => Err(signed_out(&request_id)),
        };
        if let Err(refused) = ended {
            part.say("next", Some(Payload::refused(&refused.errors, &extensions_of(&refused, &request_id)))).await;
        }
        // Freed before the client can know, because it may reuse the id at once.
        part.reserved.operations(|operations| operations.remove(&part.id));
        part.say("complete", None).await;
    };
    tokio::select! {
        () = whole => {}
        () = stop.cancelled() => {}
        () = stream_end.cancelled() => {}
        () = core.stop.cancelled() => {}
    }
}

/// Ends an operation on the stream of `token`, if it still runs. 200.
pub fn cancel<E, V: Viewer>(core: &Core<E, V>, request: &Request) -> Result<Response<Body>, Refused> {
    let token = token_of(request).unwrap_or_default();
    let reserved = core.streams.get(&token)?;
    let Some(id) = parameter(request, "operationId") else {
        let message = "Name the operation to end: ?operationId=..";
        return Err(Refused::new(Reason::Malformed, BAD_USER_INPUT, message));
    };
    if let Some(operation) = reserved.operations(|operations| operations.remove(&id)) {
        operation.cancel();
    }
    Ok(Response::new(Body::empty()))
}
