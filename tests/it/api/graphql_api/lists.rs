//! Tests followers, followees, likers and bookmarks as connections.

use serde_json::{Value, json};

use super::api::{Api, Person, faults};

/// Handles of the nodes, the end flags, and the cursors at both ends.
async fn page(api: &Api, viewer: &Person, list: &str, arguments: &str) -> (Vec<String>, [bool; 2], [Value; 2]) {
    let query = format!(
        "query($id: ID!) {{ node(id: $id) {{ ... on User {{ {list}({arguments}) {{ edges {{ cursor createdAt node {{ handle followerCount }} }}
            pageInfo {{ hasPreviousPage hasNextPage startCursor endCursor }} }} }} }} }}"
    );
    let mut answer = api.data(Some(viewer), &query, json!({ "id": viewer.id })).await;
    let list = answer["node"][list].take();
    let edges = list["edges"].as_array().unwrap();
    let handles = edges.iter().map(|edge| edge["node"]["handle"].as_str().unwrap().to_owned()).collect();
    let info = &list["pageInfo"];
    let ends = [info["startCursor"].clone(), info["endCursor"].clone()];
    (handles, ["hasPreviousPage", "hasNextPage"].map(|flag| info[flag].as_bool().unwrap()), ends)
}

#[tokio::test]
async fn followers_and_the_followed_are_read_from_both_ends_with_exact_flags() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for handle in ["bob", "cid", "dan", "eve"] {
        let other = api.person(handle).await;
        api.clock.advance(1);
        api.follow(&other, &ann).await;
        api.follow(&ann, &other).await;
    }
    for list in ["followers", "following"] {
        let (first, flags, [_, end]) = page(&api, &ann, list, "first: 2").await;
        assert_eq!((first, flags), (vec!["eve".to_owned(), "dan".to_owned()], [false, true]), "{list}");
        let (second, flags, [start, _]) = page(&api, &ann, list, &format!("first: 2, after: {end}")).await;
        assert_eq!((second, flags), (vec!["cid".to_owned(), "bob".to_owned()], [true, false]), "{list}");
        let (back, flags, _) = page(&api, &ann, list, &format!("last: 1, before: {start}")).await;
        assert_eq!((back, flags), (vec!["dan".to_owned()], [true, true]), "{list}");
    }
}

#[tokio::test]
async fn blocked_users_are_counted_but_not_listed() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    let post = api.publish(&ann, "liked").await;
    let like = "mutation($id: ID!) { likeContent(input: { contentId: $id }) { userErrors { code } } }";
    for other in [&bob, &cid] {
        api.clock.advance(1);
        api.follow(other, &ann).await;
        api.follow(&ann, other).await;
        api.data(Some(other), like, json!({ "id": post })).await;
    }
    let block = "mutation($id: ID!) { blockUser(input: { userId: $id }) { userErrors { code } } }";
    api.data(Some(&bob), block, json!({ "id": cid.id })).await;
    let query = "query($id: ID!) { content(id: $id) { likeCount likers { nodes { handle } } author { followerCount followingCount
        followers { nodes { handle } } following { nodes { handle } } } } }";
    for (viewer, seen) in
        [(Some(&bob), &["bob"][..]), (Some(&cid), &["cid"]), (Some(&ann), &["cid", "bob"]), (None, &["cid", "bob"])]
    {
        let content = api.data(viewer, query, json!({ "id": post })).await["content"].take();
        let nodes: Vec<Value> = seen.iter().map(|handle| json!({ "handle": handle })).collect();
        let author = &content["author"];
        for list in [&content["likers"], &author["followers"], &author["following"]] {
            assert_eq!(list["nodes"], json!(nodes));
        }
        let counts = (&content["likeCount"], &author["followerCount"], &author["followingCount"]);
        assert_eq!(counts, (&json!(2), &json!(2), &json!(2)));
    }
}

