//! Replaces internal errors by a neutral message, and adds the request's id to every error.

use async_graphql::{ErrorExtensionValues, Response, ServerError, Value};

use super::{
    codes::{BAD_USER_INPUT, INTERNAL, VALIDATION_FAILED, coded},
    request_id::RequestId,
};
use crate::codes::ANSWER_TOO_LARGE;

/// The message that replaces an internal error.
const NEUTRAL: &str = "Something went wrong on our side. If it happens again, report the requestId.";

/// The message for a failure that will pass, such as that of a backend.
const PASSING: &str = "Something went wrong on our side. Try again in a moment.";

/// Hidden errors of one response that are logged in full; the log line counts the rest.
const LOGGED_ERRORS: usize = 5;

/// Hides every error without a code, logs the hidden ones in one line, and adds `request_id` to all. Errors about
/// refused arguments stay, because the client caused them.
pub(super) fn mask(errors: &mut [ServerError], request_id: &RequestId) {
    for error in errors.iter_mut().filter(|error| !has_code(error) && is_refused_argument(error)) {
        error.extensions.get_or_insert_default().set("code", BAD_USER_INPUT);
    }
    let hidden: Vec<ServerError> = errors.iter_mut().filter(|error| !has_code(error)).map(hide).collect();
    if !hidden.is_empty() {
        let shown: Vec<String> = hidden.iter().take(LOGGED_ERRORS).map(describe).collect();
        tracing::error!(count = hidden.len(), errors = ?shown, "Fields of an answer failed.");
    }
    for error in errors {
        error.extensions.get_or_insert_default().set("requestId", request_id.as_str());
    }
}

/// The error for a panic, which it logs.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> ServerError {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("of an unknown type"), "A request panicked.");
    coded(INTERNAL, NEUTRAL)
}

/// The error for a request that could not be served for the moment. Logs `cause`.
pub(super) fn unserved(cause: &dyn std::error::Error) -> ServerError {
    tracing::error!(%cause, "A request could not be served.");
    coded(INTERNAL, PASSING)
}

/// Takes the errors of an operation that validation stopped: there is no data, and no error has a path. Errors of
/// execution always have one. They keep their message and get a code if they lack one.
pub(super) fn take_request_errors(response: &mut Response) -> Option<Vec<ServerError>> {
    let refused = response.data == async_graphql::Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty() && !is_coded(error, ANSWER_TOO_LARGE));
    if !refused {
        return None;
    }
    let mut errors = std::mem::take(&mut response.errors);
    for error in errors.iter_mut().filter(|error| !has_code(error)) {
        error.extensions.get_or_insert_default().set("code", VALIDATION_FAILED);
    }
    Some(errors)
}

fn is_coded(error: &ServerError, code: &str) -> bool {
    error.extensions.as_ref().and_then(|extensions| extensions.get("code")) == Some(&Value::from(code))
}

fn has_code(error: &ServerError) -> bool {
    error.extensions.as_ref().is_some_and(|extensions| extensions.get("code").is_some())
}

/// The beginnings of async-graphql's errors about an argument that a type or a validator refuses. They have neither
/// code nor kind; only a resolver's failure has a source. A custom scalar should give its error the code
/// `BAD_USER_INPUT` instead. `tests/plain.rs` fails if a new version words them differently.
const REFUSED_ARGUMENT: [&str; 2] = ["Failed to parse \"", "Expected input type \""];

/// Whether the executor reports an unreadable or refused argument.
fn is_refused_argument(error: &ServerError) -> bool {
    error.source.is_none() && REFUSED_ARGUMENT.iter().any(|beginning| error.message.starts_with(beginning))
}

/// Hides the message, keeps location and path, and returns the original error.
fn hide(error: &mut ServerError) -> ServerError {
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", INTERNAL);
    let mut neutral = ServerError::new(NEUTRAL, None);
    neutral.locations.clone_from(&error.locations);
    neutral.path.clone_from(&error.path);
    neutral.extensions = Some(extensions);
    std::mem::replace(error, neutral)
}

fn describe(error: &ServerError) -> String {
    let path: Vec<String> = error
        .path
        .iter()
        .map(|segment| match segment {
            async_graphql::PathSegment::Field(name) => name.clone(),
            async_graphql::PathSegment::Index(index) => index.to_string(),
        })
        .collect();
    format!("{}: {}", path.join("."), error.message)
}
