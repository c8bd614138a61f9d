//! GET and POST: methods, media types, bounds and prices.

use std::{num::NonZeroU32, sync::atomic::Ordering};

use axum::http::StatusCode;
use graphql_transport::{
    guard::GuardLimits,
    http::{HttpSettings, RateLimits, RequestLimits, TokenBucket},
};
use serde_json::json;

use super::{Service, get, post, schema::TEXT_BYTES};

#[tokio::test]
async fn a_query_runs_by_get_and_by_post() {
    let service = Service::usual();
    for (accept, media) in [
        ("application/json", "application/json; charset=utf-8"),
        ("application/graphql-response+json", "application/graphql-response+json; charset=utf-8"),
        ("*/*", "application/json; charset=utf-8"),
    ] {
        let answer = service.post(json!({"query": "{ hello }"}), &[("accept", accept)]).await;
        assert_eq!((answer.status, answer.json()), (StatusCode::OK, json!({"data": {"hello": "world"}})));
        assert_eq!(answer.headers["content-type"], media);
        assert_eq!(answer.headers["x-request-id"].len(), 32);
    }
    assert_eq!(service.send(get("%7Bhello%7D")).await.json(), json!({"data": {"hello": "world"}}));
    let missing = service.ask("{ nobody }").await;
    assert_eq!((missing.status, missing.code().as_str()), (StatusCode::BAD_REQUEST, "GRAPHQL_VALIDATION_FAILED"));
    assert!(missing.json().get("data").is_none());
}

#[tokio::test]
async fn posts_without_json_and_mutations_by_get_are_refused() {
    let service = Service::usual();
    let by_get = service.send(get("mutation%7Bput%7D")).await;
    assert_eq!((by_get.status, by_get.headers["allow"].to_str().unwrap()), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
    let as_text = service.send(post("text/plain", &json!({"query": "mutation { put }"}), &[])).await;
    assert_eq!(as_text.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(service.shelf.books.load(Ordering::Relaxed), 0, "nothing ran");
}

#[tokio::test]
async fn a_token_identifies_the_viewer_and_an_invalid_one_gets_401() {
    let service = Service::usual();
    let known = service.post(json!({"query": "{ reader }"}), &[("authorization", "Bearer 7")]).await;
    assert_eq!(known.json()["data"]["reader"], 7);
    let unknown = service.post(json!({"query": "{ reader }"}), &[("authorization", "Bearer x")]).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"));
}

#[tokio::test]
async fn an_error_without_a_code_of_its_own_is_hidden() {
    let answer = Service::usual().ask("{ lost { number } }").await;
    assert_eq!((answer.status, answer.code().as_str()), (StatusCode::OK, "INTERNAL_SERVER_ERROR"));
    assert!(!answer.text.contains("10.0.0.7"), "{}", answer.text);
}

#[tokio::test]
async fn an_operation_above_its_price_is_refused_before_a_resolver_runs() {
    let guard = GuardLimits { cost: 70, ..GuardLimits::default() };
    let service = Service::with(HttpSettings { guard, ..HttpSettings::default() });
    // Twenty for the operation and for reading, one for each book, and a tenth for each text.
    let refused = service.ask("{ books(first: 30) { text } }").await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, "QUERY_TOO_COMPLEX"));
    assert_eq!(service.shelf.reads.load(Ordering::Relaxed), 0);
    assert_eq!(service.ask("{ books(first: 20) { text } }").await.code(), "");
    assert_eq!(service.shelf.reads.load(Ordering::Relaxed), 20);
}

#[tokio::test(start_paused = true)]
async fn an_empty_bucket_is_refused_with_retry_after() {
    let points = NonZeroU32::new(142).unwrap();
    let each = TokenBucket { points, per_second: NonZeroU32::MIN };
    let rate = Some(RateLimits { viewer: each, service: each, address: each, known: 100 });
    let service = Service::with(HttpSettings { rate, ..HttpSettings::default() });
    let first = service.ask("{ book(number: 1) { next { number } } }").await;
    // 22 points were for reading the document.
    let cost = json!({"requested": 63, "limit": 142, "remaining": 57, "restoreRate": 1});
    assert_eq!(first.json()["extensions"]["cost"], cost);
    let second = service.ask("{ book(number: 1) { next { number } } }").await;
    assert_eq!((second.status, second.code().as_str()), (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED"));
    assert_eq!(second.headers["retry-after"], "6");
    let signed_in = service.post(json!({"query": "{ hello }"}), &[("authorization", "Bearer 7")]).await;
    assert_eq!(signed_in.status, StatusCode::OK, "a viewer has a bucket of their own");
}

#[tokio::test]
async fn an_answer_above_its_bound_stops_while_it_is_made() {
    let request = RequestLimits { answer_bytes: 10 * TEXT_BYTES, ..RequestLimits::default() };
    let service = Service::with(HttpSettings { request, ..HttpSettings::default() });
    let texts = |count: usize| {
        format!(
            "{{ {} }}",
            (0..count).map(|n| format!("a{n}: book(number: {n}) {{ text }}")).collect::<Vec<_>>().join(" ")
        )
    };
    assert_eq!(service.ask(&texts(9)).await.code(), "");
    // Of a field that is not metered the JSON is bounded.
    let echo =
        json!({"query": "query($t: String!) { echo(text: $t) }", "variables": {"t": "x".repeat(10 * TEXT_BYTES)}});
    for answer in [service.ask(&texts(11)).await, service.post(echo, &[]).await] {
        assert_eq!((answer.status, answer.code().as_str()), (StatusCode::OK, "ANSWER_TOO_LARGE"), "{}", answer.text);
        assert!(answer.text.len() < TEXT_BYTES, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_document_is_found_by_the_hash_it_was_sent_with() {
    let service = Service::usual();
    // The SHA-256 of `{ hello }`.
    let hash = json!({"persistedQuery": {"version": 1, "sha256Hash": HASH_OF_HELLO}});
    let headers = [("accept", "application/graphql-response+json")];
    assert_eq!(service.post(json!({"extensions": hash}), &headers).await.code(), "PERSISTED_QUERY_NOT_FOUND");
    for body in [json!({"query": "{ hello }", "extensions": hash}), json!({"extensions": hash})] {
        assert_eq!(service.post(body, &headers).await.json(), json!({"data": {"hello": "world"}}));
    }
}

const HASH_OF_HELLO: &str = "001c3174e099bd72b729d0c0a529ba9f5a740c446e2a6e1d71b283cb84ec3065";