#[tokio::test]
async fn a_cursor_of_one_list_is_refused_by_the_others() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    api.follow(&bob, &ann).await;
    let (_, _, [cursor, _]) = page(&api, &ann, "followers", "first: 1").await;
    for field in ["following", "contents", "mediaContents", "bookmarks", "likes"] {
        let query = format!("{{ viewer {{ {field}(after: {cursor}) {{ nodes {{ id }} }} }} }}");
        let refused = api.ask(Some(&ann), &query, json!({})).await;
        assert_eq!(faults(&refused), [("BAD_USER_INPUT".to_owned(), json!(["viewer", field]))]);
    }
}

#[tokio::test]
async fn only_the_viewer_sees_own_bookmarks_and_likes() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let (kept, gone) = (api.publish(&bob, "kept").await, api.publish(&bob, "gone").await);
    for content in [&kept, &gone] {
        api.clock.advance(1);
        for verb in ["bookmarkContent", "likeContent"] {
            react(&api, &ann, verb, content).await;
        }
    }
    api.delete(&bob, &gone).await;
    for list in ["bookmarks", "likes"] {
        let shown = "nodes { text viewerHasBookmarked likers { nodes { handle } } }";
        let query = format!("{{ user(handle: \"ann\") {{ {list} {{ {shown} }} }} }}");
        let own = api.data(Some(&ann), &query, json!({})).await;
        let node = json!({"text": "kept", "viewerHasBookmarked": true, "likers": {"nodes": [{"handle": "ann"}]}});
        assert_eq!(own["user"][list], json!({ "nodes": [node] }));
        for viewer in [Some(&bob), None] {
            assert_eq!(api.data(viewer, &query, json!({})).await["user"][list], json!(null));
        }
    }
}

#[tokio::test]
async fn likes_page_both_ways_without_unliked_and_blocked_contents() {
    let api = Api::new().await;
    let (ann, bob, eve) = (api.person("ann").await, api.person("bob").await, api.person("eve").await);
    let mut liked = Vec::new();
    for (author, text) in [(&bob, "first"), (&eve, "second"), (&bob, "third")] {
        api.clock.advance(1);
        let id = api.publish(author, text).await;
        react(&api, &ann, "likeContent", &id).await;
        liked.push(id);
    }
    let texts = async |arguments: &str| {
        let query = format!("{{ viewer {{ likes({arguments}) {{ edges {{ cursor node {{ text }} }} }} }} }}");
        let edges = api.data(Some(&ann), &query, json!({})).await["viewer"]["likes"]["edges"].take();
        let edges = edges.as_array().unwrap().clone();
        let text = |edge: &Value| edge["node"]["text"].as_str().map(str::to_owned);
        (edges.iter().map(text).collect::<Vec<_>>(), edges.last().map(|edge| edge["cursor"].clone()))
    };
    let (newest, cursor) = texts("first: 2").await;
    assert_eq!(newest, [Some("third".to_owned()), Some("second".to_owned())]);
    let cursor = cursor.unwrap();
    assert_eq!(texts(&format!("after: {cursor}")).await.0, [Some("first".to_owned())]);
    assert_eq!(texts(&format!("last: 5, before: {cursor}")).await.0, [Some("third".to_owned())]);
    let block = "mutation($id: ID!) { blockUser(input: {userId: $id}) { userErrors { code } } }";
    api.data(Some(&eve), block, json!({ "id": ann.id })).await;
    assert_eq!(texts("first: 5").await.0, [Some("third".to_owned()), None, Some("first".to_owned())]);
    react(&api, &ann, "unlikeContent", &liked[2]).await;
    assert_eq!(texts("first: 5").await.0, [None, Some("first".to_owned())]);
}

async fn react(api: &Api, person: &Person, verb: &str, content: &str) {
    let query = format!("mutation($id: ID!) {{ {verb}(input: {{contentId: $id}}) {{ userErrors {{ code }} }} }}");
    api.data(Some(person), &query, json!({ "id": content })).await;
}
