//! GraphQL over server-sent events, for networks that let no WebSocket through: graphql-sse's protocol, PROTOCOL.md of
//! github.com/enisdenjo/graphql-sse. Here its distinct connections mode, one operation a stream; `reserved` has the other.
//!
//! Apart from plain answers, because a stream has a life. It refuses to know schema and viewer.

mod reserved;

use std::{sync::Arc, time::Duration};

use async_graphql::Executor;
use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, Response, header},
};
use futures_util::{Stream, stream};
use tokio::{
    sync::{
        OwnedSemaphorePermit,
        mpsc::{Receiver, Sender, channel},
    },
    time::timeout,
};
use tracing::Instrument as _;

pub(super) use self::reserved::{Streams, TOKEN_HEADER, cancel, fulfil, join, reserve, token_of};
use super::{
    Core,
    accept::Media,
    drive::{self, Outlet, TooLarge, extensions_of, over, signed_out},
    engine::Ready,
    outcome::{INTERNAL, Payload, RATE_LIMITED, Reason, Refused, json_within},
    places::{Gauged, Place},
    request_id::{self, RequestId},
    viewer::{Scope, Viewer},
};
use crate::{
    api::{memory::Hold, payer::Payer},
    telemetry::metrics::STREAMS,
};

/// A client that leaves events unread for so long is taken for dead.
const UNREAD: Duration = Duration::from_secs(30);
/// A comment: says nothing and keeps the connection open.
const COMMENT: &[u8] = b":\n\n";

/// An event with one line of JSON, or with none.
fn event(name: &str, json: &[u8]) -> Vec<u8> {
    let begin = format!("event: {name}\ndata: ");
    [begin.as_bytes(), json, b"\n\n"].concat()
}

/// The whole stream of an operation that has one result and no life.
pub(super) fn only_result(json: &[u8]) -> Vec<u8> {
    [event("next", json), event("complete", b"")].concat()
}

/// A place among the streams of this node, held until it is dropped.
pub(super) struct Room {
    _permit: OwnedSemaphorePermit,
    _place: Place<Payer>,
    _gauged: Gauged,
}

/// Takes a place among the streams of this node, and among those of who asks.
pub(super) fn take_room<E, V: Viewer>(core: &Core<E, V>, scope: &Scope<V>) -> Result<Room, Refused> {
    let place = core.stream_places.take(scope.payer()).ok_or_else(|| {
        let message = "Too many streams are open or reserved already. Close one, or use one for several operations.";
        Refused::new(Reason::TooManyPoints, RATE_LIMITED, message)
    })?;
    let permit = Arc::clone(&core.free_streams).try_acquire_owned().map_err(|_| {
        tracing::warn!("no room for another stream");
        Refused::new(Reason::NoRoom, INTERNAL, "No room for another stream. Try again in a few seconds.")
    })?;
    Ok(Room { _permit: permit, _place: place, _gauged: Gauged::new(STREAMS) })
}

/// Where the results of the one operation go.
struct Whole {
    events: Sender<Bytes>,
    /// Of one result, at most.
    answer_bytes: usize,
}

impl Outlet for Whole {
    type Event = Bytes;

    fn event(&self, payload: Payload<'_>, hold: Hold) -> Result<Bytes, TooLarge> {
        let json = json_within(&payload, self.answer_bytes).ok_or(TooLarge)?;
        Ok(hold.over(event("next", &json)))
    }

    async fn send(&self, event: Bytes) {
        send(&self.events, event).await;
    }
}

/// Waits for room. Of a client that reads nothing the stream ends: what it has missed it cannot know otherwise.
async fn send(events: &Sender<Bytes>, event: Bytes) {
    if timeout(UNREAD, events.send(event)).await.is_err() {
        // The queue stays full, and nothing else is put in; whoever waits for its end is woken.
        std::future::pending::<()>().await;
    }
}

/// A stream of `ready`'s results, until it ends, the client leaves, the token ends or the server stops.
pub(super) fn open<E: Executor, V: Viewer>(
    core: &Arc<Core<E, V>>,
    ready: Ready,
    scope: Scope<V>,
    room: Room,
) -> Response<Body> {
    let limits = core.settings.stream;
    let (sender, events) = channel(limits.queued_events.max(1));
    let id = scope.request_id.clone();
    let core_of_task = Arc::clone(core);
    let work = async move {
        let core = core_of_task;
        follow(&core, ready, scope, sender).await;
        drop(room);
    };
    core.sockets.spawn(work.instrument(tracing::Span::current()));
    response(body(events, limits.keep_alive), &id)
}

async fn follow<E: Executor, V: Viewer>(core: &Core<E, V>, ready: Ready, scope: Scope<V>, events: Sender<Bytes>) {
    let over = over(core, scope.viewer.clone());
    let request_id = scope.request_id.clone();
    let outlet = Whole { events: events.clone(), answer_bytes: core.settings.request.answer_bytes };
    let ended = tokio::select! {
        ended = drive::run(core, ready, scope, &outlet) => ended,
        () = events.closed() => return,
        // Without `complete` the client knows that it has to come again.
        () = core.stop.cancelled() => return,
        () = over => Err(signed_out(&request_id)),
    };
    let last = async {
        if let Err(refused) = ended {
            // Why there is no answer always fits: its length has bounds of its own.
            let refusal = serde_json::to_vec(&Payload::refused(&refused.errors, &extensions_of(&refused, &request_id)));
            send(&events, event("next", &refusal.unwrap_or_default()).into()).await;
        }
        send(&events, event("complete", b"").into()).await;
    };
    let _ = timeout(UNREAD, last).await;
}

/// What comes out of `events`, with comments where nothing comes for `keep_alive`. Begins with one: then the client knows
/// that it is heard.
fn body(events: Receiver<Bytes>, keep_alive: Duration) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
    stream::unfold((events, true), move |(mut events, is_first)| async move {
        if is_first {
            return Some((Ok(Bytes::from_static(COMMENT)), (events, false)));
        }
        match timeout(keep_alive, events.recv()).await {
            Ok(event) => event.map(|event| (Ok(event), (events, false))),
            Err(_silence) => Some((Ok(Bytes::from_static(COMMENT)), (events, false))),
        }
    })
}

fn response(
    body: impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static,
    id: &RequestId,
) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, Media::EventStream.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would collect events before it passes them on.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    headers.insert(request_id::HEADER, id.to_header());
    response
}
