//! Tests the protocol over real sockets: what a client may send, and the close code when it may not.

use std::time::Duration;

use futures_util::SinkExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{client::Server, *};

#[tokio::test]
async fn queries_mutations_and_subscriptions_run_side_by_side() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("q", "{ hello }").await;
    assert_eq!(client.result().await, json!({"type": "next", "id": "q", "payload": {"data": {"hello": "world"}}}));
    assert_eq!(client.hear().await, json!({"type": "complete", "id": "q"}));
    client.subscribe("s", "subscription { silence }").await;
    client.subscribe("q", "mutation { bump }").await;
    assert_eq!(client.hear().await["payload"]["data"]["bump"], 1);
    assert_eq!(client.hear().await, json!({"type": "complete", "id": "q"}));
    client.subscribe("c", "subscription { count(to: 2) }").await;
    for expected in [1, 2] {
        assert_eq!(client.result().await, json!({"type": "next", "id": "c", "payload": {"data": {"count": expected}}}));
    }
    assert_eq!(client.hear().await, json!({"type": "complete", "id": "c"}));
}

#[tokio::test]
async fn an_operation_that_does_not_begin_is_an_error_message() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    for (query, code) in [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ missing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { missing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { silence silence }", "GRAPHQL_VALIDATION_FAILED"),
        ("query($a: Int!) { slow(ms: $a) }", "BAD_USER_INPUT"),
        ("subscription { refused }", "UNAUTHENTICATED"),
        ("subscription { explode }", "INTERNAL_SERVER_ERROR"),
        ("{ panic }", "INTERNAL_SERVER_ERROR"),
    ] {
        client.subscribe("1", query).await;
        let message = client.hear().await;
        assert_eq!((&message["type"], &message["id"]), (&json!("error"), &json!("1")), "{query}: {message}");
        assert_eq!(message["payload"][0]["extensions"]["code"], code, "{query}");
        assert!(message["payload"][0]["extensions"]["requestId"].is_string());
        assert!(!message.to_string().contains("hunter2"), "{message}");
    }
    let persisted = json!({"extensions": {"persistedQuery": {}}});
    client.say(json!({"type": "subscribe", "id": "1", "payload": persisted})).await;
    assert_eq!(client.hear().await["payload"][0]["extensions"]["code"], "BAD_USER_INPUT");
}

#[tokio::test]
async fn a_failing_event_is_masked_and_the_stream_continues() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("1", "subscription { stumble }").await;
    let answers = [client.hear().await, client.hear().await, client.hear().await];
    assert_eq!(
        (&answers[0]["payload"]["data"]["stumble"], &answers[2]["payload"]["data"]["stumble"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(answers[1]["payload"]["errors"][0]["extensions"]["code"], "INTERNAL_SERVER_ERROR");
    assert_eq!(client.hear().await["type"], "complete");
}

#[tokio::test]
async fn a_completed_operation_is_silent_and_its_id_is_reusable() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    for _ in 0..20 {
        client.subscribe("1", "subscription { silence }").await;
        client.say(json!({"type": "complete", "id": "1"})).await;
    }
    client.subscribe("1", "{ hello }").await;
    assert_eq!(client.hear().await["payload"]["data"]["hello"], "world");
    assert_eq!(client.hear().await, json!({"type": "complete", "id": "1"}));
}

#[tokio::test]
async fn an_id_is_reusable_as_soon_as_its_operation_completes() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    let mut times = Vec::new();
    for _ in 0..200 {
        let begin = tokio::time::Instant::now();
        client.subscribe("1", "{ hello }").await;
        assert_eq!(client.hear().await["type"], "next");
        assert_eq!(client.hear().await["type"], "complete");
        times.push(begin.elapsed());
    }
    // A busy machine delays some of them. Delayed acknowledgements would delay all but the first few.
    times.sort();
    assert!(times[60] < Duration::from_millis(30), "a round trip takes {:?}: is Nagle's algorithm on?", times[60]);
}

#[tokio::test]
async fn pings_are_answered_at_any_time() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.client().await;
    client.say(json!({"type": "ping", "payload": {"n": 1}})).await;
    assert_eq!(client.hear().await, json!({"type": "pong", "payload": {"n": 1}}));
    client.say(json!({"type": "pong"})).await;
    client.say(json!({"type": "connection_init"})).await;
    assert_eq!(client.hear().await, json!({"type": "connection_ack"}));
    client.say(json!({"type": "ping"})).await;
    assert_eq!(client.hear().await, json!({"type": "pong"}));
}

#[tokio::test]
async fn a_message_that_is_none_closes_with_4400() {
    let server = Server::start(HttpSettings::default()).await;
    for text in ["no json", "{}", "{\"type\": \"start\", \"id\": \"1\"}", "{\"type\": \"subscribe\", \"payload\": {}}"]
    {
        let mut client = server.client().await;
        client.0.send(Message::text(text)).await.unwrap();
        let (code, reason) = client.closed().await;
        assert_eq!(code, 4400, "{text}");
        assert!(reason.starts_with("Invalid message: "), "{reason}");
    }
    let mut client = server.client().await;
    client.0.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(client.closed().await.0, 4400);
    let mut client = server.acknowledged().await;
    client.subscribe(&"x".repeat(129), "{ hello }").await;
    assert_eq!(client.closed().await.0, 4400);
}

#[tokio::test]
async fn subscribing_before_the_acknowledgement_closes_with_4401() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.client().await;
    client.subscribe("1", "{ hello }").await;
    assert_eq!(client.closed().await.0, 4401);
}

