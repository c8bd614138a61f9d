//! What the answers for all pictures have in common.

use axum::{
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};

/// A picture opened as a page may load and run nothing.
pub const POLICY: &str = "default-src 'none'; sandbox";

/// There is no such picture.
pub fn missing() -> Response {
    (StatusCode::NOT_FOUND, "There is no such picture. Use an address that the API returns.\n").into_response()
}

/// What every picture and the clip come with.
pub const fn headers(kind: &'static str) -> [(HeaderName, &'static str); 5] {
    [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Pages of other origins may show them.
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ]
}
