//! The id that connects an answer with its log lines.

use std::{fmt, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument as _;

use super::entropy::Entropy;

/// The header that carries ids in requests and answers.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Most characters of an id chosen by a client.
const MAX_CHARS: usize = 128;

/// 1 to 128 ASCII letters, digits, `-`, `_`, `.`: safe in headers and log lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The client's id if it is safe, otherwise a new one of 32 hexadecimal digits.
    pub(super) fn of_headers(headers: &HeaderMap, entropy: &Entropy) -> Self {
        let chosen = headers.get(HEADER).and_then(|value| value.to_str().ok()).filter(|text| is_sane(text));
        chosen.map_or_else(|| Self::new(entropy), |text| Self(text.into()))
    }

    /// The id that [`identify`] has set, otherwise as from the headers.
    pub(super) fn of_request(request: &Request, entropy: &Entropy) -> Self {
        request.extensions().get().cloned().unwrap_or_else(|| Self::of_headers(request.headers(), entropy))
    }

    pub(super) fn new(entropy: &Entropy) -> Self {
        Self(format!("{:016x}{:016x}", entropy.bits(), entropy.bits()).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as a header's value.
    pub(super) fn to_header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
    }
}

/// Sets the id of each request, its answer and its log lines; an existing id stays. The span has the highest level, so
/// that every line that passes a filter keeps its id.
pub(super) async fn identify(State(entropy): State<Entropy>, mut request: Request, next: Next) -> Response {
    let known = request.extensions().get::<RequestId>().is_some();
    let id = RequestId::of_request(&request, &entropy);
    if known {
        return next.run(request).await;
    }
    request.extensions_mut().insert(id.clone());
    let span = tracing::error_span!("request", request_id = %id);
    let mut response = next.run(request).instrument(span).await;
    response.headers_mut().entry(HEADER).or_insert_with(|| id.to_header());
    response
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_sane(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=MAX_CHARS).contains(&text.len()) && text.bytes().all(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::entropy::counted;

    fn of(text: &'static str) -> RequestId {
        let headers = HeaderMap::from_iter([(HEADER, HeaderValue::from_static(text))]);
        RequestId::of_headers(&headers, &counted())
    }

    #[test]
    fn a_sane_id_is_kept_and_any_other_replaced() {
        assert_eq!(of("abc-1_2.3").as_str(), "abc-1_2.3");
        for unsafe_id in ["", "a b", "a\"b", "a/b", "a{}"] {
            assert_eq!(of(unsafe_id).as_str().len(), 32, "{unsafe_id}");
        }
        let long = HeaderMap::from_iter([(
            HEADER,
            HeaderValue::from_str(&"a".repeat(129)).unwrap_or_else(|_| HeaderValue::from_static("")),
        )]);
        assert_eq!(RequestId::of_headers(&long, &counted()).as_str().len(), 32);
    }

    #[test]
    fn two_drawn_ids_differ() {
        let entropy = counted();
        assert_ne!(RequestId::new(&entropy), RequestId::new(&entropy));
    }
}
