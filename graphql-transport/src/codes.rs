//! The `extensions.code` values of this transport, all in one place.

/// The request, a variable or an argument is at fault.
pub(crate) const BAD_USER_INPUT: &str = "BAD_USER_INPUT";
/// The document is not GraphQL.
pub(crate) const PARSE_FAILED: &str = "GRAPHQL_PARSE_FAILED";
/// The document breaks a rule of the specification, or does not fit the schema.
pub(crate) const VALIDATION_FAILED: &str = "GRAPHQL_VALIDATION_FAILED";
/// The document is larger, deeper or dearer than this server executes.
pub(crate) const TOO_COMPLEX: &str = "QUERY_TOO_COMPLEX";
/// The operation that the request names is not in the document.
pub(crate) const OPERATION_RESOLUTION: &str = "OPERATION_RESOLUTION_FAILURE";
/// The document's name is not known here; the client sends the document with it.
pub(crate) const PERSISTED_NOT_FOUND: &str = "PERSISTED_QUERY_NOT_FOUND";
/// Documents are not found by name here.
pub(crate) const PERSISTED_NOT_SUPPORTED: &str = "PERSISTED_QUERY_NOT_SUPPORTED";
/// Only the documents of the manifest run here.
pub(crate) const PERSISTED_NOT_IN_LIST: &str = "PERSISTED_QUERY_NOT_IN_LIST";
/// The token is not valid.
pub(crate) const UNAUTHENTICATED: &str = "UNAUTHENTICATED";
/// The client has to wait.
pub(crate) const RATE_LIMITED: &str = "RATE_LIMITED";
/// Too many operations run and wait.
pub(crate) const OVERLOADED: &str = "OVERLOADED";
/// The answer would be larger than its bound.
pub(crate) const ANSWER_TOO_LARGE: &str = "ANSWER_TOO_LARGE";
/// This server failed.
pub(crate) const INTERNAL: &str = "INTERNAL_SERVER_ERROR";
