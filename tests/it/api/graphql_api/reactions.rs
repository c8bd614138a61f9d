//! Tests likes and bookmarks.

use serde_json::{Value, json};

use super::api::{Api, Person, faults};

async fn change(api: &Api, viewer: Option<&Person>, verb: &str, content: &str) -> Value {
    let query = format!(
        "mutation($id: ID!) {{ {verb}(input: {{contentId: $id, clientMutationId: \"c\"}}) {{ content {{ id
            likeCount bookmarkCount viewerHasLiked viewerHasBookmarked }}
            userErrors {{ code field }} clientMutationId }} }}"
    );
    api.ask(viewer, &query, json!({ "id": content })).await
}

#[tokio::test]
async fn the_payload_shows_what_a_reaction_has_changed() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&bob, "news").await;
    for (verb, likes, bookmarks) in [
        ("likeContent", 1, 0),
        ("likeContent", 1, 0),
        ("bookmarkContent", 1, 1),
        ("unlikeContent", 0, 1),
        ("unlikeContent", 0, 1),
        ("unbookmarkContent", 0, 0),
    ] {
        let content = json!({"id": post, "likeCount": likes, "bookmarkCount": null,
            "viewerHasLiked": likes == 1, "viewerHasBookmarked": bookmarks == 1});
        let payload = json!({"content": content, "userErrors": [], "clientMutationId": "c"});
        assert_eq!(change(&api, Some(&ann), verb, &post).await["data"][verb], payload, "{verb}");
        let counts = "query($id: ID!) { content(id: $id) { likeCount bookmarkCount } }";
        for (viewer, count) in [(Some(&bob), json!(bookmarks)), (Some(&ann), json!(null)), (None, json!(null))] {
            let content = api.data(viewer, counts, json!({ "id": post })).await["content"].take();
            assert_eq!(content, json!({"likeCount": likes, "bookmarkCount": count}), "{verb}");
        }
    }
}

#[tokio::test]
async fn deleted_contents_and_anonymous_viewers_allow_no_reactions() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let post = api.publish(&ann, "gone soon").await;
    let own = "query($id: ID!) { content(id: $id) { viewerHasLiked viewerHasBookmarked } }";
    let anonymous = api.data(None, own, json!({ "id": post })).await;
    assert_eq!(anonymous["content"], json!({"viewerHasLiked": null, "viewerHasBookmarked": null}));
    for verb in ["likeContent", "unlikeContent", "bookmarkContent", "unbookmarkContent"] {
        let refused = change(&api, None, verb, &post).await;
        assert_eq!(faults(&refused), [("UNAUTHENTICATED".to_owned(), json!([verb]))]);
    }
    api.delete(&ann, &post).await;
    for verb in ["likeContent", "unlikeContent"] {
        let payload = change(&api, Some(&ann), verb, &post).await["data"][verb].take();
        assert_eq!(payload["userErrors"], json!([{"code": "NOT_FOUND", "field": ["input", "contentId"]}]));
        assert_eq!(payload["content"], json!(null));
    }
    let other = change(&api, Some(&ann), "likeContent", &ann.id).await;
    assert_eq!(faults(&other), [("BAD_USER_INPUT".to_owned(), json!(["likeContent"]))]);
}

#[tokio::test]
async fn a_blocked_user_cannot_react() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&bob, "news").await;
    let block = "mutation($id: ID!) { blockUser(input: {userId: $id}) { userErrors { code } } }";
    api.data(Some(&bob), block, json!({ "id": ann.id })).await;
    let payload = change(&api, Some(&ann), "likeContent", &post).await["data"]["likeContent"].take();
    assert_eq!(payload["userErrors"], json!([{"code": "NOT_FOUND", "field": ["input", "contentId"]}]));
    let likes = "query($id: ID!) { content(id: $id) { likeCount likers { nodes { handle } } } }";
    let content = api.data(Some(&bob), likes, json!({ "id": post })).await;
    assert_eq!(content["content"], json!({"likeCount": 0, "likers": {"nodes": []}}));
}

#[tokio::test]
async fn ones_own_reaction_is_taken_back_behind_a_block() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&bob, "news").await;
    change(&api, Some(&ann), "bookmarkContent", &post).await;
    change(&api, Some(&ann), "likeContent", &post).await;
    api.block(&bob, &ann).await;
    for verb in ["unbookmarkContent", "unlikeContent"] {
        let payload = change(&api, Some(&ann), verb, &post).await["data"][verb].take();
        assert_eq!(payload, json!({"content": null, "userErrors": [], "clientMutationId": "c"}), "{verb}");
        let again = change(&api, Some(&ann), verb, &post).await["data"][verb].take();
        let refused = json!([{"code": "NOT_FOUND", "field": ["input", "contentId"]}]);
        assert_eq!(again["userErrors"], refused, "{verb}: there is nothing to take back");
    }
    let counters = "query($id: ID!) { content(id: $id) { likeCount bookmarkCount } }";
    let content = api.data(Some(&bob), counters, json!({ "id": post })).await;
    assert_eq!(content["content"], json!({"likeCount": 0, "bookmarkCount": 0}));
}
