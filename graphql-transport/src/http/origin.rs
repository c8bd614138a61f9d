//! Decides which origins may read answers and open a WebSocket. Browsers do not check the origin of a WebSocket, so
//! the server does.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue, Method, Response, StatusCode,
        header::{ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, HOST, ORIGIN},
    },
    middleware::Next,
};
use url::{Host, Url};

/// Origins of other hosts that are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// Such as `https://app.example.org`; compared ignoring case, without wildcards.
    pub listed: Vec<String>,
    /// Whether pages of this machine are allowed on any port, such as a frontend's development server.
    pub local: bool,
    /// The refusal for other origins: a sentence for the developer who reads it.
    pub refusal: &'static str,
}

impl Default for Origins {
    fn default() -> Self {
        Self { listed: Vec::new(), local: false, refusal: "Pages of this origin may not use this server." }
    }
}

impl Origins {
    pub(super) fn allow(&self, origin: &str) -> bool {
        self.listed.iter().any(|entry| entry.trim_end_matches('/').eq_ignore_ascii_case(origin))
            || self.local && is_local(origin)
    }

    /// Whether the requesting page belongs to this host or an allowed origin. Requests without `Origin` do not come
    /// from a browser and are allowed.
    pub(super) fn allow_page_of(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(ORIGIN) else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        self.allow(origin) || is_same_host(origin, host)
    }
}

/// Answers refused preflights with 403 and an explanation, which browsers would not show otherwise.
pub(super) async fn refuse_preflights(State(origins): State<Origins>, request: Request, next: Next) -> Response<Body> {
    let headers = request.headers();
    let is_preflight = *request.method() == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight || origins.allow_page_of(headers) {
        return next.run(request).await;
    }
    let mut response = Response::new(Body::from(origins.refusal));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Whether the origin is a server on the browser's own machine.
fn is_local(origin: &str) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_local && url.origin().ascii_serialization() == origin
}

/// Ignores the scheme: behind a proxy that ends TLS, the server does not know its own.
fn is_same_host(origin: &str, host: Option<&str>) -> bool {
    let (Some((scheme, authority)), Some(host)) = (origin.split_once("://"), host) else {
        return false;
    };
    let default_port = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let bare = |authority: &str| authority.strip_suffix(default_port).unwrap_or(authority).to_ascii_lowercase();
    bare(authority) == bare(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(local: bool, origin: &'static str, host: &'static str) -> bool {
        let headers = [(ORIGIN, HeaderValue::from_static(origin)), (HOST, HeaderValue::from_static(host))];
        let origins = Origins { listed: vec!["https://app.example.org".to_owned()], local, ..Origins::default() };
        origins.allow_page_of(&headers.into_iter().collect())
    }

    #[test]
    fn pages_of_this_host_and_of_allowed_origins_may() {
        assert!(allowed(false, "http://127.0.0.1:8080", "127.0.0.1:8080"));
        assert!(allowed(false, "https://Feed.example", "feed.example:443"));
        assert!(allowed(false, "http://feed.example:80", "feed.example"));
        assert!(allowed(false, "https://APP.example.org", "feed.example"));
        assert!(Origins::default().allow_page_of(&HeaderMap::new()));
    }

    #[test]
    fn other_pages_may_not() {
        for origin in [
            "https://evil.example",
            "http://app.example.org",
            "https://app.example.org.evil.example",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "http://localhost:5173",
            "null",
            "file://127.0.0.1:8080",
            "127.0.0.1:8080",
            "",
        ] {
            assert!(!allowed(false, origin, "127.0.0.1:8080"), "{origin}");
        }
    }

    #[test]
    fn only_genuine_loopback_origins_are_allowed_in_development() {
        for origin in ["http://localhost:5173", "https://localhost", "http://127.0.0.1:3000", "http://[::1]:3000"] {
            assert!(allowed(true, origin, "127.0.0.1:8080"), "{origin}");
        }
        for origin in [
            "http://localhost.evil.example",
            "http://evil.example",
            "http://evil@localhost",
            "http://192.168.0.1:3000",
            "http://localhost:5173/path",
            "file://localhost",
            "null",
        ] {
            assert!(!allowed(true, origin, "127.0.0.1:8080"), "{origin}");
        }
    }
}
