//! Adds the request's id, security headers and CORS to every answer, even without a handler.

use std::time::Duration;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, header},
    middleware::from_fn_with_state,
};
use tower::ServiceBuilder;
use tower_http::{
    cors::{AllowHeaders, AllowOrigin, CorsLayer},
    set_header::SetResponseHeaderLayer,
};

use super::{entropy::Entropy, origin::Origins, request_id};

/// How long a browser may cache the answer to a preflight.
const PREFLIGHT_AGE: Duration = Duration::from_mins(10);

/// Headers of answers for programs, none of which is a page.
const FOR_PROGRAMS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Gives each request of `router` an id, in the answer's header `x-request-id` and in every log line, and each answer
/// the safe headers that it does not set itself.
pub fn surrounded(router: Router, entropy: Entropy) -> Router {
    let [first, second, third, fourth] =
        FOR_PROGRAMS.map(|(name, value)| SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value)));
    let identify = from_fn_with_state(entropy, request_id::identify);
    // One stack: axum boxes the service once for each call of `layer`.
    router.layer(ServiceBuilder::new().layer(identify).layer((first, second, third, fourth)))
}

/// Allows pages of these origins to read answers, in addition to this host's own. Cookies are never allowed: clients
/// send tokens in a header. So any header is harmless, and clients add many by themselves, such as those of tracing.
pub(super) fn cors(origins: Origins) -> CorsLayer {
    let allowed = move |origin: &HeaderValue, _: &_| origin.to_str().is_ok_and(|origin| origins.allow(origin));
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(allowed))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        // Preflights, which depend on more, are not cached by others than browsers.
        .vary([header::ORIGIN])
        .expose_headers([request_id::HEADER, header::RETRY_AFTER, header::DATE])
        .max_age(PREFLIGHT_AGE)
}
