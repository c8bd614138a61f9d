//! Tests objects by id, and introspection.

use serde_json::json;

use super::api::{Api, faults};

#[tokio::test]
async fn nodes_keep_their_order_with_nulls_for_what_does_not_exist() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let post = api.publish(&ann, "x").await;
    let ids = json!([post, "U_AAAAAAAAAAE", ann.id, "C_AAAAAAAAAAE", post]);
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on User { handle } ... on Content { text author { handle } } } }";
    let nodes = api.data(None, query, json!({ "ids": ids })).await;
    let content = json!({"__typename": "Content", "id": post, "text": "x", "author": {"handle": "ann"}});
    let user = json!({"__typename": "User", "id": ann.id, "handle": "ann"});
    assert_eq!(nodes["nodes"], json!([content, null, user, null, content]));
}

#[tokio::test]
async fn an_id_of_no_use_fails_its_own_place_only() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let response =
        api.ask(None, "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", json!({"ids": [ann.id, "x"]})).await;
    assert_eq!(response["data"]["nodes"], json!([{"id": ann.id}, null]));
    assert_eq!(faults(&response), [("BAD_USER_INPUT".to_owned(), json!(["nodes", 1]))]);
}

#[tokio::test]
async fn a_hundred_ids_are_taken_and_no_more() {
    let api = Api::new().await;
    let ids = |count: usize| json!({"ids": vec!["U_AAAAAAAAAAE"; count]});
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    assert_eq!(api.data(None, query, ids(100)).await["nodes"], json!(vec![json!(null); 100]));
    let response = api.ask(None, query, ids(101)).await;
    assert_eq!(faults(&response), [("BAD_USER_INPUT".to_owned(), json!(["nodes"]))]);
}

#[tokio::test]
async fn a_node_is_had_again_by_its_id() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let post = api.publish(&ann, "x").await;
    let query = "query($user: ID!, $post: ID!) { a: node(id: $user) { id } b: node(id: $post) { id } content(id: $post) { text } }";
    let found = api.data(None, query, json!({"user": ann.id, "post": post})).await;
    assert_eq!(found, json!({"a": {"id": ann.id}, "b": {"id": post}, "content": {"text": "x"}}));
}

#[tokio::test]
async fn the_standard_introspection_query_is_answered_whole() {
    let api = Api::new().await;
    let query = include_str!("../../../../graphql-transport/src/guard/introspection.graphql");
    let schema = api.data(None, query, json!({})).await;
    let types = schema["__schema"]["types"].as_array().unwrap();
    let undescribed = types.iter().filter(|it| it["description"].as_str().is_none_or(str::is_empty));
    let ours = |name: &&str| !name.starts_with("__") && *name != "ID";
    let names: Vec<&str> = undescribed.filter_map(|it| it["name"].as_str()).filter(ours).collect();
    assert_eq!(names, Vec::<&str>::new(), "types without a description");
    assert!(types.len() > 30, "{}", types.len());
}
