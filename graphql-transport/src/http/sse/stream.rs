//! An HTTP response that streams events: its slot on this node, its queue and its body.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, Response, header},
};
use fair_queue::Gauged;
use futures_util::{Stream, stream};
use tokio::{
    sync::{
        OwnedSemaphorePermit,
        mpsc::{Receiver, Sender},
    },
    time::timeout,
};

use super::framing::COMMENT;
use crate::{
    http::{
        accept::Media,
        codes::{INTERNAL, RATE_LIMITED},
        outcome::{COME_AGAIN, Reason, Refused, wait_for_room},
        request_id::{self, RequestId},
        slots::Slot,
        state::Core,
        viewer::{RequestContext, Viewer},
    },
    memory::NoRoom,
    payer::Payer,
};

/// A client that reads no event for this long counts as dead.
pub(super) const UNREAD: Duration = Duration::from_secs(30);

/// A slot among the streams of this node and of the client, held until it is dropped.
pub struct StreamPermit {
    _node: OwnedSemaphorePermit,
    _client: Slot<Payer>,
    _gauged: Gauged,
}

/// Takes a slot among the streams of this node and of the client.
pub fn take_permit<E, V: Viewer>(core: &Core<E, V>, context: &RequestContext<V>) -> Result<StreamPermit, Refused> {
    let count = || metrics::counter!(core.settings.metrics.refused, "bound" => "streams").increment(1);
    let slot = core.stream_slots.take(context.payer()).ok_or_else(|| {
        count();
        let message = "Too many streams are open or reserved already. Close one, or use one for several operations.";
        Refused::new(Reason::TooManyPoints, RATE_LIMITED, message).for_seconds(COME_AGAIN)
    })?;
    let permit = Arc::clone(&core.free_streams).try_acquire_owned().map_err(|_| {
        count();
        tracing::warn!("A stream was refused: there are too many.");
        let refused = Refused::new(Reason::NoRoom, INTERNAL, "No room for another stream. Try again in a few seconds.");
        refused.for_seconds(wait_for_room(NoRoom::Node))
    })?;
    Ok(StreamPermit { _node: permit, _client: slot, _gauged: Gauged::new(core.settings.metrics.streams) })
}

/// Waits until the queue has room. If the client does not read, the stream ends, because a missing event would go
/// unnoticed.
pub(super) async fn send(events: &Sender<Bytes>, event: Bytes) {
    if timeout(UNREAD, events.send(event)).await.is_err() {
        // The queue stays full, and the reader of its end is woken.
        std::future::pending::<()>().await;
    }
}

/// The events, with comments in pauses of `keep_alive`. The first comment tells the client that the stream is open.
pub(super) fn body(
    events: Receiver<Bytes>,
    keep_alive: Duration,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
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

pub(super) fn response(
    body: impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static,
    id: &RequestId,
) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, Media::EventStream.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would buffer events otherwise.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    headers.insert(request_id::HEADER, id.to_header());
    response
}
