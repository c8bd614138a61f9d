//! GraphQL over WebSocket: the subprotocol graphql-transport-ws.

mod free_messages;
#[cfg(test)]
mod fuzz;
mod liveness;
mod message;
mod operation;
mod queues;
mod socket;
mod unfinished;
mod writer;

use std::{future::ready, pin::pin, sync::Arc};

use axum::{
    body::Body,
    extract::{
        State,
        ws::{WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{Extensions, HeaderMap, HeaderName, Response, StatusCode, header::RETRY_AFTER},
    response::IntoResponse as _,
};
use fair_queue::Gauged;
use futures_util::StreamExt as _;
use tokio::{sync::Notify, time::timeout};
use tracing::Instrument as _;

use self::{
    message::{Closing, SUBPROTOCOL},
    queues::Queues,
    socket::{Caller, Conversation, Ending, drain},
    writer::Written,
};
pub(super) use self::{
    queues::CONTROL_BYTES,
    writer::{KEPT_BYTES, WRITE_BUFFER_BYTES},
};
use super::{
    limits::{HttpSettings, SocketLimits},
    request_id::{self, RequestId},
    state::Core,
    viewer::{Client, Credentials, Viewer},
};
use crate::{execution::PreparedExecutor, payer::Payer};

/// Bytes read from a socket at once, and kept by an idle one.
pub(super) const READ_BUFFER_BYTES: usize = 1024;

const NO_UPGRADE: &str = "This path speaks WebSocket only. Use a WebSocket client, or send the request to /graphql.\n";

/// Opens a WebSocket if the origin is allowed, the client offers the subprotocol, and there is room.
pub(super) async fn upgrade<E: PreparedExecutor, V: Viewer>(
    State(core): State<Arc<Core<E, V>>>,
    extensions: Extensions,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([SUBPROTOCOL]),
        Err(rejection) => return (rejection.status(), NO_UPGRADE).into_response(),
    };
    let HttpSettings { allowed_origins, trusted_proxies, .. } = &core.settings;
    if !allowed_origins.allow_page_of(&headers, &extensions, trusted_proxies) {
        return (StatusCode::FORBIDDEN, allowed_origins.refusal).into_response();
    }
    if upgrade.selected_protocol().is_none() {
        let message = format!("The client has to offer the subprotocol {SUBPROTOCOL}.");
        return (StatusCode::BAD_REQUEST, message).into_response();
    }
    let Ok(room) = Arc::clone(&core.free_sockets).try_acquire_owned() else {
        tracing::warn!("A WebSocket was refused: there are too many.");
        metrics::counter!(core.settings.metrics.refused, "bound" => "sockets").increment(1);
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            [(RETRY_AFTER, "5")],
            "No room for another WebSocket. Try again in 5 seconds.",
        )
            .into_response();
    };
    let client = Client::of(&headers, &extensions, trusted_proxies);
    let Some(slot) = core.socket_slots.take(Payer::of_address(client.address)) else {
        metrics::counter!(core.settings.metrics.refused, "bound" => "sockets").increment(1);
        let message = "Too many WebSockets of this address have no viewer. Close one, or authenticate it.";
        return (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "5")], message).into_response();
    };
    let gauged = Gauged::new(core.settings.metrics.sockets);
    let id = extensions.get().cloned().unwrap_or_else(|| RequestId::of_headers(&headers, &core.entropy));
    let id_header: (HeaderName, _) = (request_id::HEADER, id.to_header());
    let span = tracing::error_span!("socket", request_id = %id);
    let received = extensions.get().cloned();
    let credentials = Credentials::of_headers(&headers, core.authenticate.act_as());
    let caller = Caller { id, credentials, client, received, slot };
    let limits = core.settings.socket;
    let counted = core.sockets.token();
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(limits.message_bytes)
        .max_frame_size(limits.message_bytes)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(most_written(core.settings.request.answer_bytes));
    let mut response = upgrade.on_upgrade(move |socket| {
        // A task of its own is as large as the socket needs, without what the upgrade needed.
        let sockets = core.sockets.clone();
        sockets.spawn(serve(core, socket, caller, (room, gauged)).instrument(span));
        drop(counted);
        ready(())
    });
    // Keeps the client's spelling of headers: Python's gql requires its own spelling of `Sec-WebSocket-Protocol`.
    response.extensions_mut().extend(extensions);
    ([id_header], response).into_response()
}

/// Most bytes of the library's buffer for writing: one answer, or several short frames, and the library's own frames.
/// The writer flushes before it writes more.
pub(super) fn most_written(answer_bytes: usize) -> usize {
    answer_bytes.max(WRITE_BUFFER_BYTES).saturating_add(WRITE_BUFFER_BYTES + CONTROL_BYTES)
}

/// Serves the socket and ends it as the protocol requires: sends the last messages, then completes the closing
/// handshake. Drops `permits` at the end.
fn serve<E: PreparedExecutor, V: Viewer>(
    core: Arc<Core<E, V>>,
    socket: WebSocket,
    caller: Caller,
    permits: impl Send,
) -> impl Future<Output = ()> + Send {
    let SocketLimits { queued_messages, send_time, close_time, .. } = core.settings.socket;
    let faults = core.settings.metrics.sockets_cut_off;
    let (mut sink, mut frames) = socket.split();
    let queues = Arc::new(Queues::new(queued_messages));
    let mut conversation = Conversation::new(core, caller, Arc::clone(&queues));
    // Keeps these parts where they are; arguments of an async function would take their room twice.
    async move {
        let pinged = Notify::new();
        let mut writing = pin!(writer::write(&mut sink, &queues, send_time, &pinged));
        let ending = tokio::select! {
            ending = conversation.run(&mut frames, &pinged) => ending,
            written = &mut writing => if written == Written::Unread { Ending::Unread } else { Ending::Lost },
        };
        tracing::debug!(?ending, "A WebSocket session ended.");
        if let Some(reason) = ending.fault() {
            metrics::counter!(faults, "reason" => reason).increment(1);
        }
        let completes = conversation.stop_operations().await;
        drop(conversation);
        match ending {
            Ending::Lost | Ending::Unread => {}
            Ending::Closed => drain(&mut frames, close_time).await,
            Ending::Close(closing) => {
                // Operations that end with the sign-in are not complete: the client continues them after the next
                // sign-in.
                let completes = completes.into_iter().filter(|_| closing != Closing::SignInEnded);
                let last = completes.chain([closing.to_frame()]).collect();
                queues.finish(last);
                if timeout(close_time, writing).await == Ok(Written::All) {
                    drain(&mut frames, close_time).await;
                }
            }
        }
        drop(permits);
    }
}
