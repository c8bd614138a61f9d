//! GraphQL over HTTP: one request in, one response out, which may be a stream.
//!
//! It adds what HTTP alone has: methods, media types, the limit of the body, the status.

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_graphql::parser::types::OperationType;
use axum::{
    body::{Body, Bytes, HttpBody as _},
    extract::{FromRequest as _, Query, Request, State},
    http::{
        HeaderMap, Method, Response,
        header::{CONTENT_ENCODING, CONTENT_TYPE},
    },
};
use futures_util::{FutureExt as _, StreamExt as _};
use tracing::Instrument as _;

use super::{
    accept::Media,
    admission::Overloaded,
    codes::{BAD_USER_INPUT, FORBIDDEN, INTERNAL, UNAUTHENTICATED},
    engine::Execution,
    mask,
    outcome::{Outcome, Reason, Refused, no_room_for_body, respond},
    params::{Params, UrlParams},
    patience::hold_back,
    public_operations::needs_no_token,
    request_id::RequestId,
    runner::malformed,
    sse,
    state::Core,
    viewer::{AuthenticateError, Client, Credentials, RequestContext, Viewer},
};
use crate::{
    execution::PreparedExecutor,
    memory::{Hold, NoRoom},
};

/// The methods of the GraphQL endpoint.
const METHODS: &str = "GET, POST, PUT, DELETE, OPTIONS";

/// A body that arrives in parts grows by at least this much.
const BODY_PIECE_BYTES: usize = 8 * 1024;

/// A body that is too long by no more than this factor is read to its end before the refusal. Otherwise the connection
/// would be reset before the client reads the answer.
const DISCARDED_FACTOR: usize = 4;

/// The result of a request.
enum Reply {
    Outcome(Outcome),
    /// A finished response, such as a stream.
    Made(Response<Body>),
}

/// Serves the GraphQL endpoint. Never panics, and begins its answer within the time limit.
pub(super) async fn serve<E: PreparedExecutor, V: Viewer>(
    State(core): State<Arc<Core<E, V>>>,
    request: Request,
) -> Response<Body> {
    let request_id = RequestId::of_request(&request, &core.entropy);
    let accepted = Media::of_headers(request.headers());
    let media = accepted.unwrap_or(Media::Json);
    let span = tracing::error_span!(
        "graphql", %request_id, transport = "http", operation = tracing::field::Empty, name = tracing::field::Empty
    );
    // On the heap, because each layer around it would move it.
    let work = Box::pin(async {
        if accepted.is_none() {
            let message = "Accept has none of application/graphql-response+json, application/json and \
                           text/event-stream. Add one of them.";
            return Err(Refused::new(Reason::NotAcceptable, BAD_USER_INPUT, message));
        }
        run(&core, request, &request_id, media).await
    });
    let guarded = AssertUnwindSafe(tokio::time::timeout(core.settings.request.time, work)).catch_unwind();
    let answer = async {
        match guarded.await {
            Ok(Ok(answer)) => answer.unwrap_or_else(|refused| Reply::Outcome(Outcome::Refused(refused))),
            Ok(Err(_elapsed)) => Reply::Outcome(Outcome::Refused(timed_out(&core))),
            Err(panic) => {
                let errors = vec![mask::panicked(&*panic)];
                Reply::Outcome(Outcome::Refused(Refused { reason: Reason::Internal, errors, charge: None }))
            }
        }
    };
    let response = match answer.instrument(span.clone()).await {
        Reply::Made(response) => response,
        Reply::Outcome(mut outcome) => {
            if let Outcome::Refused(refused) = &mut outcome {
                mask::mask(&mut refused.errors, &request_id);
            }
            respond(outcome, media, &request_id, core.settings.request.answer_bytes)
        }
    };
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "The request was answered."));
    response
}

fn timed_out<E, V: Viewer>(core: &Core<E, V>) -> Refused {
    let seconds = core.settings.request.time.as_secs_f32();
    tracing::warn!(seconds, "A request took too long.");
    let message = format!("The request took longer than {seconds} seconds. Ask for less at once, or try again later.");
    Refused::new(Reason::TimedOut, INTERNAL, message)
}

