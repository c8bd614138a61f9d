//! Timelines of some kinds.

use serde_json::{Value, json};

use super::api::{Api, faults};

const PAGE: &str = "query($filter: TimelineFilter) { timeline(first: 1, filter: $filter) { nodes { kind text } pageInfo { hasNextPage } } }";

#[tokio::test]
async fn a_timeline_of_one_kind_is_as_if_nothing_else_had_been_published() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    api.publish(&ann, "one").await;
    api.publish(&ann, "two").await;
    let page =
        async |kinds: Value| api.data(Some(&ann), PAGE, json!({"filter": {"kinds": kinds}})).await["timeline"].take();
    let two = json!({"nodes": [{"kind": "POST", "text": "two"}], "pageInfo": {"hasNextPage": true}});
    assert_eq!(page(json!(["POST"])).await, two);
    assert_eq!(page(json!(["REPLY", "POST"])).await, two);
    assert_eq!(page(json!(null)).await, two, "no choice is every kind");
    assert_eq!(page(json!(["REPLY", "REPOST"])).await, json!({"nodes": [], "pageInfo": {"hasNextPage": false}}));
}

#[tokio::test]
async fn a_choice_of_no_kind_is_refused() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let answer = api.ask(Some(&ann), PAGE, json!({"filter": {"kinds": []}})).await;
    assert_eq!(faults(&answer), [("BAD_USER_INPUT".to_owned(), json!(["timeline"]))]);
}
