//! Tests pages of timelines and of authors' contents.

use serde_json::{Value, json};

use tidefeed::store::Exclusions as _;

use super::api::{Api, Person};

const PAGE: &str = "query($first: Int, $after: String, $last: Int, $before: String) {
    timeline(first: $first, after: $after, last: $last, before: $before) {
        edges { cursor node { text } } nodes { text }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";

async fn page(api: &Api, reader: &Person, arguments: Value) -> Value {
    api.data(Some(reader), PAGE, arguments).await["timeline"].take()
}

fn texts(page: &Value) -> Vec<String> {
    let nodes = page["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["text"].as_str().unwrap().to_owned()).collect()
}

fn more(page: &Value) -> (bool, bool) {
    let info = &page["pageInfo"];
    (info["hasNextPage"].as_bool().unwrap(), info["hasPreviousPage"].as_bool().unwrap())
}

/// A reader of two authors, who have published in turn: texts 0 (oldest) to 24.
async fn read_by_ann() -> (Api, Person) {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    api.follow(&ann, &bob).await;
    api.follow(&ann, &cid).await;
    for number in 0..25 {
        api.publish(if number % 2 == 0 { &bob } else { &cid }, &number.to_string()).await;
    }
    (api, ann)
}

fn numbers(newest_first: impl Iterator<Item = u32>) -> Vec<String> {
    newest_first.map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn a_timeline_is_read_into_the_past_without_gap_or_repetition() {
    let (api, ann) = read_by_ann().await;
    let first = page(&api, &ann, json!({})).await;
    assert_eq!((texts(&first), more(&first)), (numbers((5..25).rev()), (true, false)), "20 by default");
    let second = page(&api, &ann, json!({"first": 4, "after": first["pageInfo"]["endCursor"]})).await;
    assert_eq!((texts(&second), more(&second)), (numbers((1..5).rev()), (true, true)));
    let third = page(&api, &ann, json!({"first": 4, "after": second["pageInfo"]["endCursor"]})).await;
    assert_eq!((texts(&third), more(&third)), (numbers(0..1), (false, true)));
    let beyond = page(&api, &ann, json!({"after": third["pageInfo"]["endCursor"]})).await;
    assert_eq!((texts(&beyond), more(&beyond)), (vec![], (false, true)));
    assert_eq!(beyond["pageInfo"]["startCursor"], json!(null));
}

#[tokio::test]
async fn a_timeline_is_read_towards_the_present_from_any_entry() {
    let (api, ann) = read_by_ann().await;
    let whole = page(&api, &ann, json!({"first": 25})).await;
    let cursor = |index: usize| whole["edges"][index]["cursor"].clone();
    let near = page(&api, &ann, json!({"last": 3, "before": cursor(10)})).await;
    assert_eq!((texts(&near), more(&near)), (numbers((15..18).rev()), (true, true)), "those next to the cursor");
    let top = page(&api, &ann, json!({"last": 20, "before": cursor(10)})).await;
    assert_eq!((texts(&top), more(&top)), (numbers((15..25).rev()), (true, false)));
    let newer = page(&api, &ann, json!({"last": 5, "before": cursor(0)})).await;
    assert_eq!((texts(&newer), more(&newer)), (vec![], (true, false)));
}

#[tokio::test]
async fn edges_and_nodes_agree_and_cursors_frame_the_page() {
    let (api, ann) = read_by_ann().await;
    let page = page(&api, &ann, json!({"first": 3})).await;
    let of_edges: Vec<&Value> = page["edges"].as_array().unwrap().iter().map(|edge| &edge["node"]).collect();
    assert_eq!(of_edges, page["nodes"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(page["pageInfo"]["startCursor"], page["edges"][0]["cursor"]);
    assert_eq!(page["pageInfo"]["endCursor"], page["edges"][2]["cursor"]);
}

#[tokio::test]
async fn an_authors_own_contents_are_paged_alike_and_need_no_viewer() {
    let (api, _) = read_by_ann().await;
    let query =
        "query($after: String, $last: Int, $before: String) { user(handle: \"@Bob\") { isViewer viewerIsFollowing
        contents(after: $after, last: $last, before: $before) {
            nodes { text viewerIsAuthor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
    let ask = async |arguments| api.data(None, query, arguments).await["user"].take();
    let user = ask(json!({})).await;
    assert_eq!((&user["isViewer"], &user["viewerIsFollowing"]), (&json!(false), &json!(null)));
    let all = &user["contents"];
    assert_eq!((texts(all), more(all)), (numbers((0..25).rev().step_by(2)), (false, false)));
    let newer = ask(json!({"last": 2, "before": all["pageInfo"]["endCursor"]})).await;
    assert_eq!((texts(&newer["contents"]), more(&newer["contents"])), (numbers([4, 2].into_iter()), (true, true)));
}

#[tokio::test]
async fn a_content_hidden_during_a_read_is_left_out() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    for author in [&bob, &cid] {
        api.follow(&ann, author).await;
    }
    for (author, text) in [(&cid, "1"), (&cid, "2"), (&bob, "of bob"), (&cid, "3")] {
        api.publish(author, text).await;
    }
    let (store, ids) = (api.store.clone(), (bob.viewer.id, ann.viewer.id));
    let block = async move { drop(store.block(ids.0, ids.1, 1006, 1).await.unwrap()) };
    *api.contents.meanwhile.lock().unwrap() = Some(Box::pin(block));
    let read = page(&api, &ann, json!({"first": 2})).await;
    assert_eq!((texts(&read), more(&read)), (numbers([3, 2].into_iter()), (true, false)));
    assert_eq!(read["edges"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_content_removed_during_a_read_is_left_out_of_a_list() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&ann, "post").await;
    let reply = api.reply(&bob, &post, "reply").await;
    let query = "query($id: ID!) { content(id: $id) { replies { nodes { id } edges { cursor node { id } } } } }";
    let whole = api.data(Some(&ann), query, json!({ "id": post })).await["content"]["replies"].take();
    assert_eq!(whole["nodes"], json!([{ "id": reply }]));
    let (store, contents, ids) = (api.store.clone(), api.contents.clone(), (bob.viewer.id, ann.viewer.id));
    // The first read is of the post itself, the next one of the reply.
    let block = async move { drop(store.block(ids.0, ids.1, 1007, 1).await.unwrap()) };
    let between = async move { *contents.meanwhile.lock().unwrap() = Some(Box::pin(block)) };
    *api.contents.meanwhile.lock().unwrap() = Some(Box::pin(between));
    let query = format!("query($id: ID!) {{ viewer {{ id }} {}", query.trim_start_matches("query($id: ID!) {"));
    let read = api.data(Some(&ann), &query, json!({ "id": post })).await["content"]["replies"].take();
    assert_eq!(read, json!({"nodes": [], "edges": []}));
}
