//! The distinct connections mode: each stream carries one operation and ends with it.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    http::Response,
};
use tokio::{
    sync::mpsc::{Sender, channel},
    time::timeout,
};
use tracing::Instrument as _;

use super::{
    framing::event,
    stream::{StreamPermit, UNREAD, body, response, send},
};
use crate::{
    execution::PreparedExecutor,
    http::{
        engine::AdmittedOperation,
        outcome::{Payload, json_within},
        runner::{self, OperationSink, TooLarge, extensions_of, over, signed_out},
        state::Core,
        viewer::{RequestContext, Viewer},
    },
    memory::Hold,
};

/// The destination of the operation's results.
struct SingleSink {
    events: Sender<Bytes>,
    /// Most bytes of one result.
    answer_bytes: usize,
}

impl OperationSink for SingleSink {
    type Encoded = Bytes;

    fn event(&self, payload: Payload<'_>, hold: Hold) -> Result<Bytes, TooLarge> {
        let json = json_within(&payload, self.answer_bytes).ok_or(TooLarge)?;
        Ok(hold.over(event("next", &json)))
    }

    async fn send(&self, event: Bytes) {
        send(&self.events, event).await;
    }
}

/// A stream of `admitted`'s results. It ends with the operation, the client, the token or the server.
pub fn open<E: PreparedExecutor, V: Viewer>(
    core: &Arc<Core<E, V>>,
    admitted: AdmittedOperation,
    context: RequestContext<V>,
    permit: StreamPermit,
) -> Response<Body> {
    let limits = core.settings.stream;
    let (sender, events) = channel(limits.queued_events.max(1));
    let id = context.request_id.clone();
    let core_of_task = Arc::clone(core);
    let work = async move {
        let core = core_of_task;
        follow(&core, admitted, context, sender).await;
        drop(permit);
    };
    core.sockets.spawn(work.instrument(tracing::Span::current()));
    response(body(events, limits.keep_alive), &id)
}

async fn follow<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    admitted: AdmittedOperation,
    context: RequestContext<V>,
    events: Sender<Bytes>,
) {
    let (over, hold) = (over(core, context.viewer.clone()), core.engine.answers.open(context.holders()));
    let request_id = context.request_id.clone();
    let sink = SingleSink { events: events.clone(), answer_bytes: core.settings.request.answer_bytes };
    let ended = tokio::select! {
        ended = runner::run(core, Box::new(admitted), context, &sink) => ended,
        () = events.closed() => return,
        // A client that gets no `complete` reconnects.
        () = core.stop.cancelled() => return,
        () = over => Err(signed_out(&request_id)),
    };
    let last = async {
        if let Err(refused) = ended {
            // A refusal always fits, because its length is bounded.
            let refusal = serde_json::to_vec(&Payload::refused(&refused.errors, &extensions_of(&refused, &request_id)));
            send(&events, hold.over(event("next", &refusal.unwrap_or_default()))).await;
        }
        send(&events, event("complete", b"").into()).await;
    };
    let _ = timeout(UNREAD, last).await;
}
