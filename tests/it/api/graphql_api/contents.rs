//! Tests publishing and deleting.

use serde_json::{Value, json};

use super::api::{Api, Person};

const PUBLISH: &str = "mutation($input: PublishContentInput!) { publishContent(input: $input) {
    timelineEdge { cursor node { id kind text media { kind url width height alt } createdAt viewerIsAuthor
        author { handle } replyCount likeCount repostCount bookmarkCount } }
    userErrors { code field } clientMutationId } }";

async fn publish(api: &Api, author: &Person, input: Value) -> Value {
    api.data(Some(author), PUBLISH, json!({ "input": input })).await["publishContent"].take()
}

#[tokio::test]
async fn a_published_content_comes_back_as_it_stands_in_the_timeline() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let media = json!([{"kind": "PICTURE", "url": "https://a.example/1.png", "width": 640, "alt": "a cat"}]);
    let payload = publish(&api, &ann, json!({"text": " hello ", "media": media, "clientMutationId": "c"})).await;
    let node = &payload["timelineEdge"]["node"];
    assert_eq!(node["text"], "hello");
    let shown =
        json!({"kind": "PICTURE", "url": "https://a.example/1.png", "width": 640, "height": null, "alt": "a cat"});
    assert_eq!(node["media"], json!([shown]));
    assert_eq!(node["createdAt"], "2026-11-21T09:30:00.000Z");
    assert_eq!(node["viewerIsAuthor"], true);
    assert_eq!(node["author"], json!({"handle": "ann"}));
    for count in ["replyCount", "likeCount", "repostCount", "bookmarkCount"] {
        assert_eq!(node[count], 0, "{count}");
    }
    assert_eq!(payload["clientMutationId"], "c");
    let timeline = api.data(Some(&ann), "{ timeline { edges { cursor node { id } } } }", json!({})).await;
    let edge = json!({"cursor": payload["timelineEdge"]["cursor"], "node": {"id": node["id"]}});
    assert_eq!(timeline["timeline"]["edges"], json!([edge]));
}

#[tokio::test]
async fn a_draft_that_is_refused_says_which_value_is_at_fault() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let medium = |url: &str, width: i64| json!([{"kind": "VIDEO", "url": url, "width": width}]);
    let long = format!("https://a.example/{}", "x".repeat(2048));
    let alt = |words: String| json!([{"kind": "PICTURE", "url": "https://a.example/1.png", "alt": words}]);
    for (input, code, field) in [
        (json!({"text": " "}), "INVALID", json!(["input", "text"])),
        (json!({"text": "x".repeat(5001)}), "TOO_LONG", json!(["input", "text"])),
        (json!({"text": "x", "media": medium("ftp://a", 1)}), "INVALID", json!(["input", "media", "0", "url"])),
        (
            json!({"text": "x", "media": medium("https://a", 3_000_000_000)}),
            "INVALID",
            json!(["input", "media", "0", "width"]),
        ),
        (json!({"text": "x", "idempotencyKey": ""}), "INVALID", json!(["input", "idempotencyKey"])),
        (json!({"text": "x", "idempotencyKey": "k".repeat(65)}), "TOO_LONG", json!(["input", "idempotencyKey"])),
        (json!({"text": "x", "media": medium(&long, 1)}), "TOO_LONG", json!(["input", "media", "0", "url"])),
        (json!({"text": "x", "media": alt("x".repeat(1001))}), "TOO_LONG", json!(["input", "media", "0", "alt"])),
        (json!({"text": "a\0b"}), "INVALID", json!(["input", "text"])),
        (json!({"text": "x", "media": alt("a\0b".to_owned())}), "INVALID", json!(["input", "media", "0", "alt"])),
        (json!({"text": "x", "idempotencyKey": "a\0b"}), "INVALID", json!(["input", "idempotencyKey"])),
    ] {
        let payload = publish(&api, &ann, input).await;
        assert_eq!(payload["userErrors"], json!([{"code": code, "field": field}]));
        assert_eq!(payload["timelineEdge"], json!(null));
    }
}

