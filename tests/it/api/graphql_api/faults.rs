//! Tests errors at the top level: code, path, and which fields become null.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::api::{Api, faults};

fn fault(code: &str, path: Value) -> Vec<(String, Value)> {
    vec![(code.to_owned(), path)]
}

#[tokio::test]
async fn arguments_at_fault_null_their_field_and_no_more() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let query = "query($first: Int, $after: String, $last: Int, $before: String) { viewer { handle }
        timeline(first: $first, after: $after, last: $last, before: $before) { nodes { id } } }";
    for arguments in [
        json!({"after": "nonsense"}),
        json!({"before": ""}),
        json!({"first": 0}),
        json!({"first": 101}),
        json!({"last": -1}),
        json!({"first": 3_000_000_000_u32}),
        json!({"first": 1, "last": 1}),
    ] {
        let response = api.ask(Some(&ann), query, arguments.clone()).await;
        assert_eq!(faults(&response), fault("BAD_USER_INPUT", json!(["timeline"])), "{arguments}");
        assert_eq!(response["data"], json!({"viewer": {"handle": "ann"}, "timeline": null}), "{arguments}");
    }
}

#[tokio::test]
async fn ids_of_the_wrong_kind_are_faults() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let response = api.ask(None, "query($id: ID!) { content(id: $id) { id } }", json!({"id": ann.id})).await;
    assert_eq!(faults(&response), fault("BAD_USER_INPUT", json!(["content"])));
    let follow = "mutation { f: followUser(input: {userId: \"7\"}) { user { id } } }";
    assert_eq!(faults(&api.ask(Some(&ann), follow, json!({})).await), fault("BAD_USER_INPUT", json!(["f"])));
}

#[tokio::test]
async fn fields_that_need_a_viewer_refuse_anonymous_requests() {
    let api = Api::new().await;
    for (query, field) in [
        ("{ timeline { nodes { id } } }", "timeline"),
        ("mutation { publishContent(input: {text: \"x\"}) { userErrors { code } } }", "publishContent"),
        ("mutation { deleteContent(input: {contentId: \"C_AAAAAAAAAAE\"}) { userErrors { code } } }", "deleteContent"),
        ("mutation { followUser(input: {userId: \"U_AAAAAAAAAAE\"}) { userErrors { code } } }", "followUser"),
        ("mutation { unfollowUser(input: {userId: \"U_AAAAAAAAAAE\"}) { userErrors { code } } }", "unfollowUser"),
    ] {
        let response = api.ask(None, query, json!({})).await;
        assert_eq!(faults(&response), fault("UNAUTHENTICATED", json!([field])));
        assert_eq!(response["data"][field], json!(null));
    }
}

#[tokio::test]
async fn counts_that_cannot_be_read_null_themselves_and_give_nothing_away() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    api.publish(&ann, "x").await;
    api.contents.counters_fail.store(true, Ordering::SeqCst);
    let query = "{ timeline { edges { node { text likeCount author { handle } } } } }";
    let response = api.ask(Some(&ann), query, json!({})).await;
    let node = json!({"text": "x", "likeCount": null, "author": {"handle": "ann"}});
    assert_eq!(response["data"]["timeline"]["edges"], json!([{ "node": node }]));
    let path = json!(["timeline", "edges", 0, "node", "likeCount"]);
    assert_eq!(faults(&response), fault("INTERNAL_SERVER_ERROR", path));
    assert!(!response.to_string().contains("secret"), "{response}");
}

#[tokio::test]
async fn lists_that_cannot_be_read_fail_alone_each_in_its_place() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    for author in [&ann, &bob] {
        api.publish(author, "post").await;
    }
    api.contents.outboxes_fail.store(true, Ordering::SeqCst);
    let query = "{ timeline { nodes { likers { nodes { id } } author {
        contents { nodes { id } } followers { nodes { handle } } } } } }";
    let response = api.ask(Some(&ann), query, json!({})).await;
    let path = |place: usize| json!(["timeline", "nodes", place, "author", "contents"]);
    let expected = [0, 1].map(|place| ("INTERNAL_SERVER_ERROR".to_owned(), path(place)));
    assert_eq!(faults(&response), expected);
    assert!(!response.to_string().contains("secret"), "{response}");
    let shown = |followers: Value| json!({"likers": {"nodes": []}, "author": {"contents": null, "followers": {"nodes": followers}}});
    let nodes = json!([shown(json!([{"handle": "ann"}])), shown(json!([]))]);
    assert_eq!(response["data"]["timeline"]["nodes"], nodes);
}
