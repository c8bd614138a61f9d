//! The `extensions.code` values of this transport, all in one place.

/// The request, a variable or an argument is invalid.
pub(crate) const BAD_USER_INPUT: &str = "BAD_USER_INPUT";
/// The document is not GraphQL.
pub(crate) const PARSE_FAILED: &str = "GRAPHQL_PARSE_FAILED";
/// The document breaks a rule of the specification, or does not fit the schema.
pub(crate) const VALIDATION_FAILED: &str = "GRAPHQL_VALIDATION_FAILED";
/// The document is larger, deeper or costlier than this server executes.
pub(crate) const TOO_COMPLEX: &str = "QUERY_TOO_COMPLEX";
/// The document has no operation with the requested name.
pub(crate) const OPERATION_RESOLUTION: &str = "OPERATION_RESOLUTION_FAILURE";
/// The named document is unknown; the client sends it again with its text.
pub(crate) const PERSISTED_NOT_FOUND: &str = "PERSISTED_QUERY_NOT_FOUND";
/// This server does not find documents by name.
pub(crate) const PERSISTED_NOT_SUPPORTED: &str = "PERSISTED_QUERY_NOT_SUPPORTED";
/// This server runs only the documents of its manifest.
pub(crate) const PERSISTED_NOT_IN_LIST: &str = "PERSISTED_QUERY_NOT_IN_LIST";
/// The token is not valid.
pub(crate) const UNAUTHENTICATED: &str = "UNAUTHENTICATED";
/// The token does not allow this.
pub(crate) const FORBIDDEN: &str = "FORBIDDEN";
/// The client must wait.
pub(crate) const RATE_LIMITED: &str = "RATE_LIMITED";
/// Too many operations are running and waiting.
pub(crate) const OVERLOADED: &str = "OVERLOADED";
/// The answer would exceed its bound.
pub(crate) const ANSWER_TOO_LARGE: &str = "ANSWER_TOO_LARGE";
/// This server failed.
pub(crate) const INTERNAL: &str = "INTERNAL_SERVER_ERROR";