#[tokio::test]
async fn a_repeated_idempotency_key_publishes_once() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let input = json!({"text": "once", "idempotencyKey": "k"});
    let first = publish(&api, &ann, input.clone()).await;
    api.clock.advance(10);
    assert_eq!(publish(&api, &ann, input.clone()).await, first);
    api.delete(&ann, first["timelineEdge"]["node"]["id"].as_str().unwrap()).await;
    let after = publish(&api, &ann, input).await;
    assert_eq!(after["userErrors"], json!([{"code": "CONFLICT", "field": ["input", "idempotencyKey"]}]));
}

#[tokio::test]
async fn a_deleted_content_is_gone_everywhere_and_its_cursor_stays_good() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let (old, gone) = (api.publish(&ann, "old").await, api.publish(&ann, "gone").await);
    let before = api.data(Some(&ann), "{ timeline(first: 1) { pageInfo { endCursor } } }", json!({})).await;
    let payload = api.delete(&ann, &gone).await;
    assert_eq!(payload, json!({"deletedContentId": gone, "userErrors": []}));
    let query = "query($id: ID!, $after: String) { content(id: $id) { id } node(id: $id) { id } viewer { contentCount }
        timeline { nodes { id } } older: timeline(after: $after) { nodes { id } pageInfo { hasPreviousPage } } }";
    let after = &before["timeline"]["pageInfo"]["endCursor"];
    let now = api.data(Some(&ann), query, json!({"id": gone, "after": after})).await;
    let expected = json!({"content": null, "node": null, "viewer": {"contentCount": 1}, "timeline": {"nodes": [{"id": old}]},
        "older": {"nodes": [{"id": old}], "pageInfo": {"hasPreviousPage": false}}});
    assert_eq!(now, expected);
}

#[tokio::test]
async fn only_its_author_deletes_a_content_and_only_once() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let id = api.publish(&ann, "mine").await;
    let refused =
        |code: &str| json!({"deletedContentId": null, "userErrors": [{"code": code, "field": ["input", "contentId"]}]});
    assert_eq!(api.delete(&bob, &id).await, refused("NOT_ALLOWED"));
    assert_eq!(api.delete(&ann, &id).await["deletedContentId"], json!(id));
    assert_eq!(api.delete(&ann, &id).await, refused("NOT_FOUND"));
}

#[tokio::test]
async fn deleting_a_blocked_content_is_answered_like_deleting_a_missing_one() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let (there, gone) = (api.publish(&ann, "there").await, api.publish(&ann, "gone").await);
    api.delete(&ann, &gone).await;
    api.block(&ann, &bob).await;
    assert_eq!(api.delete(&bob, &there).await, api.delete(&bob, &gone).await);
    let content = api.data(Some(&ann), "query($id: ID!) { content(id: $id) { text } }", json!({ "id": there })).await;
    assert_eq!(content["content"]["text"], "there");
}

#[tokio::test]
async fn contents_with_media_are_listed_exactly_and_hidden_from_blocked_users() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let media = json!([{"kind": "PICTURE", "url": "https://a.example/1.png", "width": 640, "alt": "a cat"}]);
    for number in 0..3 {
        api.clock.advance(1);
        publish(&api, &ann, json!({"text": number.to_string(), "media": media})).await;
        api.publish(&ann, "words").await;
    }
    let query = "query($id: ID!, $after: String) { node(id: $id) { ... on User {
        mediaContents(first: 2, after: $after) { nodes { text media { url } } pageInfo { hasNextPage endCursor } } } } }";
    let read = async |viewer: &Person, after: Value| {
        api.data(Some(viewer), query, json!({"id": ann.id, "after": after})).await["node"]["mediaContents"].take()
    };
    let shown = |text: &str| json!({"text": text, "media": [{"url": "https://a.example/1.png"}]});
    let first = read(&bob, json!(null)).await;
    assert_eq!((&first["nodes"], &first["pageInfo"]["hasNextPage"]), (&json!([shown("2"), shown("1")]), &json!(true)));
    let last = read(&bob, first["pageInfo"]["endCursor"].clone()).await;
    assert_eq!((&last["nodes"], &last["pageInfo"]["hasNextPage"]), (&json!([shown("0")]), &json!(false)));
    let block = "mutation($id: ID!) { blockUser(input: { userId: $id }) { userErrors { code } } }";
    api.data(Some(&ann), block, json!({ "id": bob.id })).await;
    assert_eq!(read(&bob, json!(null)).await["nodes"], json!([]));
}
