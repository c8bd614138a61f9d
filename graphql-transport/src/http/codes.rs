//! Builds the errors that this transport raises itself, each with its code.

use async_graphql::{ErrorExtensionValues, ServerError};

pub(super) use crate::codes::{
    BAD_USER_INPUT, FORBIDDEN, INTERNAL, OVERLOADED, PERSISTED_NOT_FOUND, PERSISTED_NOT_IN_LIST,
    PERSISTED_NOT_SUPPORTED, RATE_LIMITED, UNAUTHENTICATED, VALIDATION_FAILED,
};

/// An error with its code.
pub(super) fn coded(code: &str, message: impl Into<String>) -> ServerError {
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", code);
    let mut error = ServerError::new(message, None);
    error.extensions = Some(extensions);
    error
}
