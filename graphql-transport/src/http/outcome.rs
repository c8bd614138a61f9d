//! The outcome of a request and its HTTP response. Only [`status`] chooses a status.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use async_graphql::{Name, Response, ServerError, Value};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response as HttpResponse, StatusCode, header},
};
use serde::Serialize;

use super::{
    accept::Media,
    codes::{INTERNAL, OVERLOADED, RATE_LIMITED, coded},
    mask,
    rate::Charge,
    request_id::{self, RequestId},
    sse::framing::only_result,
};
use crate::{
    memory::{self, AnswerBudget, NoRoom},
    written::{Spliced, write},
};

/// Seconds after which to retry an operation refused under load.
pub(super) const COME_AGAIN: u64 = 1;

/// The outcome of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The operation ran; it may have errors beside its data.
    Executed(Response, AnswerBudget),
    /// It did not run.
    Refused(Refused),
}

/// The refusal of an operation that did not run.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) reason: Reason,
    pub(super) errors: Vec<ServerError>,
    /// Its cost, if known.
    pub(super) charge: Option<Charge>,
}

/// Why an operation did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The client accepts no available media type.
    NotAcceptable,
    /// The body is not `application/json`, or is encoded.
    NotJson,
    /// The body is too large.
    TooLarge,
    /// The parameters are malformed.
    Malformed,
    /// The parameters are well-formed, but the document or the variables are invalid.
    Document,
    /// The endpoint does not have this method.
    WrongMethod(&'static str),
    /// A mutation by GET.
    MutationByGet,
    /// A subscription over plain HTTP.
    SubscriptionByHttp,
    /// The token is not valid.
    Unauthenticated,
    /// The token is valid, but does not allow this.
    Forbidden,
    /// The client has spent its points.
    TooManyPoints,
    /// There is nothing with this name.
    NotFound,
    /// The name is in use.
    Conflict,
    /// There is no room for another stream, or no memory.
    NoRoom,
    /// This client already holds too much memory.
    TooMuchHeld,
    /// Too many operations are running and waiting.
    Overloaded,
    /// A backend that every request needs is unreachable.
    Unavailable,
    /// The time limit was exceeded.
    TimedOut,
    /// The operation ran, but its answer is too large.
    AnswerTooLarge,
    /// This server failed.
    Internal,
}

impl Refused {
    pub(super) fn new(reason: Reason, code: &str, message: impl Into<String>) -> Self {
        Self { reason, errors: vec![coded(code, message)], charge: None }
    }

    /// Says after how many seconds to try again.
    pub(super) fn for_seconds(mut self, seconds: u64) -> Self {
        for error in &mut self.errors {
            error.extensions.get_or_insert_default().set("retryAfter", seconds);
        }
        self
    }
}

