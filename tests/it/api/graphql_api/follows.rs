//! Tests following and unfollowing.

use serde_json::{Value, json};

use super::api::{Api, Person};

async fn change(api: &Api, reader: &Person, verb: &str, user: &str) -> Value {
    let query = format!(
        "mutation($id: ID!) {{ {verb}(input: {{userId: $id, clientMutationId: \"c\"}}) {{
            user {{ id viewerIsFollowing followerCount }} viewer {{ followingCount viewerIsFollowing }}
            userErrors {{ code field }} clientMutationId }} }}"
    );
    api.data(Some(reader), &query, json!({ "id": user })).await[verb].take()
}

#[tokio::test]
async fn the_payload_shows_what_following_has_changed() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let state = |following: bool, count: i64| {
        json!({"user": {"id": bob.id, "viewerIsFollowing": following, "followerCount": count},
            "viewer": {"followingCount": count, "viewerIsFollowing": null}, "userErrors": [], "clientMutationId": "c"})
    };
    assert_eq!(change(&api, &ann, "followUser", &bob.id).await, state(true, 1));
    assert_eq!(change(&api, &ann, "followUser", &bob.id).await, state(true, 1), "it is idempotent");
    assert_eq!(change(&api, &ann, "unfollowUser", &bob.id).await, state(false, 0));
    assert_eq!(change(&api, &ann, "unfollowUser", &bob.id).await, state(false, 0), "it is idempotent");
}

#[tokio::test]
async fn several_changes_in_one_request_are_each_shown_as_they_were_made() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let query = "mutation($id: ID!) {
        a: followUser(input: {userId: $id}) { user { viewerIsFollowing followerCount } }
        b: unfollowUser(input: {userId: $id}) { user { viewerIsFollowing followerCount } }
        c: followUser(input: {userId: $id}) { user { viewerIsFollowing followerCount } } }";
    let shown = api.data(Some(&ann), query, json!({"id": bob.id})).await;
    let state = |following: bool, count: i64| json!({"user": {"viewerIsFollowing": following, "followerCount": count}});
    assert_eq!(shown, json!({"a": state(true, 1), "b": state(false, 0), "c": state(true, 1)}));
}

#[tokio::test]
async fn unknown_users_cannot_be_followed_and_oneself_not_unfollowed() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let stranger = "U_AAAAAAAAAAE";
    for verb in ["followUser", "unfollowUser"] {
        let payload = change(&api, &ann, verb, stranger).await;
        assert_eq!(payload["userErrors"], json!([{"code": "NOT_FOUND", "field": ["input", "userId"]}]), "{verb}");
        assert_eq!(payload["user"], json!(null), "{verb}");
    }
    let oneself = change(&api, &ann, "unfollowUser", &ann.id).await;
    assert_eq!(oneself["userErrors"][0]["code"], "NOT_ALLOWED");
}

#[tokio::test]
async fn an_unfollowed_author_is_gone_from_the_timeline_and_comes_back_whole() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&bob, "before anybody followed").await;
    let timeline =
        async || api.data(Some(&ann), "{ timeline { nodes { id author { viewerIsFollowing } } } }", json!({})).await;
    assert_eq!(timeline().await["timeline"]["nodes"], json!([]));
    api.follow(&ann, &bob).await;
    let followed = json!([{"id": post, "author": {"viewerIsFollowing": true}}]);
    assert_eq!(timeline().await["timeline"]["nodes"], followed);
    change(&api, &ann, "unfollowUser", &bob.id).await;
    assert_eq!(timeline().await["timeline"]["nodes"], json!([]));
    api.follow(&ann, &bob).await;
    assert_eq!(timeline().await["timeline"]["nodes"], followed);
}
