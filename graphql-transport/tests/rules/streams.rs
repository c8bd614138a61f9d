//! Server-sent events: one operation a stream, and several on a reserved one.

use axum::{
    body::Body,
    http::{Request as HttpRequest, StatusCode},
};
use serde_json::json;

use super::Service;

#[tokio::test]
async fn a_stream_begins_with_a_comment_and_ends_with_complete() {
    let body = json!({"query": "subscription { count(to: 2) }"});
    let answer = Service::usual().post(body, &[("accept", "text/event-stream")]).await;
    assert_eq!(
        (answer.status, answer.headers["content-type"].to_str().unwrap()),
        (StatusCode::OK, "text/event-stream; charset=utf-8")
    );
    let events: Vec<&str> = answer.text.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 4, "{}", answer.text);
    assert_eq!(events[0], ":");
    for (event, count) in [(events[1], 1), (events[2], 2)] {
        let json = event.strip_prefix("event: next\ndata: ").unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(json).unwrap()["data"]["count"], count);
    }
    assert_eq!(events[3], "event: complete\ndata: ");
}

#[tokio::test]
async fn a_subscription_without_a_stream_is_refused_with_a_hint() {
    let answer = Service::usual().ask("subscription { count(to: 1) }").await;
    assert_eq!((answer.status, answer.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_USER_INPUT"));
}

#[tokio::test]
async fn a_reserved_stream_takes_operations_by_its_token_and_no_other() {
    let service = Service::usual();
    let reservation = HttpRequest::put("/graphql").body(Body::empty()).unwrap();
    let reserved = service.send(reservation).await;
    assert_eq!((reserved.status, reserved.text.len()), (StatusCode::CREATED, 64));
    let body = json!({"query": "{ hello }", "extensions": {"operationId": "1"}});
    for (token, status) in [(reserved.text.as_str(), StatusCode::ACCEPTED), ("another", StatusCode::NOT_FOUND)] {
        let answer = service.post(body.clone(), &[("x-graphql-event-stream-token", token)]).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}
