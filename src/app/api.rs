//! Builds the router of the API: accounts, schema and transport over the use cases.

use std::{
    num::NonZeroU32,
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::IntoResponse as _,
    routing::get,
};
use content_schemas::ContentSchemas;
use graphql_transport::{
    guard::{Shape, UnreadableSchema},
    http::{self, Attach, Charges, Client, Endpoints, Entropy, HttpSettings, RequestContext, Transport},
    payer,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{AppError, bearer::Bearer, loader::loader, service_paths::ServicePaths};
use crate::{
    accounts::{
        AccountsService, Caller, ExternalUsers, Liveness, Mortal, PRODUCT, PasswordSettings, Passwords, Principal,
        Registrations, SessionSettings, SessionsService, TokenKey, Tokens,
        export::{ExportStores, Exports},
        issuer::{ClaimNames, Issuer, IssuerSettings, KeySettings, KeySource, Keys, Users},
        services::{CallLog, KeyDigest, ServiceAccess},
    },
    ambient::Ambient,
    api::{
        bulk,
        export::{self, ExportRuntime},
        graphql::{
            ALWAYS_ADMITTED, COST_HINTS, RememberedJson, SCALARS, ServiceCall, Services, Undescribed, UseCases,
            WITHOUT_TOKEN, attach, build_schema, schema_sdl,
        },
        pages,
        public_pages::{self, PublicPages},
        service_lines::Entrance,
    },
    domain::SessionId,
    rng::SharedRng,
    store::{Ports, service_keys::ServiceKey},
};

/// The settings of the API.
#[derive(Clone)]
pub struct ApiSettings {
    /// Bounds of the transport.
    pub http: HttpSettings,
    /// Where clients reach the service, without a slash at its end.
    pub base_url: String,
    /// Signs tokens; at least 32 bytes.
    pub secret: Vec<u8>,
    /// Former signing secrets, each at least 32 bytes.
    pub former_secrets: Vec<Vec<u8>>,
    /// Lifetime of an access token.
    pub token_ttl: Duration,
    /// Lifetime of sessions, and how soon their end is noticed.
    pub sessions: SessionSettings,
    /// The cost of hashing a password.
    pub passwords: PasswordSettings,
    /// Whether registration is open.
    pub open_registration: bool,
    /// Registrations allowed from one network in an hour; 0 for no limit.
    pub registrations_per_hour: u32,
    /// Whether profiles and posts have addresses that can be sent.
    pub public_pages: bool,
    /// Whether everybody sees external ids, or only services and the owners do.
    pub shows_external_ids: bool,
    /// What the attributes of contents must be.
    pub content_schemas: Arc<ContentSchemas>,
    /// An issuer whose tokens are accepted, too.
    pub issuer: Option<ExternalIssuer>,
    /// The most bulks that run at once; 0: none.
    pub max_bulks: usize,
    /// Bytes of a file that a service sends to be loaded; 0: none is.
    pub max_import_bytes: u64,
    /// A service's key that is in no store.
    pub service_key: Option<(KeyDigest, ServiceKey)>,
}

/// An external issuer.
#[derive(Clone)]
pub struct ExternalIssuer {
    /// The accepted issuer and tokens.
    pub issuer: IssuerSettings,
    /// How long its keys are kept.
    pub keys: KeySettings,
    /// Where its keys are.
    pub source: Arc<dyn KeySource>,
    /// Whether an unknown subject gets an account.
    pub provisions: bool,
    /// What makes a profile.
    pub claims: ClaimNames,
    /// Whether only the issuer signs users in, so that there are no passwords.
    pub only: bool,
}

/// The parts of the process that the API uses.
#[derive(Clone)]
pub struct ApiRuntime {
    /// The clock, and random numbers for ids, salts and tokens.
    pub ambient: Ambient,
    /// Cancelled when draining begins: sockets complete and close.
    pub stop: CancellationToken,
    /// Counts sockets and loaders' batches.
    pub tasks: TaskTracker,
}

/// The routes of [`endpoints`] alone.
pub fn router(
    use_cases: Arc<UseCases>,
    ports: &Ports,
    settings: &ApiSettings,
    runtime: ApiRuntime,
) -> Result<Router, AppError> {
    endpoints(use_cases, ports, settings, runtime).map(|endpoints| endpoints.router)
}

/// The schema's shape, which is the same for all servers of a process.
static SHAPE: LazyLock<Result<Shape, UnreadableSchema>> =
    LazyLock::new(|| Ok(Shape::of_sdl(&schema_sdl())?.with_cost_hints(&COST_HINTS).with_scalars(&SCALARS)));

/// `/graphql`, `/graphql/ws`, `/schema.graphql`, `/export`, `/bulk`, `/import`, the pages, and the pictures of the
/// demo.
pub fn endpoints(
    use_cases: Arc<UseCases>,
    ports: &Ports,
    settings: &ApiSettings,
    runtime: ApiRuntime,
) -> Result<Endpoints, AppError> {
    let tokens = Arc::new(tokens(settings, &runtime)?);
    let (readers, ambient) = (use_cases.readers.clone(), runtime.ambient.clone());
    let sessions = SessionsService::new(ports, tokens.clone(), readers, settings.sessions, ambient);
    let sessions = Arc::new(sessions);
    let external_users = Arc::new(external_users(settings, ports, &runtime));
    let known = (tokens.clone(), sessions.liveness());
    let calls = Arc::new(CallLog::new(ports.accounts.clone(), runtime.ambient.clone()));
    let bearer = bearer(settings, ports, &runtime, known, (external_users.clone(), calls.clone()));
    let bearer = Arc::new(bearer);
    let attach = attaching(&runtime, (bearer.services.clone(), calls.clone()), settings.http.guard.introspection);
    let accounts = Arc::new(accounts(settings, ports, sessions.clone(), &runtime)?);
    let exports = Arc::new(exports(settings, &use_cases, ports, &runtime)?);
    let copies = copies(settings, exports.clone(), &runtime);
    let of_services = service_paths(settings, ports, &runtime, (bearer.clone(), calls));
    let described = schema_route(settings.http.guard.introspection);
    let services = Services {
        use_cases,
        ports: ports.clone(),
        accounts,
        external_users,
        shows_external_ids: settings.shows_external_ids,
        content_schemas: settings.content_schemas.clone(),
        tokens,
        sessions,
        exports,
        base_url: settings.base_url.clone(),
        json: RememberedJson::default(),
        clock: runtime.ambient.clock.clone(),
        tasks: runtime.tasks.clone(),
    };
    let transport = Transport {
        schema: build_schema(Arc::new(services)),
        shape: SHAPE.clone().map_err(AppError::Schema)?,
        authenticate: bearer,
        attach: Arc::new(attach),
        public_operations: &WITHOUT_TOKEN,
        always_admitted: &ALWAYS_ADMITTED,
        settings: http_settings(settings),
        entropy: entropy(runtime.ambient.rng),
        stop: runtime.stop,
        sockets: runtime.tasks,
    };
    let Endpoints { router, charges } = http::endpoints(transport).map_err(AppError::Manifest)?;
    let (copies, of_services) = (copies(charges.clone()), of_services.router(router.clone(), charges.clone()));
    let router = with_pages(router, settings, ports).merge(described).merge(copies).merge(of_services);
    #[cfg(feature = "demo")]
    let router = router.merge(demo::pictures::router());
    Ok(Endpoints { router, charges })
}

/// The route of `/export`, once it is known what it costs.
fn copies(
    settings: &ApiSettings,
    exports: Arc<Exports>,
    runtime: &ApiRuntime,
) -> impl FnOnce(Charges) -> Router + use<> {
    let (tasks, trusted_proxies) = (runtime.tasks.clone(), settings.http.trusted_proxies.clone().into());
    let base_url = settings.base_url.as_str().into();
    move |charges| export::router(exports, ExportRuntime { tasks, charges, trusted_proxies, base_url })
}

fn service_paths(
    settings: &ApiSettings,
    ports: &Ports,
    runtime: &ApiRuntime,
    (bearer, log): (Arc<Bearer>, Arc<CallLog>),
) -> ServicePaths {
    let ApiRuntime { ambient, stop, tasks } = runtime.clone();
    let issuer = settings.issuer.as_ref().map(|external| external.issuer.issuer.clone());
    let (ports, of_loader, schemas) = (ports.clone(), ambient.clone(), settings.content_schemas.clone());
    let open = move || loader(&ports, issuer.as_deref(), &of_loader).checked_by(schemas.clone()).beside_readers();
    ServicePaths {
        entrance: Entrance { authenticate: bearer, draining: stop },
        log,
        tasks,
        ambient,
        open_loader: Arc::new(open),
        max_bulks: settings.max_bulks,
        max_import_bytes: settings.max_import_bytes,
    }
}

fn with_pages(api: Router, settings: &ApiSettings, ports: &Ports) -> Router {
    let router = api.clone().merge(pages::router(!settings.public_pages));
    if !settings.public_pages {
        return router;
    }
    let (contents, accounts) = (ports.contents.clone(), ports.accounts.clone());
    router.merge(public_pages::router(PublicPages { api, contents, accounts, base_url: settings.base_url.clone() }))
}

fn http_settings(settings: &ApiSettings) -> HttpSettings {
    let mut http = settings.http.clone();
    if settings.max_bulks > 0 {
        http.persisted.manifest = http.persisted.manifest.map(bulk::with_documents);
    }
    if settings.public_pages {
        http.persisted.manifest = http.persisted.manifest.map(public_pages::with_documents);
    }
    http
}

/// Who is asked whose a token is. What it remembers is kept up to date until the process stops.
fn bearer(
    settings: &ApiSettings,
    ports: &Ports,
    runtime: &ApiRuntime,
    (tokens, liveness): (Arc<Tokens>, Arc<Liveness<SessionId>>),
    (external_users, calls): (Arc<ExternalUsers>, Arc<CallLog>),
) -> Bearer {
    let (clock, known) = (runtime.ambient.clock.clone(), settings.service_key.clone());
    let (accounts, trust) = (&ports.accounts, settings.sessions.revocation);
    let services = Arc::new(ServiceAccess::new(accounts.clone(), known, trust, clock.clone()));
    let subjects = Arc::new(Liveness::new(accounts.clone(), trust, clock.clone()));
    let (keys, acted_as) = services.liveness();
    watch(subjects.clone(), ports, runtime);
    watch(liveness.clone(), ports, runtime);
    watch(keys, ports, runtime);
    watch(acted_as, ports, runtime);
    let issuer = settings.issuer.as_ref().map(|external| issuer(external, external_users.clone(), runtime));
    Bearer { tokens, liveness, subjects, issuer, services, calls, external_users, clock }
}

fn watch<I: Mortal>(liveness: Arc<Liveness<I>>, ports: &Ports, runtime: &ApiRuntime) {
    let announcements = ports.announcements.listen();
    let watching = async move { liveness.run(announcements).await };
    runtime.tasks.spawn(runtime.stop.clone().run_until_cancelled_owned(watching));
}

/// Gives each request what its resolvers need of who asks.
fn attaching(
    runtime: &ApiRuntime,
    (access, calls): (Arc<ServiceAccess>, Arc<CallLog>),
    is_described: bool,
) -> impl Attach<Principal> + use<> {
    let (ambient, tasks) = (runtime.ambient.clone(), runtime.tasks.clone());
    move |request, context: &RequestContext<Principal>| {
        let Client { address, agent } = context.client.clone();
        let principal = context.viewer.as_ref();
        let viewer = principal.and_then(Principal::viewer);
        // A service takes no share of the user's as whom it acts.
        let own = viewer.filter(|viewer| viewer.acted_by.is_none()).map(|viewer| viewer.id);
        let caller = Caller { viewer: own, network: address.map(payer::network), agent };
        let request = attach(request, viewer).data(caller);
        let request = match principal.and_then(|it| ServiceCall::of(it, (&access, &calls), &tasks, &ambient)) {
            Some(call) => request.data(call),
            None => request,
        };
        if is_described { request } else { request.data(Undescribed) }
    }
}

const SCHEMA_IS_OFF: &str =
    "The schema is not served here. Set graphql.introspection = true to serve it, or run `tidefeed schema`.\n";

/// `/schema.graphql`: the schema for code generators, if introspection is allowed.
fn schema_route(is_described: bool) -> Router {
    let answer = move |headers: HeaderMap| async move {
        if is_described { pages::schema(&headers) } else { (StatusCode::NOT_FOUND, SCHEMA_IS_OFF).into_response() }
    };
    Router::new().route("/schema.graphql", get(answer))
}

/// The transport's source of random ids.
pub fn entropy(rng: SharedRng) -> Entropy {
    Entropy::new(move || rng.u64())
}

fn tokens(settings: &ApiSettings, runtime: &ApiRuntime) -> Result<Tokens, AppError> {
    let key = |secret: &Vec<u8>| TokenKey::try_new(secret).map_err(AppError::Secret);
    let tokens = Tokens::new(key(&settings.secret)?, settings.token_ttl, runtime.ambient.clock.clone());
    settings.former_secrets.iter().try_fold(tokens, |tokens, secret| Ok(tokens.with_former_key(key(secret)?)))
}

fn accounts(
    settings: &ApiSettings,
    ports: &Ports,
    sessions: Arc<SessionsService>,
    runtime: &ApiRuntime,
) -> Result<AccountsService, AppError> {
    let ambient = runtime.ambient.clone();
    let passwords = Passwords::try_new(settings.passwords, ambient.rng.clone()).map_err(AppError::Passwords)?;
    let passwords_count = settings.issuer.as_ref().is_none_or(|issuer| !issuer.only);
    Ok(AccountsService::new(ports.accounts.clone(), Arc::new(passwords), sessions, ambient)
        .tracked_by(runtime.tasks.clone())
        .open_to(settings.open_registration, passwords_count)
        .limited_to(NonZeroU32::new(settings.registrations_per_hour).map(Registrations::new)))
}

fn exports(
    settings: &ApiSettings,
    use_cases: &UseCases,
    ports: &Ports,
    runtime: &ApiRuntime,
) -> Result<Exports, AppError> {
    let stores = ExportStores {
        accounts: ports.accounts.clone(),
        contents: ports.contents.clone(),
        lists: use_cases.lists.clone(),
    };
    Exports::try_new(stores, &settings.secret, &settings.former_secrets, runtime.ambient.clock.clone())
        .map_err(AppError::Secret)
}

/// The product's ids are the subjects of its issuer.
fn external_users(settings: &ApiSettings, ports: &Ports, runtime: &ApiRuntime) -> ExternalUsers {
    let issuer = settings.issuer.as_ref().map_or(PRODUCT, |external| external.issuer.issuer.as_str());
    ExternalUsers::new(ports.accounts.clone(), issuer.to_owned(), settings.sessions.revocation, runtime.ambient.clone())
}

fn issuer(external: &ExternalIssuer, external_users: Arc<ExternalUsers>, runtime: &ApiRuntime) -> Issuer {
    let ambient = &runtime.ambient;
    let keys = Keys::new(external.source.clone(), external.keys, ambient.clock.clone(), runtime.tasks.clone());
    let users = Users::new(external_users, external.provisions);
    Issuer::new((external.issuer.clone(), external.claims.clone()), Arc::new(keys), users, ambient.clock.clone())
}
