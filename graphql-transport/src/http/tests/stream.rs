//! Tests server-sent events: one operation on a stream, and several on a reserved one.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::timeout;

use super::{client::without_id, *};

/// A stream as its client reads it.
struct Events {
    body: axum::body::BodyDataStream,
    text: String,
}

impl Events {
    fn of(response: axum::response::Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The name and the data of the next event, without comments; `None` at the end.
    async fn next(&mut self) -> Option<(String, Json)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.starts_with(':') {
                    continue;
                }
                let (name, line) = event.strip_prefix("event: ")?.split_once("\ndata: ")?;
                return Some((name.to_owned(), serde_json::from_str(line).unwrap_or_default()));
            }
            let chunk = timeout(Duration::from_mins(1), self.body.next()).await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
    }
}

async fn streamed(router: &Router, body: Json, headers: &[(&str, &str)]) -> axum::response::Response {
    let headers: Vec<_> = headers.iter().copied().chain([("accept", "text/event-stream")]).collect();
    router.clone().oneshot(post(body.to_string(), &headers)).await.unwrap()
}

#[tokio::test]
async fn subscriptions_queries_and_mutations_stream_their_results_and_complete() {
    let router = router(transport(HttpSettings::default())).unwrap();
    for (query, expected) in [
        ("subscription { count(to: 2) }", vec![json!({"data": {"count": 1}}), json!({"data": {"count": 2}})]),
        ("{ hello }", vec![json!({"data": {"hello": "world"}})]),
        ("mutation { bump }", vec![json!({"data": {"bump": 1}})]),
    ] {
        let mut events = Events::of(streamed(&router, json!({ "query": query }), &[]).await);
        for result in expected {
            let (name, mut payload) = events.next().await.unwrap();
            without_id(&mut payload);
            assert_eq!((name.as_str(), payload), ("next", result), "{query}");
        }
        assert_eq!(events.next().await, Some(("complete".to_owned(), Json::Null)));
        assert_eq!(events.next().await, None);
    }
}