async fn run<E: PreparedExecutor, V: Viewer>(
    core: &Arc<Core<E, V>>,
    request: Request,
    id: &RequestId,
    media: Media,
) -> Result<Reply, Refused> {
    let (credentials, method) =
        (Credentials::of_headers(request.headers(), core.authenticate.act_as()), request.method().clone());
    let stream = sse::token_of(&request);
    let client = Client::of(request.headers(), request.extensions(), &core.settings.trusted_proxies);
    let params = match (&method, &stream, media) {
        (&Method::DELETE, ..) => return sse::cancel(core, &request).map(Reply::Made),
        (&Method::GET, Some(token), Media::EventStream) => return sse::fulfil(core, token, id).map(Reply::Made),
        (&Method::PUT, ..) => {
            let context = RequestContext { viewer: viewer(core, credentials).await?, request_id: id.clone(), client };
            return sse::reserve(core, context).map(Reply::Made);
        }
        (&Method::POST, ..) => posted(core, request, &client).await?,
        (&Method::GET, ..) => asked(request).await?,
        _ => {
            let message = format!("The GraphQL endpoint has the methods {METHODS}.");
            return Err(Refused::new(Reason::WrongMethod(METHODS), BAD_USER_INPUT, message));
        }
    };
    if let Some(presumed) = credentials.presumed_payer(&*core.authenticate, client.address)
        && let Err(Overloaded { refused, held_back }) = core.engine.refuse_early(&params, presumed)
    {
        drop(params);
        hold_back(held_back).await;
        return Err(refused);
    }
    let viewer = match viewer(core, credentials).await {
        Err(refused)
            if refused.reason == Reason::Unauthenticated && is_public_operation(core, &params, (id, &client)) =>
        {
            None
        }
        known => known?,
    };
    let context = RequestContext { viewer, request_id: id.clone(), client };
    let streams = media == Media::EventStream || stream.is_some();
    let stream_permit = if media == Media::EventStream { Some(sse::take_permit(core, &context)?) } else { None };
    let operation = params.extensions.get("operationId").and_then(|id| id.as_str()).map(str::to_owned);
    let permits = |operation| permit(operation, &method, streams);
    let admitted = core.engine.prepare(params, &context, permits).await?;
    if let Some(stream_permit) = stream_permit {
        return Ok(Reply::Made(sse::open(core, admitted, context, stream_permit)));
    }
    if let Some(token) = stream {
        return sse::join(core, &token, operation, admitted, context).map(Reply::Made);
    }
    Ok(Reply::Outcome(match core.engine.execute(admitted, &context).await {
        Execution::Executed(response, budget) => Outcome::Executed(response, budget),
        Execution::Refused(refused) => Outcome::Refused(refused),
    }))
}

/// Whether the request may run without a viewer although it carries a token.
fn is_public_operation<E: PreparedExecutor, V: Viewer>(
    core: &Core<E, V>,
    params: &Params,
    (id, client): (&RequestId, &Client),
) -> bool {
    let nobody = RequestContext { viewer: None, request_id: id.clone(), client: client.clone() };
    let opened = core.engine.documents.open(&params.source, |points| core.engine.pay_reading(&nobody, points));
    opened.is_ok_and(|it| {
        let operation = it.kept.document.operation(params.operation_name.as_deref());
        operation.is_some_and(|operation| needs_no_token(operation, core.public_operations))
    })
}

/// GET runs no mutation, because any link could trigger it. Subscriptions need a stream.
fn permit(operation: OperationType, method: &Method, streams: bool) -> Result<(), Refused> {
    match operation {
        OperationType::Subscription if !streams => {
            let message = "Subscriptions need a stream. Connect to /graphql/ws with the subprotocol \
                           graphql-transport-ws, or accept text/event-stream.";
            Err(Refused::new(Reason::SubscriptionByHttp, BAD_USER_INPUT, message))
        }
        OperationType::Mutation if *method != Method::POST => {
            Err(Refused::new(Reason::MutationByGet, BAD_USER_INPUT, "A mutation has to be sent by POST."))
        }
        _ => Ok(()),
    }
}

