//! The most important rules of the transport, through its public interface alone, over a small schema.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod plain;
mod schema;
mod sockets;
mod stock;
mod streams;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_graphql::Request;
use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request as HttpRequest, StatusCode},
};
use graphql_transport::{
    guard::{CostHints, Shape},
    http::{Authenticate, AuthenticateError, Entropy, HttpSettings, RequestContext, Transport, Viewer, router},
    metered::Bounded,
    payer::Payer,
};
use serde_json::{Value as Json, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use self::schema::{Library, Shelf, library};

/// A reader of the library, by number.
#[derive(Debug, Clone)]
struct Reader(u64);

impl Viewer for Reader {
    fn payer(&self) -> Payer {
        Payer::Viewer(self.0)
    }
}

/// A token is a reader's number.
struct Cards;

#[async_trait]
impl Authenticate<Reader> for Cards {
    async fn authenticate(&self, token: &str, _: Option<&str>) -> Result<Option<Reader>, AuthenticateError> {
        match token.parse() {
            Ok(number) => Ok(Some(Reader(number))),
            Err(_) => Err(AuthenticateError::Invalid("This is no card of ours. Sign in again.".to_owned())),
        }
    }
}

/// A transport over a library of its own.
struct Service {
    shelf: Shelf,
    router: Router,
}

/// A whole answer.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|_| json!(self.text))
    }

    fn code(&self) -> String {
        self.json()["errors"][0]["extensions"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Service {
    fn with(settings: HttpSettings) -> Self {
        let (schema, shelf) = library();
        let shape = Shape::of_sdl(&schema.sdl()).unwrap().with_cost_hints(&CostHints::default());
        Self { router: router(transport(Bounded(schema), shape, settings)).unwrap(), shelf }
    }

    fn usual() -> Self {
        Self::with(HttpSettings::default())
    }

    async fn send(&self, request: HttpRequest<Body>) -> Answer {
        answer(self.router.clone(), request).await
    }

    async fn post(&self, body: Json, headers: &[(&str, &str)]) -> Answer {
        self.send(post("application/json", &body, headers)).await
    }

    async fn ask(&self, query: &str) -> Answer {
        self.post(json!({ "query": query }), &[("accept", "application/graphql-response+json")]).await
    }
}

fn transport(schema: Bounded<Library>, shape: Shape, settings: HttpSettings) -> Transport<Bounded<Library>, Reader> {
    let drawn = AtomicU64::new(1);
    Transport {
        schema,
        shape,
        authenticate: Arc::new(Cards),
        attach: Arc::new(|request: Request, context: &RequestContext<Reader>| request.data(context.viewer.clone())),
        public_operations: &[],
        always_admitted: &[],
        settings,
        entropy: Entropy::new(move || drawn.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)),
        stop: CancellationToken::new(),
        sockets: TaskTracker::new(),
    }
}

async fn answer(router: Router, request: HttpRequest<Body>) -> Answer {
    let response = router.oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    Answer { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.into()).unwrap() }
}

fn post(content_type: &str, body: &Json, headers: &[(&str, &str)]) -> HttpRequest<Body> {
    let request = HttpRequest::post("/graphql").header("content-type", content_type);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body.to_string())).unwrap()
}

fn get(query: &str) -> HttpRequest<Body> {
    HttpRequest::get(format!("/graphql?query={query}")).body(Body::empty()).unwrap()
}
