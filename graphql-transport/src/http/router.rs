//! Assembles the transport's parts into one router.

use std::sync::Arc;

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{any, get},
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceBuilder;

use super::{
    admission::Admission,
    documents::{Documents, Naming},
    engine::Engine,
    entropy::Entropy,
    handler,
    kept_operations::KeptOperations,
    limits::HttpSettings,
    manifest::ManifestError,
    middleware::{self, surrounded},
    origin,
    rate::{Budget, Charges},
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

/// The parts of the transport. `E`: the schema. `V`: the service's type for a viewer.
pub struct Transport<E, V: Viewer> {
    /// The executor, built with `ValidationMode::Fast`: the guard validates each document once. The strict mode would
    /// validate again at each request, and refuse fragments that preparing has removed.
    pub schema: E,
    /// The schema's shape.
    pub shape: Shape,
    /// Verifies tokens.
    pub authenticate: Arc<dyn Authenticate<V>>,
    /// Attaches the data that resolvers need.
    pub attach: Arc<dyn Attach<V>>,
    /// Mutations that need no token: an invalid or expired one does not prevent them.
    pub public_operations: &'static [&'static str],
    /// Mutations that are never refused under load: cheap ones that must not fail.
    pub always_admitted: &'static [&'static str],
    /// Limits and options.
    pub settings: HttpSettings,
    /// The source of request ids and stream tokens.
    pub entropy: Entropy,
    /// Cancelled when the process stops: sockets complete their operations and close with 1001, and streams end.
    pub stop: CancellationToken,
    /// Tracks the open sockets and streams: after cancelling `stop`, close it and wait for it.
    pub sockets: TaskTracker,
}

/// What [`endpoints`] makes.
pub struct Endpoints {
    /// The routes `/graphql` and `/graphql/ws`, without a fallback, so that others can be merged.
    pub router: Router,
    /// The points that operations are charged, for what else clients do.
    pub charges: Charges,
}

/// The routes of [`endpoints`] alone.
///
/// Serve them with [`super::serve`], or with `into_make_service_with_connect_info`: anonymous clients are told apart by
/// their addresses.
pub fn router<E, V>(transport: Transport<E, V>) -> Result<Router, ManifestError>
where
    E: PreparedExecutor,
    V: Viewer,
{
    endpoints(transport).map(|endpoints| endpoints.router)
}

/// The endpoints of the transport, for [`super::serve`]. Fails if the manifest does not fit the schema.
pub fn endpoints<E, V>(transport: Transport<E, V>) -> Result<Endpoints, ManifestError>
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
    let (budget, suggests) = (settings.rate.map(Budget::new).map(Arc::new), settings.guard.introspection);
    let charges = Charges::new(budget.clone());
    let answer_bytes = settings.request.answer_bytes;
    let answers = Ledger::in_parts("answers", settings.request.unsent, settings.metrics);
    let bodies = Ledger::new("bodies", settings.request.bodies, settings.metrics);
    let admission = Admission::new(settings.admission, transport.always_admitted, settings.metrics);
    let lasting = Ledger::in_parts("documents", settings.request.documents, settings.metrics);
    let kept = KeptOperations::new(lasting);
    let refused = settings.metrics.refused;
    let engine =
        Engine { schema, documents, attach, admission, budget, answer_bytes, answers, kept, suggests, refused };
    let free_sockets = Arc::new(Semaphore::new(settings.socket.sockets));
    let free_streams = Arc::new(Semaphore::new(settings.stream.streams));
    let readers = middleware::cors(settings.allowed_origins.clone());
    let known = (settings.allowed_origins.clone(), settings.trusted_proxies.clone());
    let strangers = from_fn_with_state(known, origin::refuse_preflights);
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
        .layer(ServiceBuilder::new().layer(strangers).layer(readers))
        .route("/graphql/ws", get(ws::upgrade::<E, V>))
        .with_state(core);
    Ok(Endpoints { router: surrounded(router, drawn), charges })
}
