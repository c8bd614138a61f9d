//! How GraphQL travels: over HTTP, over WebSocket, and the pages beside them.
//!
//! Apart from the schema, which it takes as a parameter: everything that a client can get wrong before a resolver runs
//! is decided here. It refuses to know what the schema contains, what a token means and what a viewer is.

mod accept;
mod documents;
mod engine;
mod handler;
mod limits;
mod mask;
mod outcome;
mod pages;
mod params;
mod request_id;
#[cfg(test)]
mod tests;
mod viewer;
mod ws;

use std::sync::Arc;

use async_graphql::Executor;
use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::get,
    serve::{ListenerExt as _, TapIo},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{documents::Documents, engine::Engine};
pub use self::{
    limits::{HttpSettings, RequestLimits, SocketLimits},
    request_id::RequestId,
    viewer::{Attach, Authenticate, AuthenticateError, Client, Scope, Viewer},
};
use crate::draw::Draw;

/// What the transport is made of. `E`: the schema. `V`: the caller's type for an authenticated viewer.
pub struct Transport<E, V: Viewer> {
    /// Executes; built with strict validation, which is the default.
    pub schema: E,
    /// Gives tokens a meaning.
    pub authenticate: Arc<dyn Authenticate<V>>,
    /// Attaches to a request what its resolvers need.
    pub attach: Arc<dyn Attach<V>>,
    /// Bounds and choices.
    pub settings: HttpSettings,
    /// Where request ids are drawn from.
    pub draw: Draw,
    /// Cancelled when the process stops: every WebSocket completes its operations and closes with 1001.
    pub stop: CancellationToken,
    /// Counts the open sockets: after cancelling `stop`, close it and wait for it.
    pub sockets: TaskTracker,
}

/// What every handler shares.
struct Core<E, V: Viewer> {
    engine: Engine<E, V>,
    authenticate: Arc<dyn Authenticate<V>>,
    settings: HttpSettings,
    draw: Draw,
    stop: CancellationToken,
    sockets: TaskTracker,
    free_sockets: Arc<Semaphore>,
}

/// `listener`, with answers that leave at once. A small one would otherwise wait some 40 ms for the acknowledgement of
/// the one before it (Nagle's algorithm): serve the router through this.
pub fn prompt(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection will answer with delay");
        }
    })
}

/// The routes of the API and its pages: POST and GET `/graphql`, `/graphql/ws`, and everything that the web pages
/// consist of. Of unknown paths it knows nothing, so that others can be merged.
pub fn router<E, V>(transport: Transport<E, V>) -> Router
where
    E: Executor,
    V: Viewer,
{
    let Transport { schema, authenticate, attach, settings, draw, stop, sockets } = transport;
    let documents = Documents::new(settings.gate, &settings.request);
    let free_sockets = Arc::new(Semaphore::new(settings.socket.sockets));
    let body_bytes = settings.request.body_bytes;
    let engine = Engine { schema, documents, attach };
    let core = Arc::new(Core { engine, authenticate, settings, draw, stop, sockets, free_sockets });
    Router::new()
        .route("/graphql", get(handler::serve::<E, V>).post(handler::serve::<E, V>))
        .layer(DefaultBodyLimit::max(body_bytes))
        .route("/graphql/ws", get(ws::upgrade::<E, V>))
        .with_state(core)
        .merge(pages::router())
}
