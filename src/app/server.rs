//! The HTTP server of a node: the operators' endpoints and, for `serve`, the API and the pages.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::HttpBody,
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use graphql_transport::http::{self, ConnectionLimits, Endpoints, Routes};
use serde_json::json;
use tokio::{net::TcpListener, time::Instant};
use tower::ServiceBuilder;
use tower_http::{
    CompressionLevel,
    compression::{
        CompressionLayer,
        predicate::{DefaultPredicate, NotForContentType, Predicate},
    },
};

use super::adapters::Adapters;
use crate::{
    api::pages::{self, NO_SUCH_PATH},
    lifecycle::Lifecycle,
    store::{StoreError, sql::Writes},
    telemetry::metrics::{HTTP_REQUESTS, HTTP_SECONDS, Measurements},
};

/// A store that takes longer to answer is not ready.
const PROBE_LIMIT: Duration = Duration::from_secs(2);
const NO_SUCH_PATH_OF_A_WORKER: &str = "There is nothing at this path. A worker serves /healthz, /readyz and /metrics only; send queries to a serving node.\n";

/// A page of any origin may learn that somebody is there, so that it can tell a refusal from a wrong address.
const ALSO_FOR_OTHER_ORIGINS: (HeaderName, HeaderValue) =
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("cross-origin"));

/// The state of the operators' endpoints.
pub struct Operators {
    /// To check SQL and Redis.
    pub adapters: Arc<Adapters>,
    /// To check whether the process is draining.
    pub lifecycle: Lifecycle,
    /// Without it, `/metrics` is 404.
    pub measurements: Option<Measurements>,
}

/// The routes of a serving node. The operators' routes answer even when all connections are taken.
pub fn all_routes(api: Endpoints, operators: Operators, graphiql: bool) -> Routes {
    let router = api.router;
    let api = if graphiql {
        router.layer(middleware::from_fn(pages::lead_browsers))
    } else {
        router.layer(middleware::from_fn(without_graphiql))
    };
    let operators = routes(operators);
    let all = explained(api.merge(operators.clone()), NO_SUCH_PATH);
    Routes { full: finished(operators.fallback(no_room)), all: finished(all) }
}

/// The routes of a worker node: `/healthz`, `/readyz` and `/metrics`.
pub fn operators_only(operators: Operators) -> Routes {
    let all = finished(explained(routes(operators), NO_SUCH_PATH_OF_A_WORKER));
    Routes { full: all.clone(), all }
}

/// Answers other paths with 404 and `no_such_path`, and other methods with 405, `Allow` and a sentence.
fn explained(router: Router, no_such_path: &'static str) -> Router {
    router.method_not_allowed_fallback(wrong_method).fallback(async move || (StatusCode::NOT_FOUND, no_such_path))
}

async fn wrong_method(method: Method) -> (StatusCode, String) {
    let text = format!("This path does not accept {method}. Use one of the methods in the header Allow.\n");
    (StatusCode::METHOD_NOT_ALLOWED, text)
}

fn routes(operators: Operators) -> Router {
    Router::new()
        .route("/healthz", get(async || ([ALSO_FOR_OTHER_ORIGINS], "alive\n")))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_text))
        .with_state(Arc::new(operators))
}

/// The level of gzip for answers. A page of 100 takes 14 % more bytes than at the default level but 40 % of the time;
/// the longest texts take an eighth of the time. Brotli would save 5 % of the bytes for more than twice the time.
const COMPRESSION: CompressionLevel = CompressionLevel::Precise(3);
/// The level for long answers: it takes two fifths of that time on the longest texts.
const COMPRESSION_OF_LONG: CompressionLevel = CompressionLevel::Precise(1);
/// Most bytes of a short answer. A usual page of 100 is short.
const SHORT: u64 = 256 * 1024;

/// Matches answers that are not known to be long.
#[derive(Debug, Clone, Copy)]
struct Short;

impl Predicate for Short {
    fn should_compress<B: HttpBody>(&self, response: &axum::http::Response<B>) -> bool {
        response.body().size_hint().exact().is_none_or(|bytes| bytes <= SHORT)
    }
}

fn finished(router: Router) -> Router {
    // What is written line by line is to arrive line by line.
    let plain = || DefaultPredicate::new().and(NotForContentType::const_new("application/x-ndjson"));
    let short = plain().and(Short);
    let long = CompressionLayer::new().quality(COMPRESSION_OF_LONG).compress_when(plain());
    let short = CompressionLayer::new().quality(COMPRESSION).compress_when(short);
    // One stack: axum boxes the service once for each call of `layer`.
    router.layer(ServiceBuilder::new().layer(long).layer(short).layer(middleware::from_fn(measure)))
}

/// Serves until draining has begun and the open requests have ended.
pub async fn serve(listener: TcpListener, routes: Routes, limits: ConnectionLimits, lifecycle: &Lifecycle) {
    tracing::info!(
        connections = limits.connections,
        per_address = limits.per_address,
        "Accepting connections within these limits."
    );
    http::serve(listener, routes, limits, lifecycle.draining()).await;
}

/// The answer to connections beyond the limit: operators' endpoints as usual, everything else 503.
async fn no_room() -> Response {
    let text = "No room for another connection: too many are open, of all clients or of this address. Close one, or try again in 5 seconds.\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5"), (header::CONNECTION, "close")], text).into_response()
}

