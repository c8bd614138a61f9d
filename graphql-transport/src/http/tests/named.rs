//! Tests documents that are named instead of sent: by hash, or by an id of the manifest.

use serde_json::json;

use super::*;
use crate::http::document::DocumentHash;

async fn say(router: &Router, body: Json) -> (StatusCode, Json) {
    let request = post(body.to_string(), &[("accept", "application/graphql-response+json")]);
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

fn persisted(text: &str) -> Json {
    json!({"persistedQuery": {"version": 1, "sha256Hash": DocumentHash::of(text).to_string()}})
}

fn code(answer: &(StatusCode, Json)) -> &str {
    answer.1["errors"][0]["extensions"]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_hash_finds_what_was_sent_with_it_before() {
    let router = router(transport(HttpSettings::default())).unwrap();
    let hash = persisted("{ hello }");
    let unknown = say(&router, json!({ "extensions": hash })).await;
    assert_eq!(
        (code(&unknown), &unknown.1["errors"][0]["message"]),
        ("PERSISTED_QUERY_NOT_FOUND", &json!("PersistedQueryNotFound"))
    );
    let sent = say(&router, json!({ "query": "{ hello }", "extensions": hash })).await;
    assert_eq!(sent.1, json!({"data": {"hello": "world"}}));
    assert_eq!(say(&router, json!({ "extensions": hash })).await, sent);
    let url =
        format!("/graphql?extensions={}", hash.to_string().replace('{', "%7B").replace('}', "%7D").replace('"', "%22"));
    let response = router.clone().oneshot(HttpRequest::get(url).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "by GET too");
}

#[tokio::test]
async fn a_wrong_hash_is_refused_and_what_validation_refuses_is_not_kept() {
    let router = router(transport(HttpSettings::default())).unwrap();
    let wrong = say(&router, json!({ "query": "{ hello }", "extensions": persisted("{ other }") })).await;
    assert_eq!((wrong.0, code(&wrong)), (StatusCode::BAD_REQUEST, "BAD_USER_INPUT"));
    for text in ["{ missing }", "{"] {
        say(&router, json!({ "query": text, "extensions": persisted(text) })).await;
        let again = say(&router, json!({ "extensions": persisted(text) })).await;
        assert_eq!(code(&again), "PERSISTED_QUERY_NOT_FOUND", "{text}");
    }
}

#[tokio::test]
async fn unknown_hashes_are_refused_with_apollos_message() {
    let settings = PersistedSettings { automatic: false, ..PersistedSettings::default() };
    let router = router(transport(HttpSettings { persisted: settings, ..HttpSettings::default() })).unwrap();
    let refused = say(&router, json!({ "extensions": persisted("{ hello }") })).await;
    assert_eq!(
        (code(&refused), &refused.1["errors"][0]["message"]),
        ("PERSISTED_QUERY_NOT_SUPPORTED", &json!("PersistedQueryNotSupported"))
    );
    let sent = say(&router, json!({ "query": "{ hello }", "extensions": persisted("{ hello }") })).await;
    assert_eq!(sent.0, StatusCode::OK);
}

#[tokio::test]
async fn where_only_trusted_documents_run_nothing_else_does() {
    let manifest = Manifest::parse(r#"{"abc": "{ hello }", "sub": "subscription { count(to: 1) }"}"#).unwrap();
    let persisted_settings = PersistedSettings { automatic: true, manifest: Some(manifest), required: true };
    let settings = HttpSettings { persisted: persisted_settings, ..HttpSettings::default() };
    let router = router(transport(settings.clone())).unwrap();
    for body in [
        json!({"documentId": "abc"}),
        json!({"id": "abc"}),
        json!({"extensions": persisted("{ hello }")}),
        json!({"query": "{ hello }", "extensions": persisted("{ hello }")}),
        json!({"query": "{ hello }"}),
    ] {
        assert_eq!(say(&router, body.clone()).await.1, json!({"data": {"hello": "world"}}), "{body}");
    }
    for body in [
        json!({"documentId": "abd"}),
        json!({"query": "{ a: hello }"}),
        json!({"query": "{ a: hello }", "extensions": persisted("{ a: hello }")}),
        json!({"extensions": persisted("{ a: hello }")}),
        json!({"query": "{ __typename }"}),
    ] {
        let refused = say(&router, body.clone()).await;
        assert_eq!((refused.0, code(&refused)), (StatusCode::BAD_REQUEST, "PERSISTED_QUERY_NOT_IN_LIST"), "{body}");
    }
    let server = super::client::Server::start(settings).await;
    let mut client = server.acknowledged().await;
    client.say(json!({"type": "subscribe", "id": "1", "payload": {"documentId": "sub"}})).await;
    assert_eq!(client.hear().await["payload"]["data"]["count"], 1);
    assert_eq!(client.hear().await["type"], "complete");
    client.subscribe("2", "subscription { silence }").await;
    assert_eq!(client.hear().await["payload"][0]["extensions"]["code"], "PERSISTED_QUERY_NOT_IN_LIST");
}
