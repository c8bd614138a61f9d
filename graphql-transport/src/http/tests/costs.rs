//! Tests what operations cost, which client is charged, and the refusal of clients without points.

use std::num::NonZeroU32;

use serde_json::json;

use super::{client::Server, *};

/// A bucket of `points` for each client, which regains one point a second.
fn poor(points: u32) -> HttpSettings {
    let points = NonZeroU32::new(points).unwrap();
    let each = TokenBucket { points, per_second: NonZeroU32::MIN };
    let rate = Some(RateLimits { viewer: each, service: each, address: each, known: 100 });
    HttpSettings { rate, ..HttpSettings::default() }
}

async fn spend(router: &Router, query: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Json) {
    let body = json!({ "query": query }).to_string();
    let response = router.clone().oneshot(post(body, headers)).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    (parts.status, parts.headers, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_answer_states_its_cost_and_an_empty_bucket_waits() {
    let router = router(transport(poor(104))).unwrap();
    let (status, _, body) = spend(&router, "{ nested { hello } }", &[]).await;
    // 21 of the points were for parsing the document.
    let cost = json!({"requested": 42, "limit": 104, "remaining": 41, "restoreRate": 1});
    assert_eq!((status, &body["extensions"]["cost"]), (StatusCode::OK, &cost));
    for accept in ["application/json", "application/graphql-response+json", "text/event-stream"] {
        let body = json!({ "query": "{ nested { hello } }" }).to_string();
        let response = router.clone().oneshot(post(body, &[("accept", accept)])).await.unwrap();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS, "{accept}");
        assert_eq!(response.headers()["retry-after"], "1");
        let text = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.contains("\"RATE_LIMITED\"") && text.contains("\"requested\":42"), "{accept}: {text}");
    }
    let (status, ..) = spend(&router, "{ nested { hello } }", &[("authorization", "Bearer good")]).await;
    assert_eq!(status, StatusCode::OK, "a viewer has a bucket of their own");
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    assert_eq!(spend(&router, "{ nested { hello } }", &[]).await.0, StatusCode::OK);
}

#[tokio::test]
async fn an_operation_that_costs_too_much_is_refused_before_it_runs() {
    let guard = crate::guard::GuardLimits { cost: 42, ..Default::default() };
    let settings = HttpSettings { guard, ..HttpSettings::default() };
    for (query, is_refused) in [("{ nested { hello } }", false), ("{ nested { nested { hello } } }", true)] {
        let answer = send(settings.clone(), post(json!({ "query": query }).to_string(), &[])).await;
        assert_eq!(answer.extension("code") == "QUERY_TOO_COMPLEX", is_refused, "{}", answer.body);
    }
}

#[tokio::test]
async fn operations_of_a_socket_pay_as_others_do() {
    for _ in 0..20 {
        let server = Server::start(poor(70)).await;
        let mut client = server.acknowledged().await;
        let begin = tokio::time::Instant::now();
        client.subscribe("1", "subscription { count(to: 1) }").await;
        assert_eq!(client.hear().await["payload"]["extensions"]["cost"]["requested"], 21);
        assert_eq!(client.hear().await["type"], "complete");
        client.subscribe("2", "mutation { bump }").await;
        let error = client.hear().await;
        // If this took longer, a point has come back.
        if begin.elapsed().as_secs() == 0 {
            assert_eq!(error["payload"][0]["extensions"]["code"], "RATE_LIMITED", "{error}");
            assert!(error["payload"][0]["extensions"]["retryAfter"].as_u64().is_some(), "{error}");
            return;
        }
    }
    unreachable!("the machine was too slow twenty times");
}

#[tokio::test(start_paused = true)]
async fn events_are_paid_for_one_by_one_and_wait_for_points() {
    let router = router(transport(poor(85))).unwrap();
    let body = json!({ "query": "subscription { count(to: 5) }" }).to_string();
    let began = tokio::time::Instant::now();
    let response = router.oneshot(post(body, &[("accept", "text/event-stream")])).await.unwrap();
    let text = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.contains("\"count\":5") && !text.contains("errors"), "{text}");
    // The points sufficed for parsing and three events. Two more events, and the end, wait for 21 points each.
    assert_eq!(began.elapsed().as_secs(), 63, "{text}");
}

/// `{ hello }` in a document of `bytes` bytes.
fn long(bytes: usize) -> String {
    format!("{{ hello }} #{}", "x".repeat(bytes - 11))
}

#[tokio::test(start_paused = true)]
async fn reading_a_document_costs_only_the_first_time() {
    let router = router(transport(poor(1_000))).unwrap();
    let mut remaining = Vec::new();
    for _ in 0..3 {
        let (_, _, body) = spend(&router, &long(10_000), &[]).await;
        let cost = &body["extensions"]["cost"];
        assert_eq!(cost["requested"], 61, "an operation, a field, ten thousand bytes: {body}");
        remaining.push(cost["remaining"].as_u64().unwrap());
    }
    assert_eq!(remaining, [219, 158, 97]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_document_is_charged_before_it_is_parsed() {
    let router = router(transport(poor(1_500))).unwrap();
    for (query, code) in [
        (long(10_000).replace("hello", "nobody"), "GRAPHQL_VALIDATION_FAILED"),
        (long(10_000).replace("hello }", "hello"), "GRAPHQL_PARSE_FAILED"),
        (long(10_000), "RATE_LIMITED"),
        ("{ hello }".to_owned(), ""),
    ] {
        let (_, _, body) = spend(&router, &query, &[]).await;
        assert_eq!(body["errors"][0]["extensions"]["code"].as_str().unwrap_or_default(), code, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_the_stated_wait_is_served() {
    let router = router(transport(poor(725))).unwrap();
    let (status, headers, _) = spend(&router, &long(10_000), &[]).await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "56"));
    tokio::time::advance(std::time::Duration::from_secs(56)).await;
    let (status, _, body) = spend(&router, &long(10_000), &[]).await;
    assert_eq!(status, StatusCode::OK, "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_bad_token_reads_nothing_for_free() {
    let router = router(transport(poor(1_730))).unwrap();
    for number in 0..3 {
        let query = format!("{} # {number}", long(10_000));
        let (status, ..) = spend(&router, &query, &[("authorization", "Bearer expired")]).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    let (status, ..) = spend(&router, &long(10_000), &[]).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
}
