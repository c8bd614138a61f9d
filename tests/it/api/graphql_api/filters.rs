//! Tests timelines and authors' contents, filtered by kind.

use serde_json::{Value, json};

use super::api::{Api, faults};

const PAGE: &str = "query($filter: TimelineFilter) { timeline(first: 1, filter: $filter) { nodes { kind text } pageInfo { hasNextPage } } }";

#[tokio::test]
async fn a_timeline_filtered_by_kind_ignores_other_contents() {
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

const OF_ANN: &str =
    "query($filter: TimelineFilter, $first: Int, $after: String, $last: Int, $before: String) { user(handle: \"ann\") {
    contents(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
        nodes { kind text } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";

/// The texts of a page, and whether it continues into the past and into the present.
fn shown(page: &Value) -> (Vec<&str>, bool, bool) {
    let texts = page["nodes"].as_array().unwrap().iter().map(|node| node["text"].as_str().unwrap()).collect();
    let (info, goes_on) = (&page["pageInfo"], |info: &Value, what: &str| info[what].as_bool().unwrap());
    (texts, goes_on(info, "hasNextPage"), goes_on(info, "hasPreviousPage"))
}

#[tokio::test]
async fn an_authors_contents_are_paged_by_kind_without_a_viewer() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let of_bob = api.publish(&bob, "of bob").await;
    for nth in ["1", "2", "3"] {
        api.publish(&ann, nth).await;
        api.reply(&ann, &of_bob, &format!("reply {nth}")).await;
    }
    api.repost(&ann, &of_bob).await;
    let page = async |mut arguments: Value, kinds: Value| {
        arguments["filter"] = json!({ "kinds": kinds });
        api.data(None, OF_ANN, arguments).await["user"]["contents"].take()
    };
    let newest = page(json!({"first": 2}), json!(["REPLY"])).await;
    assert_eq!(shown(&newest), (vec!["reply 3", "reply 2"], true, false));
    let oldest = page(json!({"first": 2, "after": newest["pageInfo"]["endCursor"]}), json!(["REPLY"])).await;
    assert_eq!(shown(&oldest), (vec!["reply 1"], false, true));
    let back = page(json!({"last": 1, "before": oldest["pageInfo"]["startCursor"]}), json!(["REPLY"])).await;
    assert_eq!(shown(&back), (vec!["reply 2"], true, true));
    let posts = page(json!({}), json!(["POST"])).await;
    assert_eq!(shown(&posts), (vec!["3", "2", "1"], false, false));
    let mixed = page(json!({"first": 2}), json!(["REPOST", "REPLY"])).await;
    assert_eq!(shown(&mixed), (vec!["", "reply 3"], true, false));
    assert_eq!(shown(&page(json!({}), Value::Null).await).0.len(), 7, "no choice is every kind");
}

#[tokio::test]
async fn an_empty_choice_of_kinds_is_refused_on_an_authors_page() {
    let api = Api::new().await;
    api.person("ann").await;
    let answer = api.ask(None, OF_ANN, json!({"filter": {"kinds": []}})).await;
    assert_eq!(faults(&answer), [("BAD_USER_INPUT".to_owned(), json!(["user", "contents"]))]);
}
