//! Tests the transport through its router, over its own test schema.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod client;
mod connections;
mod costs;
mod floods;
mod fuzz;
mod limits;
mod named;
mod overload;
mod plain;
mod public_operations;
pub mod schema;
mod socket;
mod socket_ends;
mod stream;

use std::{sync::Arc, time::Duration};

use async_graphql::Request;
use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request as HttpRequest, StatusCode},
};
use serde_json::Value as Json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use self::schema::{Person, TestSchema, schema};
use super::{entropy::counted, *};
use crate::{guard::Shape, payer::Payer};

/// The header that says as whom a service acts.
const ACT_AS: &str = "act-as";

/// `good` is Ann's token, `brief` one that expires after three seconds, and `ended` one whose sign-in has ended.
/// `nobody` is a token without a viewer, `service` one of whomever it acts as, and `down` cannot be verified.
struct Tokens;

#[async_trait]
impl Authenticate<Person> for Tokens {
    async fn authenticate(&self, token: &str, act_as: Option<&str>) -> Result<Option<Person>, AuthenticateError> {
        match act_as {
            Some("eve") => return Err(AuthenticateError::NoSuchViewer("There is no such viewer.".to_owned())),
            Some(_) if token != "service" => return Err(AuthenticateError::Forbidden("No service.".to_owned())),
            _ => {}
        }
        match token {
            "good" => Ok(Some(Person("ann", None))),
            "brief" => Ok(Some(Person("ann", Some(Duration::from_secs(3))))),
            "service" => Ok(act_as.map(|_| Person("ann", None))),
            "nobody" => Ok(None),
            "down" => Err(AuthenticateError::Unavailable("the database at 10.0.0.7 is down".to_owned())),
            _ => Err(AuthenticateError::Invalid("The token has expired. Sign in again.".to_owned())),
        }
    }

    fn act_as(&self) -> Option<&'static str> {
        Some(ACT_AS)
    }

    fn presumed(&self, token: &str) -> Option<Payer> {
        ["good", "brief", "ended"].contains(&token).then_some(Payer::Viewer(1))
    }

    fn good_for(&self, viewer: &Person) -> Option<Duration> {
        viewer.1
    }
}

fn transport(settings: HttpSettings) -> Transport<TestSchema, Person> {
    let attach = |request: Request, context: &RequestContext<Person>| {
        request.data(context.viewer.clone()).data(context.request_id.as_str().to_owned())
    };
    Transport {
        schema: schema(),
        shape: Shape::of_sdl(&schema().sdl()).unwrap(),
        authenticate: Arc::new(Tokens),
        attach: Arc::new(attach),
        public_operations: &["bump"],
        always_admitted: &["leave"],
        settings,
        entropy: counted(),
        stop: CancellationToken::new(),
        sockets: TaskTracker::new(),
    }
}

/// A response with its whole body.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Json,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The value of `name` in the extensions of the error at `index`.
    fn extension(&self, name: &str) -> &str {
        self.body["errors"][0]["extensions"][name].as_str().unwrap_or_default()
    }

    fn message(&self) -> &str {
        self.body["errors"][0]["message"].as_str().unwrap_or_default()
    }
}

async fn send(settings: HttpSettings, request: HttpRequest<Body>) -> Answer {
    let response = router(transport(settings)).unwrap().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| Json::String(String::from_utf8_lossy(&bytes).into()));
    Answer { status: parts.status, headers: parts.headers, body }
}

/// A POST of JSON with additional headers.
fn post(body: impl Into<Body>, headers: &[(&str, &str)]) -> HttpRequest<Body> {
    let mut request = HttpRequest::post("/graphql").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

/// Posts `query` and accepts `application/graphql-response+json`.
async fn ask(query: &str) -> Answer {
    let body = serde_json::json!({ "query": query }).to_string();
    send(HttpSettings::default(), post(body, &[("accept", "application/graphql-response+json")])).await
}

/// A GET with this query string.
async fn get_with(query_string: &str) -> Answer {
    let request = HttpRequest::get(format!("/graphql?{query_string}")).body(Body::empty()).unwrap();
    send(HttpSettings::default(), request).await
}