#[tokio::test]
async fn invalid_tokens_close_with_4403_and_uncheckable_ones_with_1013() {
    let server = Server::start(HttpSettings::default()).await;
    for (authorization, code) in
        [(json!("Bearer expired"), 4403), (json!("good"), 4403), (json!(7), 4403), (json!("Bearer down"), 1013)]
    {
        let mut client = server.client().await;
        client.say(json!({"type": "connection_init", "payload": {"authorization": authorization}})).await;
        assert_eq!(client.closed().await.0, code, "{authorization}");
    }
    let mut client = server.open(&[("authorization", "Bearer expired")]).await.unwrap();
    client.say(json!({"type": "connection_init"})).await;
    assert_eq!(client.closed().await, (4403, "Forbidden: The token has expired. Sign in again.".to_owned()));
}

#[tokio::test]
async fn the_viewer_comes_from_the_first_message_or_from_the_header() {
    let server = Server::start(HttpSettings::default()).await;
    for (header, payload, viewer) in [
        ("Bearer good", json!({}), "ann"),
        ("Bearer expired", json!({"Authorization": "Bearer good"}), "ann"),
        ("Bearer expired", json!({"headers": {"Authorization": "Bearer good"}}), "ann"),
        ("Bearer good", json!({"authorization": "Bearer nobody"}), "nobody"),
        ("Bearer service", json!({"act-as": "ann"}), "ann"),
        ("Bearer expired", json!({"headers": {"authorization": "Bearer service", "Act-As": "ann"}}), "ann"),
    ] {
        let mut client = server.open(&[("authorization", header)]).await.unwrap();
        client.say(json!({"type": "connection_init", "payload": payload})).await;
        assert_eq!(client.hear().await["type"], "connection_ack");
        client.subscribe("1", "{ whoami }").await;
        assert_eq!(client.hear().await["payload"]["data"]["whoami"][0], viewer);
    }
}

#[tokio::test]
async fn an_id_that_is_in_use_closes_with_4409() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    client.subscribe("a", "subscription { silence }").await;
    client.subscribe("a", "{ hello }").await;
    assert_eq!(client.closed().await, (4409, "Subscriber for a already exists".to_owned()));
}

#[tokio::test]
async fn a_second_init_closes_with_4429() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    client.say(json!({"type": "connection_init"})).await;
    assert_eq!(client.closed().await, (4429, "Too many initialisation requests".to_owned()));
}

#[tokio::test]
async fn the_33rd_operation_closes_with_4429() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    for index in 0..32 {
        client.subscribe(&index.to_string(), "subscription { silence }").await;
    }
    client.say(json!({"type": "complete", "id": "7"})).await;
    client.subscribe("again", "subscription { silence }").await;
    client.say(json!({"type": "ping"})).await;
    assert_eq!(client.hear().await["type"], "pong", "32 are allowed");
    client.subscribe("33rd", "subscription { silence }").await;
    assert_eq!(client.closed().await.0, 4429);
}

#[tokio::test]
async fn only_pages_that_may_open_a_socket() {
    let allowed_origins =
        Origins { listed: vec!["https://app.example.org".to_owned()], local: false, ..Origins::default() };
    let server = Server::start(HttpSettings { allowed_origins, ..HttpSettings::default() }).await;
    let own = format!("http://{}", server.address);
    for origin in [own.as_str(), "https://app.example.org"] {
        assert!(server.open(&[("origin", origin)]).await.is_ok(), "{origin}");
    }
    for origin in ["https://evil.example", "null"] {
        assert_eq!(server.open(&[("origin", origin)]).await.err(), Some(403), "{origin}");
    }
}

#[tokio::test]
async fn only_a_trusted_proxy_says_which_host_was_asked_for() {
    for (network, refused) in [("127.0.0.0/8", None), ("10.0.0.0/8", Some(403))] {
        let trusted_proxies = vec![network.parse().unwrap()];
        let server = Server::start(HttpSettings { trusted_proxies, ..HttpSettings::default() }).await;
        let headers = [("origin", "https://feed.example.org"), ("x-forwarded-host", "feed.example.org")];
        assert_eq!(server.open(&headers).await.err(), refused, "{network}");
    }
}

#[tokio::test]
async fn a_client_of_another_protocol_is_refused() {
    let server = Server::start(HttpSettings::default()).await;
    assert_eq!(server.open(&[("sec-websocket-protocol", "graphql-ws")]).await.err(), Some(400));
}

#[tokio::test]
async fn each_result_and_each_event_tells_its_operations_request_id() {
    let server = Server::start(HttpSettings::default()).await;
    let mut client = server.acknowledged().await;
    let mut ids = Vec::new();
    for (query, results) in
        [("{ hello }", 1), ("{ hello }", 1), ("subscription { count(to: 3) }", 3), ("subscription { stumble }", 3)]
    {
        client.subscribe("1", query).await;
        let mut of_operation = Vec::new();
        for _ in 0..results {
            let result = client.hear().await;
            let id = result["payload"]["extensions"]["requestId"].as_str().unwrap().to_owned();
            let of_error = &result["payload"]["errors"][0]["extensions"]["requestId"];
            assert!(of_error.is_null() || of_error == id.as_str(), "{result}");
            of_operation.push(id);
        }
        of_operation.dedup();
        assert_eq!(of_operation.len(), 1, "{query}: one operation, one id");
        ids.append(&mut of_operation);
        assert_eq!(client.hear().await["type"], "complete");
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each operation has its own");
}
