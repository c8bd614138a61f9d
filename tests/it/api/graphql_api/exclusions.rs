//! Tests muting, hiding and blocking.

use serde_json::{Value, json};

use super::api::{Api, Person};

async fn change(api: &Api, viewer: &Person, verb: &str, user: &str) -> Value {
    let query = format!(
        "mutation($id: ID!) {{ {verb}(input: {{userId: $id, clientMutationId: \"c\"}}) {{
            user {{ id viewerHasMuted viewerHasBlocked viewerIsHiding followerCount }} viewer {{ followingCount viewerHasMuted }}
            userErrors {{ code field }} clientMutationId }} }}"
    );
    api.data(Some(viewer), &query, json!({ "id": user })).await[verb].take()
}

async fn texts(api: &Api, reader: &Person) -> Vec<String> {
    let page = api.data(Some(reader), "{ timeline { nodes { text } } }", json!({})).await;
    let nodes = page["timeline"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_change_is_shown_in_its_payload_and_is_idempotent() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    for (verb, [muted, blocked, hiding]) in [
        ("muteUser", [true, false, false]),
        ("hideFromFollower", [true, false, true]),
        ("unmuteUser", [false, false, true]),
        ("blockUser", [false, true, true]),
        ("unhideFromFollower", [false, true, false]),
        ("unblockUser", [false, false, false]),
    ] {
        let user = json!({"id": bob.id, "viewerHasMuted": muted, "viewerHasBlocked": blocked, "viewerIsHiding": hiding, "followerCount": 0});
        let viewer = json!({"followingCount": 0, "viewerHasMuted": null});
        let expected = json!({"user": user, "viewer": viewer, "userErrors": [], "clientMutationId": "c"});
        assert_eq!(change(&api, &ann, verb, &bob.id).await, expected, "{verb}");
        assert_eq!(change(&api, &ann, verb, &bob.id).await, expected, "{verb} again");
    }
}

#[tokio::test]
async fn users_cannot_exclude_themselves_or_unknown_users() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for verb in ["muteUser", "hideFromFollower", "blockUser"] {
        let oneself = change(&api, &ann, verb, &ann.id).await;
        assert_eq!(oneself["userErrors"], json!([{"code": "NOT_ALLOWED", "field": ["input", "userId"]}]), "{verb}");
        let stranger = change(&api, &ann, verb, "U_AAAAAAAAAAE").await;
        assert_eq!(stranger["userErrors"], json!([{"code": "NOT_FOUND", "field": ["input", "userId"]}]), "{verb}");
        assert_eq!(stranger["user"], json!(null), "{verb}");
    }
    let lifted = change(&api, &ann, "unmuteUser", "U_AAAAAAAAAAE").await;
    assert_eq!(lifted["userErrors"][0]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn mutes_and_hides_are_about_timelines_and_leave_pages_open() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    let post = api.publish(&bob, "words").await;
    let elsewhere =
        "query($id: ID!) { content(id: $id) { text } user(handle: \"bob\") { contents { nodes { text } } } }";
    let open = json!({"content": {"text": "words"}, "user": {"contents": {"nodes": [{"text": "words"}]}}});
    for (who, whom, verb, undo) in
        [(&ann, &bob, "muteUser", "unmuteUser"), (&bob, &ann, "hideFromFollower", "unhideFromFollower")]
    {
        change(&api, who, verb, &whom.id).await;
        assert_eq!(texts(&api, &ann).await, Vec::<String>::new(), "{verb}");
        assert_eq!(api.data(Some(&ann), elsewhere, json!({ "id": post })).await, open, "{verb}");
        change(&api, who, undo, &whom.id).await;
        assert_eq!(texts(&api, &ann).await, ["words"], "{undo}");
    }
}

#[tokio::test]
async fn a_block_shuts_every_way_to_the_others_contents_for_both() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    api.follow(&bob, &ann).await;
    let of_ann = api.publish(&ann, "of ann").await;
    let of_bob = api.publish(&bob, "of bob").await;
    change(&api, &ann, "blockUser", &bob.id).await;
    let query =
        "query($id: ID!, $handle: String!) { content(id: $id) { text } node(id: $id) { id } nodes(ids: [$id]) { id }
        user(handle: $handle) { handle contents { nodes { text } pageInfo { hasNextPage } } } }";
    for (viewer, id, handle) in [(&ann, &of_bob, "bob"), (&bob, &of_ann, "ann")] {
        let contents = json!({"nodes": [], "pageInfo": {"hasNextPage": false}});
        let shut =
            json!({"content": null, "node": null, "nodes": [null], "user": {"handle": handle, "contents": contents}});
        let variables = json!({"id": id, "handle": handle});
        assert_eq!(api.data(Some(viewer), query, variables.clone()).await, shut, "{handle}");
        assert_ne!(api.data(None, query, variables).await["content"], json!(null), "others see it");
    }
    assert_eq!(texts(&api, &ann).await, ["of ann"]);
    for (reader, author) in [(&ann, &bob), (&bob, &ann)] {
        let follow = "mutation($id: ID!) { followUser(input: {userId: $id}) { user { id } viewer { followingCount } userErrors { code field } } }";
        let refused = api.data(Some(reader), follow, json!({"id": author.id})).await;
        let expected = json!({"user": null, "viewer": {"followingCount": 0}, "userErrors": [{"code": "NOT_ALLOWED", "field": ["input", "userId"]}]});
        assert_eq!(refused["followUser"], expected);
    }
    change(&api, &ann, "unblockUser", &bob.id).await;
    assert_eq!(texts(&api, &ann).await, ["of ann"], "who was followed before has to be followed anew");
    api.follow(&ann, &bob).await;
    assert_eq!(texts(&api, &ann).await, ["of bob", "of ann"]);
}

#[tokio::test]
async fn only_the_viewer_sees_their_own_exclusions() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    for handle in ["bob", "cid", "dan"] {
        let other = api.person(handle).await;
        api.clock.advance(1);
        for verb in ["muteUser", "hideFromFollower", "blockUser"] {
            change(&api, &ann, verb, &other.id).await;
        }
    }
    for list in ["mutedUsers", "blockedUsers", "hiddenFollowers"] {
        let query = format!(
            "query($after: String) {{ user(handle: \"ann\") {{ {list}(first: 2, after: $after) {{
                edges {{ cursor node {{ handle }} }} nodes {{ handle }} pageInfo {{ hasNextPage endCursor }} }} }} }}"
        );
        let first = api.data(Some(&ann), &query, json!({})).await["user"][list].take();
        assert_eq!(first["nodes"], json!([{"handle": "bob"}, {"handle": "cid"}]), "{list}");
        assert_eq!(first["pageInfo"], json!({"hasNextPage": true, "endCursor": first["edges"][1]["cursor"]}));
        let second =
            api.data(Some(&ann), &query, json!({"after": first["pageInfo"]["endCursor"]})).await["user"][list].take();
        assert_eq!(second["nodes"], json!([{"handle": "dan"}]), "{list}");
        assert_eq!(second["pageInfo"]["hasNextPage"], false);
        assert_eq!(api.data(None, &query, json!({})).await["user"][list], json!(null), "{list}");
    }
}
