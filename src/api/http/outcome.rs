//! How a request ended, and what that is as an HTTP response: the one place that chooses a status.
//!
//! Apart, so that the specification's next mind on 400, 422 or 200 changes one function. It refuses to know how a
//! request is run.

use std::collections::BTreeMap;

use async_graphql::{ErrorExtensionValues, Response, ServerError, Value};
use axum::{
    body::Body,
    http::{HeaderValue, Response as HttpResponse, StatusCode, header},
};
use serde::Serialize;

use super::{accept::Media, request_id::RequestId};

/// The code of a request that is not what it has to be.
pub(super) const BAD_USER_INPUT: &str = "BAD_USER_INPUT";
/// The code of a token that is not valid.
pub(super) const UNAUTHENTICATED: &str = "UNAUTHENTICATED";
/// The code of every failure of this server.
pub(super) const INTERNAL: &str = "INTERNAL_SERVER_ERROR";

/// How a request ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The operation ran; it may have errors beside its data.
    Executed(Response),
    /// It did not run.
    Refused(Refused),
}

/// A request whose operation did not run, with the errors to tell.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) reason: Reason,
    pub(super) errors: Vec<ServerError>,
}

/// Why an operation did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Neither media type is accepted.
    NotAcceptable,
    /// The body is not `application/json`.
    NotJson,
    /// The body is too large.
    TooLarge,
    /// The parameters cannot be read.
    Malformed,
    /// Well-formed parameters with a document or variables that are not.
    Document,
    /// A mutation by GET.
    MutationByGet,
    /// A subscription over plain HTTP.
    SubscriptionByHttp,
    /// The token is not valid.
    Unauthenticated,
    /// A backend that every request needs cannot be reached.
    Unavailable,
    /// The time was up.
    TimedOut,
    /// A fault of this server.
    Internal,
}

impl Refused {
    pub(super) fn new(reason: Reason, code: &str, message: impl Into<String>) -> Self {
        Self { reason, errors: vec![coded(code, message)] }
    }
}

/// An error of this transport's own, with its code.
pub(super) fn coded(code: &str, message: impl Into<String>) -> ServerError {
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", code);
    let mut error = ServerError::new(message, None);
    error.extensions = Some(extensions);
    error
}

/// The status of an answer. JSON clients read 200 as "the request was well-formed".
pub(super) fn status(outcome: &Outcome, media: Media) -> StatusCode {
    let Outcome::Refused(refused) = outcome else {
        return StatusCode::OK;
    };
    match (refused.reason, media) {
        (Reason::Document, Media::Json) => StatusCode::OK,
        (Reason::Document | Reason::Malformed | Reason::SubscriptionByHttp, _) => StatusCode::BAD_REQUEST,
        (Reason::Unauthenticated, _) => StatusCode::UNAUTHORIZED,
        (Reason::MutationByGet, _) => StatusCode::METHOD_NOT_ALLOWED,
        (Reason::NotAcceptable, _) => StatusCode::NOT_ACCEPTABLE,
        (Reason::TooLarge, _) => StatusCode::PAYLOAD_TOO_LARGE,
        (Reason::NotJson, _) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        (Reason::Unavailable | Reason::TimedOut, _) => StatusCode::SERVICE_UNAVAILABLE,
        (Reason::Internal, _) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A response as clients read it. Without `data` if the operation did not run.
#[derive(Serialize)]
pub(super) struct Payload<'a> {
    #[serde(skip_serializing_if = "<[ServerError]>::is_empty")]
    errors: &'a [ServerError],
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a BTreeMap<String, Value>>,
}

impl<'a> Payload<'a> {
    pub(super) fn executed(response: &'a Response) -> Self {
        let extensions = Some(&response.extensions).filter(|extensions| !extensions.is_empty());
        Self { errors: &response.errors, data: Some(&response.data), extensions }
    }

    fn of(outcome: &'a Outcome) -> Self {
        match outcome {
            Outcome::Executed(response) => Self::executed(response),
            Outcome::Refused(refused) => Self { errors: &refused.errors, data: None, extensions: None },
        }
    }
}

/// The HTTP response for `outcome`, whose errors are fit to be shown.
pub(super) fn respond(mut outcome: Outcome, media: Media, request_id: &RequestId) -> HttpResponse<Body> {
    let body = serde_json::to_vec(&Payload::of(&outcome)).unwrap_or_default();
    let mut response = HttpResponse::new(Body::from(body));
    *response.status_mut() = status(&outcome, media);
    let headers = response.headers_mut();
    if let Outcome::Executed(executed) = &mut outcome {
        headers.extend(std::mem::take(&mut executed.http_headers));
    }
    headers.insert(header::CONTENT_TYPE, media.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept, authorization"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(super::request_id::HEADER, request_id.to_header());
    let told = match &outcome {
        Outcome::Refused(Refused { reason: Reason::MutationByGet, .. }) => Some((header::ALLOW, "POST")),
        Outcome::Refused(Refused { reason: Reason::Unauthenticated, .. }) => {
            Some((header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\""))
        }
        Outcome::Refused(Refused { reason: Reason::Unavailable, .. }) => Some((header::RETRY_AFTER, "1")),
        _ => None,
    };
    if let Some((name, value)) = told {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