/// 200 while the node accepts work, SQL answers, and SQL is not known to refuse writes. Redis and replicas do not
/// matter: without them pages only cost more.
async fn ready(State(operators): State<Arc<Operators>>) -> Response {
    let welcome = operators.lifecycle.is_ready();
    let store = operators.adapters.store.ping();
    let away = in_time(store).await.err().map(|error| error.map_or_else(late, |error| error.with_causes()));
    let writes = operators.adapters.store.writes().borrow().clone();
    let (store, reason) = match writes {
        _ if away.is_some() => ("down", away),
        Writes::Refused(reason) => ("takes no writes", Some(reason)),
        Writes::Taken | Writes::Doubted => ("up", None),
    };
    let (redis, redis_reason) = match &operators.adapters.redis {
        Some(redis) => match in_time(redis.probe_writes()).await {
            Ok(()) => ("up", None),
            Err(Some(error @ StoreError::TakesNoWrites(_))) => ("takes no writes", Some(error.with_causes())),
            Err(error) => ("down", Some(error.map_or_else(late, |error| error.with_causes()))),
        },
        None => ("not used", None),
    };
    let replicas = match operators.adapters.store.serving_replicas() {
        Some((all, serving)) => format!("{serving} of {all} serve"),
        None => "not used".to_owned(),
    };
    let is_ready = welcome && store == "up";
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let (ready, leaving) = (is_ready, !welcome);
    let body = json!({
        "ready": ready, "leaving": leaving, "store": store, "reason": reason, "replicas": replicas,
        "redis": redis, "redis_reason": redis_reason
    });
    (status, Json(body)).into_response()
}

/// The error is `None` if the time was not enough.
async fn in_time(probe: impl Future<Output = Result<(), StoreError>>) -> Result<(), Option<StoreError>> {
    match tokio::time::timeout(PROBE_LIMIT, probe).await {
        Ok(probed) => probed.map_err(Some),
        Err(_) => Err(None),
    }
}

fn late() -> String {
    format!("no answer within {} ms", PROBE_LIMIT.as_millis())
}

async fn metrics_text(State(operators): State<Arc<Operators>>) -> Response {
    match &operators.measurements {
        Some(measurements) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], measurements.render())
                .into_response()
        }
        None => (StatusCode::NOT_FOUND, "Metrics are off. Set metrics.enabled = true to serve them.\n").into_response(),
    }
}

async fn without_graphiql(request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/graphiql") {
        return (StatusCode::NOT_FOUND, "GraphiQL is off. Set graphql.graphiql = true to serve it.\n").into_response();
    }
    next.run(request).await
}

/// Counts and times requests by route. Paths would be labels that clients choose.
async fn measure(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other".to_owned(), |path| path.as_str().to_owned());
    let started = Instant::now();
    let response = next.run(request).await;
    metrics::histogram!(HTTP_SECONDS, "route" => route.clone()).record(started.elapsed());
    let status = response.status().as_str().to_owned();
    metrics::counter!(HTTP_REQUESTS, "route" => route, "status" => status).increment(1);
    response
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use axum::{body, http};
    use tower::ServiceExt as _;

    use super::*;

    const SHORT_TEXT: usize = 100_000;
    const LONG_TEXT: usize = 300_000;

    /// Digits in an order that does not repeat.
    fn faces(bytes: usize) -> String {
        let mut state = 1_u32;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from_u32(0x1F600 + (state >> 24) % 64).unwrap()
        })
        .take(bytes / 4)
        .collect()
    }

    /// The encoding of an answer of `bytes` bytes for a client that accepts these, and its length.
    async fn sent(bytes: usize, accepted: &str) -> (Option<String>, usize) {
        let router = finished(Router::new().route("/", get(async move || faces(bytes))));
        let request = http::Request::get("/").header(header::ACCEPT_ENCODING, accepted).body(body::Body::empty());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        let encoding = response.headers().get(header::CONTENT_ENCODING).map(|it| it.to_str().unwrap().to_owned());
        (encoding, body::to_bytes(response.into_body(), usize::MAX).await.unwrap().len())
    }

    #[tokio::test]
    async fn refusals_of_paths_and_methods_say_what_to_do() {
        let router = explained(Router::new().route("/schema.graphql", get(async || "type Query")), NO_SUCH_PATH);
        for (method, path, status, allowed, text) in [
            ("DELETE", "/schema.graphql", 405, Some("GET,HEAD"), "does not accept DELETE. Use one of"),
            ("GET", "/schema", 404, None, "Send queries to /graphql"),
        ] {
            let request = http::Request::builder().method(method).uri(path).body(body::Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let allow = response.headers().get(header::ALLOW).map(|it| it.to_str().unwrap().to_owned());
            assert_eq!((response.status().as_u16(), allow.as_deref()), (status, allowed), "{method} {path}");
            let body = body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(String::from_utf8_lossy(&body).contains(text), "{body:?}");
        }
    }

    #[tokio::test]
    async fn answers_are_compressed_as_gzip_and_long_ones_less() {
        let (short, short_bytes) = sent(SHORT_TEXT, "gzip, deflate, br, zstd").await;
        let (long, long_bytes) = sent(LONG_TEXT, "gzip").await;
        assert_eq!((short.as_deref(), long.as_deref()), (Some("gzip"), Some("gzip")));
        assert!(short_bytes < SHORT_TEXT / 2 && long_bytes < LONG_TEXT, "{short_bytes}, {long_bytes}");
        assert!(long_bytes * SHORT_TEXT > short_bytes * LONG_TEXT * 6 / 5, "{short_bytes}, {long_bytes}");
    }

    #[tokio::test]
    async fn a_client_that_does_not_take_gzip_gets_plain_answers() {
        for accepted in ["br", "identity", "gzip;q=0"] {
            assert_eq!(sent(LONG_TEXT, accepted).await, (None, LONG_TEXT), "{accepted}");
        }
    }
}
