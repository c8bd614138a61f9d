//! Tests that a refusal before all layers is the one that the handler would give, and that every other request reaches
//! the handler whole.

use axum::body::Bytes;
use futures_util::stream;
use serde_json::json;

use super::{
    overload::{gated, narrow, spawned},
    schema::Barrier,
    *,
};

/// A node whose one place for queries is taken; it knows the documents `{ hello }` and `mutation { leave }`.
async fn full_node(settings: HttpSettings) -> Endpoints {
    let barrier = Barrier::default();
    let endpoints = endpoints(gated(settings, &barrier)).unwrap();
    for known in ["{ hello }", "mutation { leave }"] {
        let body = json!({ "query": known }).to_string();
        assert_eq!(endpoints.router.clone().oneshot(post(body, &[])).await.unwrap().status(), StatusCode::OK);
    }
    drop(spawned(&endpoints.router, "{ held }"));
    barrier.wait_for(1).await;
    endpoints
}

/// The headers but for the length, which a server adds to every answer.
fn lines(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap().to_owned();
    let others = headers.iter().filter(|(name, _)| *name != axum::http::header::CONTENT_LENGTH);
    let mut lines: Vec<_> = others.map(|(name, value)| (name.to_string(), text(value))).collect();
    lines.sort();
    lines
}

async fn whole(body: Body) -> Bytes {
    axum::body::to_bytes(body, 1 << 20).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_early_refusal_is_that_of_the_handler() {
    let origins = Origins { listed: vec!["https://app.example".to_owned()], ..Origins::default() };
    let node = full_node(HttpSettings { allowed_origins: origins, ..narrow(0) }).await;
    for headers in [
        &[][..],
        &[("accept", "application/graphql-response+json"), ("authorization", "Bearer good")],
        &[("accept", "text/event-stream")],
        &[("origin", "https://app.example")],
        &[("origin", "https://other.example")],
        &[("x-graphql-event-stream-token", "unknown")],
    ] {
        let request = || {
            let body = json!({ "query": "{ hello }", "variables": { "first": 20 } }).to_string();
            post(body, &[headers, &[("x-request-id", "one")]].concat())
        };
        let early = node.early_refusals.refusal(&mut request()).unwrap().0;
        let late = node.router.clone().oneshot(request()).await.unwrap();
        assert_eq!((early.status(), late.status()), (StatusCode::SERVICE_UNAVAILABLE, early.status()), "{headers:?}");
        assert_eq!(lines(early.headers()), lines(late.headers()), "{headers:?}");
        assert_eq!(whole(early.into_body()).await, whole(late.into_body()).await, "{headers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_refused_early_reaches_the_handler_whole() {
    let node = full_node(narrow(0)).await;
    let known = json!({ "query": "{ hello }" }).to_string();
    let query = |query: &str| json!({ "query": query }).to_string();
    let long = json!({ "query": "{ hello }", "variables": { "a": "b".repeat(20_000) } }).to_string();
    let with = |name: &'static str, value: &'static str| {
        let mut request = post(known.clone(), &[]);
        request.headers_mut().insert(name, value.parse().unwrap());
        request
    };
    let mut by_get = HttpRequest::get("/graphql?query=%7B%20hello%20%7D").body(Body::empty()).unwrap();
    let mut elsewhere = post(known.clone(), &[]);
    *elsewhere.uri_mut() = "/other".parse().unwrap();
    assert!(node.early_refusals.refusal(&mut by_get).is_none());
    for (what, mut request, body) in [
        ("another path", elsewhere, &known),
        ("an unknown document", post(query("{ again: hello }"), &[]), &query("{ again: hello }")),
        ("one that is always admitted", post(query("mutation { leave }"), &[]), &query("mutation { leave }")),
        ("no JSON", post("{", &[]), &"{".to_owned()),
        ("a long body", post(long.clone(), &[]), &long),
        ("another type", with("content-type", "text/plain"), &known),
        ("an encoded body", with("content-encoding", "gzip"), &known),
        ("no type that we have", with("accept", "text/html"), &known),
    ] {
        assert!(node.early_refusals.refusal(&mut request).is_none(), "{what}");
        assert_eq!(whole(request.into_body()).await, body.as_bytes(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_has_not_arrived_is_left_to_the_handler() {
    let node = full_node(narrow(0)).await;
    let text = json!({ "query": "{ hello }" }).to_string();
    let parts = [text.get(..5), text.get(5..)].map(|part| Ok::<_, std::io::Error>(part.unwrap().to_owned()));
    // As a server's body: its length is known, and it arrives in parts.
    let body = Body::new(Lengthy { parts: Body::from_stream(stream::iter(parts)), length: text.len() as u64 });
    let mut request = post(body, &[]);
    assert!(node.early_refusals.refusal(&mut request).is_none());
    assert_eq!(whole(request.into_body()).await, text);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_refused_early_while_there_is_room() {
    let node = endpoints(transport(narrow(0))).unwrap();
    let known = || post(json!({ "query": "{ hello }" }).to_string(), &[]);
    assert_eq!(node.router.oneshot(known()).await.unwrap().status(), StatusCode::OK);
    assert!(node.early_refusals.refusal(&mut known()).is_none());
}

/// A body of a known length.
struct Lengthy {
    parts: Body,
    length: u64,
}

impl axum::body::HttpBody for Lengthy {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        std::pin::Pin::new(&mut self.parts).poll_frame(cx)
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.length)
    }
}
