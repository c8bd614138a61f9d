//! The transport's parts put together into one router.

use std::sync::Arc;

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{any, get},
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    admission::Admission,
    documents::{Documents, Naming},
    engine::Engine,
    entropy::Entropy,
    handler,
    limits::HttpSettings,
    manifest::ManifestError,
    middleware::{self, surrounded},
    origin,
    rate::Budget,
    slots::Slots,
    sse::streams::Streams,
    state::Core,
    trusted::Trusted,
    viewer::{Attach, Authenticate, Viewer},
    ws,
};
use crate::{
    execution::PreparedExecutor,
    guard::{Guard, Shape},
    memory::Ledger,
};

/// What the transport is made of. `E`: the schema. `V`: the caller's type for an authenticated viewer.
pub struct Transport<E, V: Viewer> {
    /// Executes; built with `ValidationMode::Fast`: the guard validates each document, once for all requests that send
    /// it. The strict mode would validate again, at each request, and refuse fragments that no longer stand in what is
    /// executed.
    pub schema: E,
    /// What that schema looks like.
    pub shape: Shape,
    /// Gives tokens a meaning.
    pub authenticate: Arc<dyn Authenticate<V>>,
    /// Attaches to a request what its resolvers need.
    pub attach: Arc<dyn Attach<V>>,
    /// Mutations that ask for something else than a token: one that is not good (any more) does not keep anybody from
    /// them.
    pub public_operations: &'static [&'static str],
    /// Mutations that are never refused because too many operations run: what takes little and must not fail.
    pub always_admitted: &'static [&'static str],
    /// Bounds and choices.
    pub settings: HttpSettings,
    /// Where request ids and the tokens of streams are drawn from.
    pub entropy: Entropy,
    /// Cancelled when the process stops: every WebSocket completes its operations and closes with 1001, every stream
    /// ends.
    pub stop: CancellationToken,
    /// Counts the open sockets and streams: after cancelling `stop`, close it and wait for it.
    pub sockets: TaskTracker,
}

/// The routes of the API: `/graphql` and `/graphql/ws`. Of unknown paths it knows nothing, so that others can be
/// merged. Fails if the manifest of trusted documents does not fit the schema.
///
/// Serve it with [`super::serve`], or else with `into_make_service_with_connect_info`: addresses are how anonymous
/// clients are told apart.
pub fn router<E, V>(transport: Transport<E, V>) -> Result<Router, ManifestError>
where
    E: PreparedExecutor,
    V: Viewer,
{
    let Transport { schema, shape, authenticate, attach, settings, entropy, stop, sockets, .. } = transport;
    let guard = Guard::new(settings.guard, shape);
    let trusted = match &settings.persisted.manifest {
        Some(manifest) => Trusted::load(manifest, &guard)?,
        None => Trusted::default(),
    };
    let naming = Naming { automatic: settings.persisted.automatic, only_trusted: settings.persisted.required };
    let documents = Documents::new(guard, trusted, naming, &settings.request);
    let (budget, suggests) = (settings.rate.map(Budget::new), settings.guard.introspection);
    let answer_bytes = settings.request.answer_bytes;
    let answers = Ledger::new("answers", settings.request.unsent, settings.metrics);
    let bodies = Ledger::new("bodies", settings.request.bodies, settings.metrics);
    let admission = Admission::new(settings.admission, transport.always_admitted, settings.metrics);
    let engine = Engine { schema, documents, attach, admission, budget, answer_bytes, answers, suggests };
    let free_sockets = Arc::new(Semaphore::new(settings.socket.sockets));
    let free_streams = Arc::new(Semaphore::new(settings.stream.streams));
    let readers = middleware::cors(settings.allowed_origins.clone());
    let strangers = from_fn_with_state(settings.allowed_origins.clone(), origin::refuse_preflights);
    let drawn = entropy.clone();
    let socket_slots = Slots::new(settings.socket.per_client);
    let stream_slots = Slots::new(settings.stream.per_client);
    let streams = Streams::default();
    let core = Arc::new(Core {
        engine,
        authenticate,
        public_operations: transport.public_operations,
        settings,
        entropy,
        stop,
        sockets,
        bodies,
        free_sockets,
        socket_slots,
        streams,
        free_streams,
        stream_slots,
    });
    let router = Router::new()
        .route("/graphql", any(handler::serve::<E, V>))
        .layer(readers)
        .layer(strangers)
        .route("/graphql/ws", get(ws::upgrade::<E, V>))
        .with_state(core);
    Ok(surrounded(router, drawn))
}