/// The status of an answer. For `application/json`, 200 means "the request was well-formed".
pub(super) fn status(outcome: &Outcome, media: Media) -> StatusCode {
    let Outcome::Refused(refused) = outcome else {
        return StatusCode::OK;
    };
    match (refused.reason, media) {
        // A stream is opened to report the refusal: a browser's `EventSource` reads no other answer.
        (Reason::Document, Media::Json | Media::EventStream)
        | (Reason::MutationByGet, Media::EventStream)
        | (Reason::AnswerTooLarge, _) => StatusCode::OK,
        (Reason::Document | Reason::Malformed | Reason::SubscriptionByHttp, _) => StatusCode::BAD_REQUEST,
        (Reason::Unauthenticated, _) => StatusCode::UNAUTHORIZED,
        (Reason::Forbidden, _) => StatusCode::FORBIDDEN,
        (Reason::MutationByGet | Reason::WrongMethod(_), _) => StatusCode::METHOD_NOT_ALLOWED,
        (Reason::NotFound, _) => StatusCode::NOT_FOUND,
        (Reason::Conflict, _) => StatusCode::CONFLICT,
        (Reason::TooManyPoints | Reason::TooMuchHeld, _) => StatusCode::TOO_MANY_REQUESTS,
        (Reason::NotAcceptable, _) => StatusCode::NOT_ACCEPTABLE,
        (Reason::TooLarge, _) => StatusCode::PAYLOAD_TOO_LARGE,
        (Reason::NotJson, _) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        (Reason::Unavailable | Reason::TimedOut | Reason::NoRoom | Reason::Overloaded, _) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        (Reason::Internal, _) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The response for clients, without `data` if the operation did not run.
#[derive(Serialize)]
pub(super) struct Payload<'a> {
    #[serde(skip_serializing_if = "<[ServerError]>::is_empty")]
    errors: &'a [ServerError],
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Spliced<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a BTreeMap<String, Value>>,
}

/// The charge for clients, under `extensions.cost`.
pub(super) fn cost_extension(charge: &Charge) -> (String, Value) {
    let Charge { requested, limit, remaining, restore_rate, .. } = *charge;
    let cost = [
        ("requested", requested),
        ("limit", limit.into()),
        ("remaining", remaining.into()),
        ("restoreRate", restore_rate.into()),
    ];
    let cost = cost.into_iter().map(|(name, number)| (Name::new(name), Value::from(number)));
    ("cost".to_owned(), Value::Object(cost.collect()))
}

/// The request's id for clients and log lines: `extensions.requestId`.
pub(super) fn id_extension(id: &RequestId) -> (String, Value) {
    ("requestId".to_owned(), Value::from(id.as_str()))
}

impl<'a> Payload<'a> {
    pub(super) fn executed(response: &'a Response) -> Self {
        let extensions = Some(&response.extensions).filter(|extensions| !extensions.is_empty());
        Self { errors: &response.errors, data: Some(Spliced(&response.data)), extensions }
    }

    /// `extensions`: those of the answer, not of its errors.
    pub(super) fn refused(errors: &'a [ServerError], extensions: &'a BTreeMap<String, Value>) -> Self {
        Self { errors, data: None, extensions: Some(extensions).filter(|extensions| !extensions.is_empty()) }
    }
}

/// The JSON of `outcome`, or a refusal if it exceeds `most` bytes.
pub(super) fn to_json(outcome: &Outcome, most: usize, request_id: &RequestId) -> Vec<u8> {
    let json = match outcome {
        Outcome::Executed(response, _) => json_within(&Payload::executed(response), most).or_else(|| {
            let refused = too_large(most, request_id);
            serde_json::to_vec(&Payload::refused(&refused.errors, &response.extensions)).ok()
        }),
        Outcome::Refused(refused) => {
            let extensions = refused.charge.iter().map(cost_extension).collect();
            serde_json::to_vec(&Payload::refused(&refused.errors, &extensions)).ok()
        }
    };
    json.unwrap_or_default()
}

/// The refusal of an answer that exceeds `most` bytes.
pub(super) fn too_large(most: usize, request_id: &RequestId) -> Refused {
    let mut errors = vec![memory::too_large(most)];
    mask::mask(&mut errors, request_id);
    Refused { reason: Reason::AnswerTooLarge, errors, charge: None }
}

/// The refusal of an answer for which there is no memory.
pub(super) fn no_room_for_answer(no_room: NoRoom, charge: Option<Charge>, request_id: &RequestId) -> Refused {
    let message = match no_room {
        NoRoom::Client => "Too many of your answers are still unread. Read them first, or ask for less at once.",
        NoRoom::Node => "The server has no memory for another answer now. Try again later.",
    };
    let mut refused = Refused { charge, ..full(no_room, format!("{message} A mutation may have run.")) };
    mask::mask(&mut refused.errors, request_id);
    refused
}

/// The refusal under load.
pub(super) fn overloaded() -> Refused {
    let message = format!(
        "The server has more to do than it can. Nothing of this operation was done. Try again in {COME_AGAIN} s."
    );
    Refused::new(Reason::Overloaded, OVERLOADED, message).for_seconds(COME_AGAIN)
}

/// The refusal of a body for which there is no memory.
pub(super) fn no_room_for_body(no_room: NoRoom) -> Refused {
    let message = match no_room {
        NoRoom::Client => "Too many bytes of requests are on their way from your address. Send fewer at once.",
        NoRoom::Node => "No room for another request body. Try again in a few seconds.",
    };
    full(no_room, message)
}

/// The refusal of a subscription for whose document there is no memory.
pub(super) fn no_room_for_subscription(no_room: NoRoom) -> Refused {
    let message = match no_room {
        NoRoom::Client => "Your running subscriptions keep too many bytes. End some, or send less text and variables.",
        NoRoom::Node => "No room for another subscription. Try again in a few seconds.",
    };
    full(no_room, message)
}

fn full(no_room: NoRoom, message: impl Into<String>) -> Refused {
    let refused = match no_room {
        NoRoom::Client => Refused::new(Reason::TooMuchHeld, RATE_LIMITED, message),
        NoRoom::Node => Refused::new(Reason::NoRoom, INTERNAL, message),
    };
    refused.for_seconds(wait_for_room(no_room))
}

/// Seconds to wait.
pub(super) const fn wait_for_room(no_room: NoRoom) -> u64 {
    if matches!(no_room, NoRoom::Client) { 1 } else { 5 }
}

/// The JSON of `value` if it has at most `most` bytes. Never writes more than that.
pub(super) fn json_within(value: &impl Serialize, most: usize) -> Option<Vec<u8>> {
    let mut written = Bounded { bytes: Vec::with_capacity(128), most };
    write(&mut written, value).ok().map(|()| written.bytes)
}

struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(more.len()) > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The HTTP response for `outcome`, whose errors clients may see. `most`: bytes of an answer.
pub(super) fn respond(mut outcome: Outcome, media: Media, request_id: &RequestId, most: usize) -> HttpResponse<Body> {
    let json = to_json(&outcome, most, request_id);
    let body = if media == Media::EventStream { only_result(&json) } else { json };
    let body = match &outcome {
        Outcome::Executed(_, budget) => Body::from(budget.take_hold().over(body)),
        Outcome::Refused(_) => Body::from(body),
    };
    let mut response = HttpResponse::new(body);
    *response.status_mut() = status(&outcome, media);
    let headers = response.headers_mut();
    if let Outcome::Executed(executed, _) = &mut outcome {
        headers.extend(std::mem::take(&mut executed.http_headers));
    }
    headers.insert(header::CONTENT_TYPE, media.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept, authorization"));
    headers.insert(request_id::HEADER, request_id.to_header());
    if let Outcome::Refused(refused) = &outcome {
        headers.extend(refusal_header(refused));
    }
    response
}

/// The header of a refusal.
fn refusal_header(refused: &Refused) -> Option<(HeaderName, HeaderValue)> {
    let text = HeaderValue::from_static;
    match refused.reason {
        Reason::MutationByGet => Some((header::ALLOW, text("POST"))),
        Reason::WrongMethod(allowed) => Some((header::ALLOW, text(allowed))),
        Reason::Unauthenticated => Some((header::WWW_AUTHENTICATE, text("Bearer error=\"invalid_token\""))),
        Reason::Overloaded => Some((header::RETRY_AFTER, HeaderValue::from(COME_AGAIN))),
        Reason::Unavailable => Some((header::RETRY_AFTER, text("1"))),
        Reason::TooMuchHeld => Some((header::RETRY_AFTER, HeaderValue::from(wait_for_room(NoRoom::Client)))),
        Reason::NoRoom => Some((header::RETRY_AFTER, HeaderValue::from(wait_for_room(NoRoom::Node)))),
        Reason::TooManyPoints => {
            let wait = refused.charge.and_then(|charge| charge.retry_after).unwrap_or_default();
            Some((header::RETRY_AFTER, HeaderValue::from(seconds(wait))))
        }
        _ => None,
    }
}

/// Seconds until a retry can succeed, rounded up, at least one.
pub(super) fn seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}
