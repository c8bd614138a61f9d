//! Tests registering and signing in.

use serde_json::json;

use super::api::{Api, NOW, faults};

const REGISTER: &str = "mutation($input: RegisterUserInput!) { registerUser(input: $input) {
    user { handle name bio avatarUrl isViewer createdAt followerCount followingCount contentCount viewerIsFollowing }
    expiresAt userErrors { code field message } clientMutationId } }";
const SIGN_IN: &str = "mutation($input: SignInInput!) { signIn(input: $input) {
    user { id handle isViewer } token expiresAt userErrors { code field } clientMutationId } }";

#[tokio::test]
async fn a_new_user_is_the_viewer() {
    let api = Api::new().await;
    let input = json!({"handle": "Ann", "name": " Ann A. ", "password": "long enough", "bio": "hi",
        "avatarUrl": "https://a.example/a.png", "clientMutationId": "c1"});
    let payload = api.data(None, REGISTER, json!({ "input": input })).await["registerUser"].take();
    let user = json!({"handle": "ann", "name": "Ann A.", "bio": "hi", "avatarUrl": "https://a.example/a.png",
        "isViewer": true, "createdAt": "2026-11-21T09:30:00.000Z", "followerCount": 0, "followingCount": 0,
        "contentCount": 0, "viewerIsFollowing": null});
    let expected = json!({"user": user, "expiresAt": "2026-11-21T10:30:00.000Z", "userErrors": [],
        "clientMutationId": "c1"});
    assert_eq!(payload, expected);
}

#[tokio::test]
async fn a_registration_that_is_refused_says_which_field_is_at_fault() {
    let api = Api::new().await;
    api.person("ann").await;
    for (handle, password, code, field) in [
        ("ann", "long enough", "TAKEN", "handle"),
        ("@ANN", "long enough", "TAKEN", "handle"),
        ("a b", "long enough", "INVALID", "handle"),
        ("bob", "short", "INVALID", "password"),
    ] {
        let input = json!({"input": {"handle": handle, "name": "x", "password": password}});
        let payload = api.data(None, REGISTER, input).await["registerUser"].take();
        assert_eq!(payload["user"], json!(null), "{handle}");
        assert_eq!(payload["userErrors"][0]["code"], code, "{handle}");
        assert_eq!(payload["userErrors"][0]["field"], json!(["input", field]), "{handle}");
    }
}

#[tokio::test]
async fn a_registration_that_is_refused_names_every_field_at_fault_at_once() {
    let api = Api::new().await;
    let input =
        json!({"handle": "a b", "name": " ", "password": "short", "bio": "x".repeat(501), "avatarUrl": "ftp://a"});
    let payload = api.data(None, REGISTER, json!({ "input": input })).await["registerUser"].take();
    let errors = payload["userErrors"].as_array().unwrap().iter();
    let reported: Vec<_> =
        errors.map(|error| (error["field"][1].as_str().unwrap(), error["code"].as_str().unwrap())).collect();
    let all = ["handle", "name", "bio", "avatarUrl", "password"]
        .map(|field| (field, if field == "bio" { "TOO_LONG" } else { "INVALID" }));
    assert_eq!(reported, all);
}

#[tokio::test]
async fn a_closed_service_refuses_registrations() {
    let api = Api::with_registration(false).await;
    let input = json!({"input": {"handle": "ann", "name": "x", "password": "long enough"}});
    let payload = api.data(None, REGISTER, input).await["registerUser"].take();
    assert_eq!(payload["userErrors"][0]["code"], "NOT_ALLOWED");
    assert_eq!(payload["userErrors"][0]["field"], json!(null));
}

#[tokio::test]
async fn signing_in_gives_a_token_that_speaks_for_the_user() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let input = json!({"input": {"handle": "ann", "password": "long enough", "clientMutationId": "c2"}});
    let payload = api.data(None, SIGN_IN, input).await["signIn"].take();
    assert_eq!(payload["user"], json!({"id": ann.id, "handle": "ann", "isViewer": true}));
    assert_eq!(payload["clientMutationId"], "c2");
    let viewer = api.tokens.verify(payload["token"].as_str().unwrap()).unwrap();
    assert_eq!(viewer.good_until_ms, NOW + 3_600_000 + 5_000);
}

