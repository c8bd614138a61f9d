//! Whose pages may open a WebSocket: browsers send cookies and addresses with it and ask nobody, so the server looks.
//!
//! Apart, because it is a rule of security and short enough to be read whole. It refuses to know the socket.

use axum::http::{
    HeaderMap,
    header::{HOST, ORIGIN},
};

/// Whether the page that asks is of this host or of an allowed origin. Without an `Origin` it is no browser, and may.
pub(super) fn is_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    allowed.iter().any(|entry| entry.trim_end_matches('/').eq_ignore_ascii_case(origin)) || is_same_host(origin, host)
}

/// Whatever the scheme: behind a proxy that ends TLS the server cannot know its own.
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
    use axum::http::HeaderValue;

    use super::*;

    fn allowed(origin: &'static str, host: &'static str) -> bool {
        let headers = [(ORIGIN, HeaderValue::from_static(origin)), (HOST, HeaderValue::from_static(host))];
        is_allowed(&headers.into_iter().collect(), &["https://app.example.org".to_owned()])
    }

    #[test]
    fn pages_of_this_host_and_of_allowed_origins_may() {
        assert!(allowed("http://127.0.0.1:8080", "127.0.0.1:8080"));
        assert!(allowed("https://Feed.example", "feed.example:443"));
        assert!(allowed("http://feed.example:80", "feed.example"));
        assert!(allowed("https://APP.example.org", "feed.example"));
        assert!(is_allowed(&HeaderMap::new(), &[]));
    }

    #[test]
    fn other_pages_may_not() {
        for origin in [
            "https://evil.example",
            "http://app.example.org",
            "https://app.example.org.evil.example",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "null",
            "file://127.0.0.1:8080",
            "127.0.0.1:8080",
            "",
        ] {
            assert!(!allowed(origin, "127.0.0.1:8080"), "{origin}");
        }
    }
}