#[tokio::test]
async fn an_operation_that_cannot_begin_fails_within_the_stream() {
    let router = router(transport(HttpSettings::default())).unwrap();
    for (query, code) in [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("subscription { missing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription($to: Int!) { count(to: $to) }", "BAD_USER_INPUT"),
        ("subscription { refused }", "UNAUTHENTICATED"),
        ("subscription { explode }", "INTERNAL_SERVER_ERROR"),
    ] {
        let response = streamed(&router, json!({ "query": query }), &[("x-request-id", "find-me")]).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["x-request-id"], "find-me");
        let mut events = Events::of(response);
        let (name, payload) = events.next().await.unwrap();
        let extensions = &payload["errors"][0]["extensions"];
        assert_eq!(
            (name.as_str(), &extensions["code"], &extensions["requestId"]),
            ("next", &json!(code), &json!("find-me"))
        );
        assert_eq!(events.next().await, Some(("complete".to_owned(), Json::Null)));
    }
    let expired = streamed(&router, json!({"query": "{ hello }"}), &[("authorization", "Bearer expired")]).await;
    assert_eq!(expired.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_its_token_and_says_so() {
    let router = router(transport(HttpSettings::default())).unwrap();
    let query = json!({"query": "subscription { silence }"});
    let mut events = Events::of(streamed(&router, query, &[("authorization", "Bearer brief")]).await);
    let (_, payload) = events.next().await.unwrap();
    assert_eq!(payload["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{payload}");
    assert_eq!(events.next().await, Some(("complete".to_owned(), Json::Null)));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_stream_ends_with_the_server_or_with_its_client() {
    let transport = transport(HttpSettings::default());
    let (stop, tasks) = (transport.stop.clone(), transport.sockets.clone());
    let router = router(transport).unwrap();
    let query = json!({"query": "subscription { silence }"});
    drop(streamed(&router, query.clone(), &[]).await);
    tasks.close();
    timeout(Duration::from_mins(1), tasks.wait()).await.unwrap();
    tasks.reopen();
    let mut events = Events::of(streamed(&router, query, &[]).await);
    stop.cancel();
    assert_eq!(events.next().await, None, "no `complete`: the client is to come again");
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_open_by_comments() {
    let router = router(transport(HttpSettings::default())).unwrap();
    let response = streamed(&router, json!({"query": "subscription { silence }"}), &[]).await;
    let mut body = response.into_body().into_data_stream();
    for _ in 0..3 {
        assert_eq!(body.next().await.unwrap().unwrap(), ":\n\n");
    }
}

#[tokio::test]
async fn no_more_streams_than_there_is_room_for() {
    let stream = StreamLimits { streams: 1, ..StreamLimits::default() };
    let router = router(transport(HttpSettings { stream, ..HttpSettings::default() })).unwrap();
    let query = json!({"query": "subscription { silence }"});
    let first = streamed(&router, query.clone(), &[]).await;
    let second = streamed(&router, query, &[]).await;
    assert_eq!(second.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(second.headers()["retry-after"], "5");
    drop(first);
}

#[tokio::test]
async fn a_reserved_stream_carries_several_operations() {
    let router = router(transport(HttpSettings::default())).unwrap();
    let put = HttpRequest::put("/graphql").body(Body::empty()).unwrap();
    let reserved = router.clone().oneshot(put).await.unwrap();
    assert_eq!(reserved.status(), StatusCode::CREATED);
    let token = axum::body::to_bytes(reserved.into_body(), 1 << 10).await.unwrap();
    let token = String::from_utf8(token.to_vec()).unwrap();
    let open = || {
        let request = HttpRequest::get(format!("/graphql?token={token}")).header("accept", "text/event-stream");
        router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let mut events = Events::of(open().await.unwrap());
    assert_eq!(open().await.unwrap().status(), StatusCode::CONFLICT, "one stream for one token");
    let send = async |query: &str, id: &str| {
        let body = json!({"query": query, "extensions": {"operationId": id}}).to_string();
        let request = post(body, &[("x-graphql-event-stream-token", token.as_str())]);
        router.clone().oneshot(request).await.unwrap().status()
    };
    assert_eq!(send("subscription { silence }", "s").await, StatusCode::ACCEPTED);
    assert_eq!(send("{ hello }", "s").await, StatusCode::CONFLICT);
    assert_eq!(send("{ hello }", "").await, StatusCode::BAD_REQUEST);
    assert_eq!(send("{ hello }", "q").await, StatusCode::ACCEPTED);
    let result = json!({"id": "q", "payload": {"data": {"hello": "world"}}});
    let (name, mut payload) = events.next().await.unwrap();
    without_id(&mut payload["payload"]);
    assert_eq!((name.as_str(), payload), ("next", result));
    assert_eq!(events.next().await, Some(("complete".to_owned(), json!({"id": "q"}))));
    let delete = HttpRequest::delete("/graphql?operationId=s").header("x-graphql-event-stream-token", &token);
    let deleted = router.clone().oneshot(delete.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(deleted.status(), StatusCode::OK);
    assert_eq!(send("{ hello }", "s").await, StatusCode::ACCEPTED, "its id is free again");
    assert_eq!(events.next().await.unwrap().1["id"], "s");
    drop(events);
    let gone = async {
        while send("{ hello }", "x").await != StatusCode::NOT_FOUND {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_mins(1), gone).await.unwrap();
}

/// Their results wait for room, and each takes memory.
#[tokio::test]
async fn operations_whose_results_nobody_reads_are_bounded() {
    let (operations, queued_events) = (4, 2);
    let stream = StreamLimits { operations, queued_events, ..StreamLimits::default() };
    let router = router(transport(HttpSettings { stream, ..HttpSettings::default() })).unwrap();
    let reserved = router.clone().oneshot(put()).await.unwrap();
    let token = axum::body::to_bytes(reserved.into_body(), 1 << 10).await.unwrap();
    let token = String::from_utf8(token.to_vec()).unwrap();
    let mut accepted = 0;
    let refused = loop {
        let body = json!({"query": "{ hello }", "extensions": {"operationId": accepted.to_string()}}).to_string();
        let request = post(body, &[("x-graphql-event-stream-token", token.as_str())]);
        match router.clone().oneshot(request).await.unwrap().status() {
            StatusCode::ACCEPTED => accepted += 1,
            status => break status,
        }
        assert!(accepted < 100, "they have no bound");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    // The events of one have room; those of the others wait.
    assert_eq!((refused, accepted), (StatusCode::TOO_MANY_REQUESTS, 1 + operations));
    let open = HttpRequest::get(format!("/graphql?token={token}")).header("accept", "text/event-stream");
    let mut events = Events::of(router.clone().oneshot(open.body(Body::empty()).unwrap()).await.unwrap());
    for _ in 0..2 * accepted {
        assert!(events.next().await.is_some(), "who reads late reads all");
    }
}

fn put() -> HttpRequest<Body> {
    HttpRequest::put("/graphql").body(Body::empty()).unwrap()
}

#[tokio::test]
async fn reserved_and_open_streams_are_bounded_per_client() {
    let stream = StreamLimits { per_client: 2, ..StreamLimits::default() };
    let router = router(transport(HttpSettings { stream, ..HttpSettings::default() })).unwrap();
    let query = json!({"query": "subscription { silence }"});
    let open = streamed(&router, query.clone(), &[]).await;
    assert_eq!(router.clone().oneshot(put()).await.unwrap().status(), StatusCode::CREATED);
    let refused = router.clone().oneshot(put()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(streamed(&router, query.clone(), &[]).await.status(), StatusCode::TOO_MANY_REQUESTS);
    let anns = streamed(&router, query.clone(), &[("authorization", "Bearer good")]).await;
    assert_eq!(anns.status(), StatusCode::OK);
    drop(open);
    let room = async {
        while streamed(&router, query.clone(), &[]).await.status() != StatusCode::OK {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_mins(1), room).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reservation_costs_a_point() {
    let one = std::num::NonZeroU32::MIN;
    let bucket = TokenBucket { points: one.saturating_add(2), per_second: one };
    let rate = Some(RateLimits { viewer: bucket, service: bucket, address: bucket, known: 100 });
    let router = router(transport(HttpSettings { rate, ..HttpSettings::default() })).unwrap();
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(router.clone().oneshot(put()).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [201, 201, 201, 429]);
}