#[tokio::test]
async fn wrong_credentials_do_not_tell_what_is_wrong() {
    let api = Api::new().await;
    api.person("ann").await;
    let mut answers = Vec::new();
    for (handle, password) in [("ann", "wrong"), ("nobody", "long enough"), ("!", "")] {
        let input = json!({"input": {"handle": handle, "password": password}});
        answers.push(api.data(None, SIGN_IN, input).await["signIn"].take());
    }
    assert_eq!(answers[0]["userErrors"], json!([{"code": "WRONG_CREDENTIALS", "field": null}]));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[tokio::test]
async fn without_a_valid_token_there_is_no_viewer() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let query = "{ viewer { handle } }";
    assert_eq!(api.data(None, query, json!({})).await, json!({"viewer": null}));
    assert_eq!(api.data(Some(&ann), query, json!({})).await, json!({"viewer": {"handle": "ann"}}));
    api.clock.set(ann.viewer.good_until_ms);
    assert_eq!(api.data(Some(&ann), query, json!({})).await, json!({"viewer": null}));
    let timeline = api.ask(Some(&ann), "{ timeline { nodes { id } } }", json!({})).await;
    assert_eq!(faults(&timeline), [("UNAUTHENTICATED".to_owned(), json!(["timeline"]))]);
}

const DELETE: &str =
    "mutation($password: String) { deleteViewer(input: {password: $password, clientMutationId: \"c\"}) {
    deletedUserId endedSessionCount retryAt userErrors { code field } clientMutationId } }";

#[tokio::test]
async fn a_viewer_deletes_their_account_with_their_password() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&ann, "words").await;
    api.repost(&bob, &post).await;
    api.reply(&bob, &post, "an answer").await;
    for wrong in [json!("another password"), json!(null)] {
        let refused = api.data(Some(&ann), DELETE, json!({ "password": wrong })).await;
        let because = json!([{"code": "WRONG_CREDENTIALS", "field": ["input", "password"]}]);
        let expected = json!({"deletedUserId": null, "endedSessionCount": null, "retryAt": null, "userErrors": because, "clientMutationId": "c"});
        assert_eq!(refused["deleteViewer"], expected);
    }
    let gone = api.data(Some(&ann), DELETE, json!({"password": "long enough"})).await;
    let expected = json!({"deletedUserId": ann.id, "endedSessionCount": 1, "retryAt": null, "userErrors": [], "clientMutationId": "c"});
    assert_eq!(gone["deleteViewer"], expected);
    let query = "query($user: ID!, $post: ID!) { user(handle: \"ann\") { id } nodes(ids: [$user, $post]) { id }
        search(text: \"words\") { nodes { id } }
        timeline { nodes { kind repostOf { id } inReplyTo { id } ancestors { id } } } }";
    let seen = api.data(Some(&bob), query, json!({"user": ann.id, "post": post})).await;
    let entry = |kind, above| json!({"kind": kind, "repostOf": null, "inReplyTo": null, "ancestors": above});
    let nothing = json!({"user": null, "nodes": [null, null], "search": {"nodes": []}, "timeline": {"nodes": [entry("REPLY", json!([null])), entry("REPOST", json!([]))]}});
    assert_eq!(seen, nothing);
    let again = api.ask(Some(&ann), DELETE, json!({"password": "long enough"})).await;
    assert_eq!(faults(&again)[0].0, "UNAUTHENTICATED");
    let sign_in = "mutation { signIn(input: {handle: \"ann\", password: \"long enough\"}) { userErrors { code } } }";
    let refused = api.data(None, sign_in, json!({})).await;
    assert_eq!(refused["signIn"]["userErrors"][0]["code"], "WRONG_CREDENTIALS");
    let register = "mutation { registerUser(input: {handle: \"ann\", name: \"x\", password: \"long enough\"}) { userErrors { code } } }";
    let taken = api.data(None, register, json!({})).await;
    assert_eq!(taken["registerUser"]["userErrors"][0]["code"], "TAKEN");
}