async fn viewer<E, V: Viewer>(core: &Core<E, V>, credentials: Credentials) -> Result<Option<V>, Refused> {
    credentials.viewer(&*core.authenticate).await.map_err(|error| match error {
        AuthenticateError::Invalid(message) => Refused::new(Reason::Unauthenticated, UNAUTHENTICATED, message),
        AuthenticateError::Forbidden(message) => Refused::new(Reason::Forbidden, FORBIDDEN, message),
        AuthenticateError::NoSuchViewer(message) => Refused::new(Reason::Malformed, BAD_USER_INPUT, message),
        AuthenticateError::Unavailable(_) => {
            Refused { reason: Reason::Unavailable, errors: vec![mask::unserved(&error)], charge: None }
        }
    })
}

/// Reads the parameters of a POST. Only JSON, because pages of other sites can send forms without a preflight.
async fn posted<E, V: Viewer>(core: &Core<E, V>, request: Request, client: &Client) -> Result<Params, Refused> {
    if !is_json(request.headers()) {
        let message = "A POST has to have \"Content-Type: application/json\", encoded as UTF-8.";
        return Err(Refused::new(Reason::NotJson, BAD_USER_INPUT, message));
    }
    if let Some(encoding) =
        request.headers().get(CONTENT_ENCODING).filter(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        let encoding = String::from_utf8_lossy(encoding.as_bytes());
        let message = format!("A body with \"Content-Encoding: {encoding}\" is not read here. Send it as it is.");
        return Err(Refused::new(Reason::NotJson, BAD_USER_INPUT, message));
    }
    let (mut hold, cut) = core.bodies.open_unfinished(client.holders());
    let body = tokio::select! {
        biased;
        () = cut.cancelled() => return Err(no_room_for_body(NoRoom::Client)),
        body = read(request.into_body(), core.settings.request.body_bytes, &mut hold) => body?,
    };
    hold.finish().map_err(no_room_for_body)?;
    Params::of_body(&body).map_err(|error| malformed(&error))?.held_by(hold, body.len())
}

/// Reads the body up to `most` bytes. `hold` grows with it.
async fn read(body: Body, most: usize, hold: &mut Hold) -> Result<Vec<u8>, Refused> {
    let too_large = || {
        let message = "The body is longer than this server reads. Send less at once.";
        Refused::new(Reason::TooLarge, BAD_USER_INPUT, message)
    };
    let (least, mut parts, mut read) = (body.size_hint().lower(), body.into_data_stream(), Vec::new());
    if least > most as u64 {
        if least <= most.saturating_mul(DISCARDED_FACTOR) as u64 {
            while let Some(Ok(_)) = parts.next().await {}
        }
        return Err(too_large());
    }
    while let Some(part) = parts.next().await {
        let broken = |_| Refused::new(Reason::Malformed, BAD_USER_INPUT, "The body could not be read to its end.");
        let part: Bytes = part.map_err(broken)?;
        let length = read.len() + part.len();
        if length > most {
            return Err(too_large());
        }
        if length > read.capacity() {
            let permit = (length + length / 4).next_multiple_of(BODY_PIECE_BYTES).min(most);
            hold.grow_to(permit).map_err(no_room_for_body)?;
            read.reserve_exact(permit - read.len());
        }
        read.extend_from_slice(&part);
    }
    Ok(read)
}

/// Reads the parameters of a GET.
async fn asked(request: Request) -> Result<Params, Refused> {
    let url = Query::<UrlParams>::from_request(request, &()).await;
    let Query(url) = url.map_err(|rejection| Refused::new(Reason::Malformed, BAD_USER_INPUT, rejection.body_text()))?;
    Params::of_url(url).map_err(|error| malformed(&error))
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
