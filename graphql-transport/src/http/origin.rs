//! Decides which origins may read answers and open a WebSocket. Browsers do not check the origin of a WebSocket, so
//! the server does.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{
        Extensions, HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
        header::{ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, HOST, ORIGIN},
    },
    middleware::Next,
};
use ipnet::IpNet;
use url::{Host, Url};

use super::address;

/// The host that the client asked for, told by a proxy that asks for another one itself.
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Origins of other hosts that are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins {
    /// Such as `https://app.example.org` or `capacitor://localhost`; compared ignoring case, without wildcards.
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
    /// from a browser and are allowed. This host is the one in `Host`, or, if a proxy of `proxies` sends the request,
    /// in `X-Forwarded-Host`.
    pub(super) fn allow_page_of(&self, headers: &HeaderMap, extensions: &Extensions, proxies: &[IpNet]) -> bool {
        let Some(origin) = headers.get(ORIGIN) else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        if self.allow(origin) {
            return true;
        }
        let named = |name| headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
        if !address::is_from_proxy(extensions, proxies) {
            return named(HOST).any(|host| is_same_host(origin, host, Ports::Exact));
        }
        let forwarded = named(FORWARDED_HOST).flat_map(|line| line.split(',')).map(str::trim);
        named(HOST).chain(forwarded).any(|host| is_same_host(origin, host, Ports::IfNamed))
    }
}

/// Answers refused preflights with 403 and an explanation, which browsers would not show otherwise.
pub(super) async fn refuse_preflights(
    State((origins, proxies)): State<(Origins, Vec<IpNet>)>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let headers = request.headers();
    let is_preflight = *request.method() == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight || origins.allow_page_of(headers, request.extensions(), &proxies) {
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

/// What a host without a port says about the port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ports {
    /// That it is the default port.
    Exact,
    /// Nothing: nginx's `$host` and its like leave the port out.
    IfNamed,
}

/// Ignores the scheme, and which of the default ports is named: behind a proxy that ends TLS, the server does not know
/// its own.
fn is_same_host(origin: &str, host: &str, ports: Ports) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    if !["http", "https"].iter().any(|one| scheme.eq_ignore_ascii_case(one)) {
        return false;
    }
    let ((page, page_port), (host, host_port)) = (split(authority), split(host));
    page.eq_ignore_ascii_case(host)
        && (usual(page_port) == usual(host_port) || ports == Ports::IfNamed && host_port.is_none())
}

/// Host and port of an authority. The colons within an address of IPv6 are the host's.
fn split(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// The port, unless it is a default one.
fn usual(port: Option<&str>) -> Option<&str> {
    port.filter(|port| !matches!(*port, "80" | "443"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use std::net::SocketAddr;

    use axum::extract::ConnectInfo;

    use super::*;

    fn origins(local: bool) -> Origins {
        let listed = ["https://app.example.org", "capacitor://localhost"].map(str::to_owned).to_vec();
        Origins { listed, local, ..Origins::default() }
    }

    fn allowed(local: bool, origin: &'static str, host: &'static str) -> bool {
        let headers = [(ORIGIN, HeaderValue::from_static(origin)), (HOST, HeaderValue::from_static(host))];
        origins(local).allow_page_of(&headers.into_iter().collect(), &Extensions::new(), &[])
    }

    /// Whether the page of `origin` is allowed if `peer` sends these headers.
    fn through(peer: &str, origin: &'static str, headers: &[(HeaderName, &'static str)]) -> bool {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4711)));
        let headers = headers.iter().cloned().chain([(ORIGIN, origin)]);
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
        origins(false).allow_page_of(&headers, &extensions, &["10.0.0.0/8".parse().unwrap()])
    }

    #[test]
    fn pages_of_this_host_and_of_allowed_origins_may() {
        assert!(allowed(false, "http://127.0.0.1:8080", "127.0.0.1:8080"));
        assert!(allowed(false, "https://Feed.example", "feed.example:443"));
        assert!(allowed(false, "http://feed.example:80", "feed.example"));
        assert!(allowed(false, "http://[::1]:8080", "[::1]:8080") && !allowed(false, "http://[::1]", "[::1]:8080"));
        assert!(allowed(false, "https://APP.example.org", "feed.example"));
        assert!(allowed(false, "capacitor://localhost", "feed.example"));
        assert!(Origins::default().allow_page_of(&HeaderMap::new(), &Extensions::new(), &[]));
    }

    #[test]
    fn behind_a_proxy_a_page_is_of_the_host_asked_for() {
        const PAGE: &str = "https://feed.example.org";
        const PAGE_8443: &str = "https://feed.example.org:8443";
        let (proxy, other) = ("10.0.0.2", "192.0.2.1");
        for (sender, page, host, forwarded, is_allowed) in [
            (proxy, PAGE, "127.0.0.1:8080", "feed.example.org", true),
            (proxy, PAGE, "127.0.0.1:8080", "Feed.example.org:443", true),
            (proxy, PAGE, "127.0.0.1:8080", "feed.example.org, inner.example.org", true),
            (proxy, PAGE_8443, "127.0.0.1:8080", "feed.example.org:8443", true),
            (proxy, PAGE_8443, "127.0.0.1:8080", "feed.example.org:9443", false),
            (proxy, PAGE_8443, "feed.example.org", "", true),
            (proxy, PAGE, "feed.example.org:80", "", true),
            (proxy, "https://evil.example", "127.0.0.1:8080", "feed.example.org", false),
            (proxy, "capacitor://feed.example.org", "127.0.0.1:8080", "feed.example.org", false),
            (proxy, PAGE, "127.0.0.1:8080", "", false),
            (other, PAGE, "127.0.0.1:8080", "feed.example.org", false),
            (other, PAGE_8443, "feed.example.org", "feed.example.org", false),
            (other, PAGE, "feed.example.org:80", "", true),
        ] {
            let case = format!("{sender} {page} {host} {forwarded}");
            assert_eq!(through(sender, page, &[(HOST, host), (FORWARDED_HOST, forwarded)]), is_allowed, "{case}");
        }
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
