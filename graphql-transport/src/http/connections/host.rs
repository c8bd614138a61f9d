//! Refuses a request that does not name exactly one host (RFC 9112, section 3.2).

use axum::{
    body::Body,
    http::{
        HeaderValue, Request, Response, StatusCode, Version,
        header::{CONNECTION, HOST},
        uri::Authority,
    },
};

/// The refusal of a request without exactly one valid host.
pub(super) fn refusal<B>(request: &Request<B>) -> Option<Response<Body>> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let fits = match (hosts.next(), hosts.next()) {
        (None, _) => request.version() < Version::HTTP_11,
        (Some(host), None) => is_host(host),
        (Some(_), Some(_)) => false,
    };
    if fits {
        return None;
    }
    let mut response = Response::new(Body::from("A request has to name one host in the header Host.\n"));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}

/// A target without a host has an empty one.
fn is_host(value: &HeaderValue) -> bool {
    value.is_empty() || Authority::try_from(value.as_bytes()).is_ok_and(|authority| !authority.as_str().contains('@'))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn is_refused(version: Version, hosts: &[&str]) -> bool {
        let request = Request::get("/").version(version);
        let request = hosts.iter().fold(request, |request, host| request.header(HOST, *host));
        refusal(&request.body(()).unwrap()).is_some_and(|it| it.status() == StatusCode::BAD_REQUEST)
    }

    #[test]
    fn a_request_names_one_host() {
        for hosts in [&["a.example"][..], &["127.0.0.1:8080"], &["[::1]:80"], &[""]] {
            assert!(!is_refused(Version::HTTP_11, hosts), "{hosts:?}");
        }
        for hosts in [&[][..], &["a.example", "a.example"], &["a.example", "b.example"], &["a b"], &["u@a.example"]] {
            assert!(is_refused(Version::HTTP_11, hosts), "{hosts:?}");
        }
        assert!(!is_refused(Version::HTTP_10, &[]) && is_refused(Version::HTTP_10, &["a", "b"]));
    }
}
