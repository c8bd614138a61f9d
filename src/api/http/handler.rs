//! GraphQL over HTTP: one request in, one response out.
//!
//! Apart from the engine, because all it adds is HTTP's own: methods, media types, the body's bound, the status. It
//! refuses to know schema and viewer.

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{Executor, parser::types::OperationType};
use axum::{
    body::{Body, Bytes},
    extract::{FromRequest as _, Query, Request, State},
    http::{HeaderMap, Method, Response, StatusCode, header::CONTENT_TYPE},
};
use futures_util::FutureExt as _;
use tracing::Instrument as _;

use super::{
    Core,
    accept::Media,
    engine::Ran,
    mask,
    outcome::{BAD_USER_INPUT, INTERNAL, Outcome, Reason, Refused, UNAUTHENTICATED, respond},
    params::{Params, ParamsError, UrlParams},
    request_id::RequestId,
    viewer::{AuthenticateError, Client, Credentials, Scope, Viewer},
};

/// Answers POST and GET of the GraphQL endpoint. Never panics, and never takes longer than its limit.
pub(super) async fn serve<E: Executor, V: Viewer>(
    State(core): State<Arc<Core<E, V>>>,
    request: Request,
) -> Response<Body> {
    let request_id = RequestId::of_headers(request.headers(), &core.draw);
    let accepted = Media::of_headers(request.headers());
    let media = accepted.unwrap_or(Media::Json);
    let span = tracing::info_span!(
        "graphql", %request_id, transport = "http", operation = tracing::field::Empty, name = tracing::field::Empty
    );
    let work = async {
        if accepted.is_none() {
            let message = "Accept has neither application/graphql-response+json nor application/json. Add one of them.";
            return Err(Refused::new(Reason::NotAcceptable, BAD_USER_INPUT, message));
        }
        run(&core, request, &request_id).await
    };
    let guarded = AssertUnwindSafe(tokio::time::timeout(core.settings.request.time, work)).catch_unwind();
    let outcome = async {
        match guarded.await {
            Ok(Ok(outcome)) => outcome.unwrap_or_else(Outcome::Refused),
            Ok(Err(_elapsed)) => Outcome::Refused(timed_out(&core, &request_id)),
            Err(panic) => {
                let errors = vec![mask::panicked(&*panic, &request_id)];
                Outcome::Refused(Refused { reason: Reason::Internal, errors })
            }
        }
    };
    let mut outcome = outcome.instrument(span.clone()).await;
    if let Outcome::Refused(refused) = &mut outcome {
        mask::mask(&mut refused.errors, &request_id);
    }
    let response = respond(outcome, media, &request_id);
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "answered"));
    response
}

fn timed_out<E, V: Viewer>(core: &Core<E, V>, request_id: &RequestId) -> Refused {
    let seconds = core.settings.request.time.as_secs_f32();
    tracing::warn!(%request_id, seconds, "a request took too long");
    let message = format!("The request took longer than {seconds} seconds. Ask for less at once, or try again later.");
    Refused::new(Reason::TimedOut, INTERNAL, message)
}

async fn run<E: Executor, V: Viewer>(core: &Core<E, V>, request: Request, id: &RequestId) -> Result<Outcome, Refused> {
    let credentials = Credentials::of_headers(request.headers());
    let client = Client::of(request.headers(), request.extensions());
    let method = request.method().clone();
    let params = if method == Method::POST { posted(request).await } else { asked(request).await }?;
    let viewer = credentials.viewer(&*core.authenticate).await.map_err(|error| unauthenticated(&error, id))?;
    let scope = Scope { viewer, request_id: id.clone(), client };
    let ready = core.engine.prepare(params, &scope);
    let ready = ready.map_err(|refusal| Refused { reason: Reason::Document, errors: vec![refusal.into()] })?;
    match ready.operation_type {
        OperationType::Subscription => {
            let message =
                "Subscriptions need a WebSocket. Connect to /graphql/ws with the subprotocol graphql-transport-ws.";
            Err(Refused::new(Reason::SubscriptionByHttp, BAD_USER_INPUT, message))
        }
        OperationType::Mutation if method != Method::POST => {
            Err(Refused::new(Reason::MutationByGet, BAD_USER_INPUT, "A mutation has to be sent by POST."))
        }
        _ => Ok(match core.engine.execute(ready, &scope).await {
            Ran::Executed(response) => Outcome::Executed(response),
            Ran::Refused(errors) => Outcome::Refused(Refused { reason: Reason::Document, errors }),
        }),
    }
}

fn unauthenticated(error: &AuthenticateError, request_id: &RequestId) -> Refused {
    match error {
        AuthenticateError::Invalid(message) => Refused::new(Reason::Unauthenticated, UNAUTHENTICATED, message),
        AuthenticateError::Unavailable(_) => {
            Refused { reason: Reason::Unavailable, errors: vec![mask::failed(error, request_id)] }
        }
    }
}

/// The parameters of a POST. Only JSON: a form of another site could send anything else without being asked.
async fn posted(request: Request) -> Result<Params, Refused> {
    if !is_json(request.headers()) {
        let message = "A POST has to have \"Content-Type: application/json\", encoded as UTF-8.";
        return Err(Refused::new(Reason::NotJson, BAD_USER_INPUT, message));
    }
    let body = Bytes::from_request(request, &()).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refused::new(
            Reason::TooLarge,
            BAD_USER_INPUT,
            "The body is longer than this server reads. Send less at once.",
        ),
        _ => Refused::new(Reason::Malformed, BAD_USER_INPUT, "The body could not be read to its end."),
    })?;
    Params::of_body(&body).map_err(malformed)
}

/// The parameters of a GET.
async fn asked(request: Request) -> Result<Params, Refused> {
    let url = Query::<UrlParams>::from_request(request, &()).await;
    let Query(url) = url.map_err(|rejection| Refused::new(Reason::Malformed, BAD_USER_INPUT, rejection.body_text()))?;
    Params::of_url(url).map_err(malformed)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn malformed(error: ParamsError) -> Refused {
    Refused::new(Reason::Malformed, BAD_USER_INPUT, error.to_string())
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let foreign_charset = parts.filter_map(|part| part.split_once('=')).any(|(name, charset)| {
        name.eq_ignore_ascii_case("charset") && !charset.trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    essence.eq_ignore_ascii_case("application/json") && !foreign_charset
}
