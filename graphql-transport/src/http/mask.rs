//! Replaces internal errors by a neutral message, and adds the request's id to every error.

use async_graphql::{ErrorExtensionValues, Response, ServerError, Value};

use super::{
    codes::{BAD_USER_INPUT, INTERNAL, VALIDATION_FAILED, coded},
    request_id::RequestId,
};
use crate::codes::ANSWER_TOO_LARGE;

/// The message that replaces an internal error.
const NEUTRAL: &str = "Something went wrong on our side. If it stays, report the requestId.";

/// Hidden errors of one response that are logged in full; the log line counts the rest.
const LOGGED_ERRORS: usize = 5;

/// Hides every error that carries no code of its own, logs what was hidden in one line, and puts `request_id` into
/// all. An argument that its type refuses is the client's own, and is shown.
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

/// The error of a request that made a resolver, or this server, panic. Logs it.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> ServerError {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("of an unknown type"), "A request panicked.");
    coded(INTERNAL, NEUTRAL)
}

/// The error of a request that could not be served; `cause` is logged and not shown.
pub(super) fn failed(cause: &dyn std::error::Error) -> ServerError {
    tracing::error!(%cause, "A request could not be served.");
    coded(INTERNAL, NEUTRAL)
}

/// The errors of `response` if its operation never ran, as validation leaves it: no data, and no error has a path.
/// An error of execution always has one. They keep their text and get the code that they lack.
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

/// Whether it is the executor's own report of an argument that could not be read or that a validator refused. It has
/// these words and no source; a failure that a resolver passes on has one.
fn is_refused_argument(error: &ServerError) -> bool {
    let words = ["Failed to parse \"", "Expected input type \""];
    error.source.is_none() && words.iter().any(|words| error.message.starts_with(words))
}

/// Leaves place and path, which are the client's own, and answers the error as it was.
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
