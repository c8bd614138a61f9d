//! The codes of this transport's own errors, and an error with one.

use async_graphql::{ErrorExtensionValues, ServerError};

/// The code of a request that is not what it has to be.
pub(super) const BAD_USER_INPUT: &str = "BAD_USER_INPUT";
/// The code of a token that is not valid.
pub(super) const UNAUTHENTICATED: &str = "UNAUTHENTICATED";
/// The code of every failure of this server.
pub(super) const INTERNAL: &str = "INTERNAL_SERVER_ERROR";
/// The code of a request that has to wait.
pub(super) const RATE_LIMITED: &str = "RATE_LIMITED";

/// An error of this transport's own, with its code.
pub(super) fn coded(code: &str, message: impl Into<String>) -> ServerError {
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", code);
    let mut error = ServerError::new(message, None);
    error.extensions = Some(extensions);
    error
}
