//! How GraphQL travels: over HTTP, over WebSocket, over server-sent events, and the pages beside them.
//!
//! Apart from the schema, which it takes as a parameter: everything that a client can get wrong before a resolver runs
//! is decided here. It refuses to know what the schema contains, what a token means and what a viewer is.

mod accept;
mod address;
mod around;
mod connections;
mod documents;
mod drive;
mod engine;
mod handler;
mod limits;
mod mask;
mod origin;
mod outcome;
mod pages;
mod params;
mod places;
mod rate;
mod request_id;
mod sse;
#[cfg(test)]
mod tests;
mod tokenless;
mod trusted;
mod viewer;
mod ws;

use std::sync::Arc;

use async_graphql::Executor;
use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{any, get},
    serve::{ListenerExt as _, TapIo},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    around::surrounded,
    connections::{ConnectionLimits, Routes, serve},
    limits::{HttpSettings, PersistedSettings, RequestLimits, SocketLimits, StreamLimits},
    origin::Origins,
    rate::{Bucket, RateLimits},
    request_id::RequestId,
    trusted::{Manifest, ManifestError},
    viewer::{Attach, Authenticate, AuthenticateError, Client, Scope, Viewer},
};
use self::{
    documents::{Documents, Naming},
    engine::Engine,
    places::Places,
    rate::Budget,
    sse::Streams,
    trusted::Trusted,
};
use crate::{
    api::{
        gate::{Gate, Shape},
        memory::Ledger,
        payer::Payer,
    },
    clock::SharedClock,
    draw::Draw,
};

/// What the transport is made of. `E`: the schema. `V`: the caller's type for an authenticated viewer.
pub struct Transport<E, V: Viewer> {
    /// Executes; built with strict validation, which is the default.
    pub schema: E,
    /// What that schema looks like.
    pub shape: Shape,
    /// Gives tokens a meaning.
    pub authenticate: Arc<dyn Authenticate<V>>,
    /// Attaches to a request what its resolvers need.
    pub attach: Arc<dyn Attach<V>>,
    /// Mutations that ask for something else than a token: one that is not good (any more) does not keep anybody from them.
    pub tokenless: &'static [&'static str],
    /// Bounds and choices.
    pub settings: HttpSettings,
    /// Says when tokens end.
    pub clock: SharedClock,
    /// Where request ids are drawn from.
    pub draw: Draw,
    /// Cancelled when the process stops: every WebSocket completes its operations and closes with 1001, every stream ends.
    pub stop: CancellationToken,
    /// Counts the open sockets and streams: after cancelling `stop`, close it and wait for it.
    pub sockets: TaskTracker,
}

/// What every handler shares.
struct Core<E, V: Viewer> {
    engine: Engine<E, V>,
    authenticate: Arc<dyn Authenticate<V>>,
    tokenless: &'static [&'static str],
    settings: HttpSettings,
    clock: SharedClock,
    draw: Draw,
    stop: CancellationToken,
    sockets: TaskTracker,
    bodies: Ledger,
    free_sockets: Arc<Semaphore>,
    socket_places: Places<Payer>,
    streams: Streams,
    free_streams: Arc<Semaphore>,
    stream_places: Places<Payer>,
}

/// `listener`, with answers that leave at once. A small one would otherwise wait some 40 ms for the acknowledgement of
/// the one before it (Nagle's algorithm).
fn prompt(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection will answer with delay");
        }
    })
}

/// The routes of the API and its pages: `/graphql`, `/graphql/ws`, and everything that the web pages consist of. Of unknown
/// paths it knows nothing, so that others can be merged. Fails if the manifest of trusted documents does not fit the schema.
///
/// Serve it with [`serve`], or else with `into_make_service_with_connect_info`: addresses are how anonymous clients are told apart.
pub fn router<E, V>(transport: Transport<E, V>) -> Result<Router, ManifestError>
where
    E: Executor,
    V: Viewer,
{
    let Transport { schema, shape, authenticate, attach, tokenless, settings, clock, draw, stop, sockets } = transport;
    let gate = Gate::new(settings.gate, shape);
    let trusted = match &settings.persisted.manifest {
        Some(manifest) => Trusted::load(manifest, &gate, &schema)?,
        None => Trusted::default(),
    };
    let naming = Naming { automatic: settings.persisted.automatic, only_trusted: settings.persisted.required };
    let documents = Documents::new(gate, trusted, naming, &settings.request);
    let (budget, suggests) = (settings.rate.map(Budget::new), settings.gate.introspection);
    let answer_bytes = settings.request.answer_bytes;
    let answers = Ledger::new("answers", settings.request.unsent);
    let bodies = Ledger::new("bodies", settings.request.bodies);
    let engine = Engine { schema, documents, attach, budget, answer_bytes, answers, suggests };
    let free_sockets = Arc::new(Semaphore::new(settings.socket.sockets));
    let free_streams = Arc::new(Semaphore::new(settings.stream.streams));
    let readers = around::cors(settings.allowed_origins.clone());
    let strangers = from_fn_with_state(settings.allowed_origins.clone(), origin::refuse_preflights);
    let drawn = draw.clone();
    let socket_places = Places::new(settings.socket.per_client);
    let stream_places = Places::new(settings.stream.per_client);
    let streams = Streams::default();
    let core = Arc::new(Core {
        engine,
        authenticate,
        tokenless,
        settings,
        clock,
        draw,
        stop,
        sockets,
        bodies,
        free_sockets,
        socket_places,
        streams,
        free_streams,
        stream_places,
    });
    let router = Router::new()
        .route("/graphql", any(handler::serve::<E, V>))
        .layer(readers)
        .layer(strangers)
        .route("/graphql/ws", get(ws::upgrade::<E, V>))
        .with_state(core)
        .merge(pages::router());
    Ok(surrounded(router, drawn))
}
