//! Tests reposting, undoing a repost, and how a timeline folds reposts.

use serde_json::{Value, json};

use super::api::{Api, Person, faults};

async fn unrepost(api: &Api, viewer: &Person, content: &str) -> Value {
    let query = "mutation($id: ID!) { unrepostContent(input: {contentId: $id, clientMutationId: \"c\"}) {
        deletedContentId content { repostCount viewerHasReposted } userErrors { code } clientMutationId } }";
    api.data(Some(viewer), query, json!({ "id": content })).await["unrepostContent"].take()
}

fn id_of(payload: &Value) -> &str {
    payload["timelineEdge"]["node"]["id"].as_str().unwrap()
}

#[tokio::test]
async fn a_repost_shows_its_original_and_a_second_one_is_the_first() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&ann, "news").await;
    let first = api.repost(&bob, &post).await;
    let node = &first["timelineEdge"]["node"];
    assert_eq!(
        (&node["kind"], &node["repostOf"]["id"], &node["author"]["handle"]),
        (&json!("REPOST"), &json!(post), &json!("bob"))
    );
    assert_eq!(first["content"], json!({"id": post, "repostCount": 1, "viewerHasReposted": true}));
    assert_eq!((&first["userErrors"], &first["clientMutationId"]), (&json!([]), &json!("c")));
    assert_eq!(api.repost(&bob, &post).await, first, "the same entry, the same counters");
    let of_repost = api.repost(&ann, id_of(&first)).await;
    assert_eq!(
        of_repost["timelineEdge"]["node"]["repostOf"]["id"],
        json!(post),
        "a repost of a repost is one of the original"
    );
    assert_eq!(of_repost["content"]["repostCount"], 2);
}

#[tokio::test]
async fn a_repost_is_undone_by_either_id_and_only_once() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&ann, "news").await;
    let gone = json!({"repostCount": 0, "viewerHasReposted": false});
    for by_original in [true, false] {
        let repost = api.repost(&bob, &post).await;
        let named = if by_original { post.as_str() } else { id_of(&repost) };
        let taken = unrepost(&api, &bob, named).await;
        let expected =
            json!({"deletedContentId": id_of(&repost), "content": gone, "userErrors": [], "clientMutationId": "c"});
        assert_eq!(taken, expected);
        let again = unrepost(&api, &bob, named).await;
        assert_eq!((&again["deletedContentId"], &again["content"]), (&json!(null), &gone));
    }
    let repost = api.repost(&bob, &post).await;
    assert_eq!(unrepost(&api, &ann, id_of(&repost)).await["deletedContentId"], json!(null), "one's own only");
    api.delete(&ann, &post).await;
    let after = unrepost(&api, &bob, &post).await;
    assert_eq!((&after["deletedContentId"], &after["content"]), (&json!(id_of(&repost)), &json!(null)));
}

#[tokio::test]
async fn a_repost_of_a_missing_or_blocked_content_is_not_found() {
    let api = Api::new().await;
    let (ann, bob, cat) = (api.person("ann").await, api.person("bob").await, api.person("cat").await);
    let (deleted, kept) = (api.publish(&ann, "gone").await, api.publish(&ann, "kept").await);
    let repost = api.repost(&cat, &kept).await;
    api.delete(&ann, &deleted).await;
    api.block(&ann, &bob).await;
    let not_found = json!([{"code": "NOT_FOUND", "field": ["input", "contentId"]}]);
    for content in [deleted.as_str(), kept.as_str(), id_of(&repost), "C_AAAAAAAAAAE"] {
        let refused = api.repost(&bob, content).await;
        assert_eq!(
            (&refused["timelineEdge"], &refused["content"], &refused["userErrors"]),
            (&json!(null), &json!(null), &not_found)
        );
    }
    let seen = "query($id: ID!) { content(id: $id) { kind viewerHasReposted repostOf { text } } }";
    let seen = api.data(Some(&bob), seen, json!({"id": id_of(&repost)})).await;
    assert_eq!(seen["content"], json!({"kind": "REPOST", "viewerHasReposted": false, "repostOf": null}));
    let anonymous = api
        .ask(
            None,
            "mutation($id: ID!) { repostContent(input: {contentId: $id}) { content { id } } }",
            json!({"id": kept}),
        )
        .await;
    assert_eq!(faults(&anonymous), [("UNAUTHENTICATED".to_owned(), json!(["repostContent"]))]);
    let anonymous = api
        .ask(
            None,
            "mutation($id: ID!) { unrepostContent(input: {contentId: $id}) { content { id } } }",
            json!({"id": kept}),
        )
        .await;
    assert_eq!(faults(&anonymous), [("UNAUTHENTICATED".to_owned(), json!(["unrepostContent"]))]);
    let seen = api.data(None, "query($id: ID!) { content(id: $id) { viewerHasReposted } }", json!({"id": kept})).await;
    assert_eq!(seen["content"]["viewerHasReposted"], json!(null));
}

#[tokio::test]
async fn a_repost_of_a_muted_author_has_no_edge() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let post = api.publish(&bob, "news").await;
    let change =
        |verb: &str| format!("mutation($id: ID!) {{ {verb}(input: {{userId: $id}}) {{ userErrors {{ code }} }} }}");
    api.data(Some(&ann), &change("muteUser"), json!({ "id": bob.id })).await;
    let reposted = api.repost(&ann, &post).await;
    assert_eq!((&reposted["timelineEdge"], &reposted["content"]["viewerHasReposted"]), (&json!(null), &json!(true)));
    let timeline = "{ timeline(first: 3) { edges { node { subjectId } } oldestCreatedAt } }";
    let seen = api.data(Some(&ann), timeline, json!({})).await;
    assert_eq!(seen["timeline"], json!({"edges": [], "oldestCreatedAt": null}));
    api.data(Some(&ann), &change("unmuteUser"), json!({ "id": bob.id })).await;
    let seen = api.data(Some(&ann), timeline, json!({})).await;
    assert_eq!(seen["timeline"]["edges"], json!([{"node": {"subjectId": post}}]));
    assert!(api.repost(&ann, &post).await["timelineEdge"]["cursor"].is_string(), "now it is in the timeline");
}

#[tokio::test]
async fn a_timeline_folds_reposts_and_pages_past_the_folded_entries() {
    let api = Api::new().await;
    let (ann, bob, cat) = (api.person("ann").await, api.person("bob").await, api.person("cat").await);
    api.follow(&ann, &bob).await;
    api.follow(&ann, &cat).await;
    let old = api.publish(&bob, "old").await;
    let post = api.publish(&bob, "post").await;
    let first = api.repost(&cat, &post).await;
    let second = api.repost(&ann, &post).await;
    let page = async |arguments: &str| {
        let query = format!(
            "{{ timeline({arguments}) {{ edges {{ cursor node {{ id repostOf {{ text repostCount }} }} }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
        );
        api.data(Some(&ann), &query, json!({})).await["timeline"].take()
    };
    let ids = |page: &Value| {
        page["edges"].as_array().unwrap().iter().map(|edge| edge["node"]["id"].clone()).collect::<Vec<_>>()
    };
    let whole = page("first: 2").await;
    assert_eq!(ids(&whole), [json!(id_of(&second)), json!(old)], "filled up past two older ones");
    assert_eq!(whole["edges"][0]["node"]["repostOf"], json!({"text": "post", "repostCount": 2}));
    assert_eq!(
        (&whole["pageInfo"]["hasNextPage"], &whole["pageInfo"]["endCursor"]),
        (&json!(false), &whole["edges"][1]["cursor"])
    );
    api.delete(&bob, &old).await;
    let short = page("first: 2").await;
    assert_eq!((ids(&short), &short["pageInfo"]["hasNextPage"]), (vec![json!(id_of(&second))], &json!(false)));
    assert_ne!(short["pageInfo"]["endCursor"], short["edges"][0]["cursor"], "it lies behind what was left out");
    let after = format!("first: 2, after: {}", short["pageInfo"]["endCursor"]);
    assert_eq!(page(&after).await["edges"], json!([]));
    let one = page("first: 1").await;
    assert_eq!((ids(&one), &one["pageInfo"]["hasNextPage"]), (vec![json!(id_of(&second))], &json!(true)));
    let after = format!("first: 1, after: {}", one["pageInfo"]["endCursor"]);
    assert_eq!(
        ids(&page(&after).await),
        [json!(id_of(&first))],
        "an older entry of the same subject comes up on the next page"
    );
    let back = page("last: 1").await;
    assert_eq!((ids(&back), &back["pageInfo"]["hasPreviousPage"]), (vec![json!(post)], &json!(true)));
    assert_eq!(api.delete(&bob, &post).await["userErrors"], json!([]));
    let left = page("first: 2").await;
    assert_eq!(left["edges"].as_array().unwrap().len(), 1);
    assert_eq!(left["edges"][0]["node"], json!({"id": id_of(&second), "repostOf": null}));
}

#[tokio::test]
async fn reposts_do_not_show_muted_authors() {
    let api = Api::new().await;
    let (ann, bob, cat) = (api.person("ann").await, api.person("bob").await, api.person("cat").await);
    api.follow(&ann, &bob).await;
    let post = api.publish(&cat, "loud").await;
    api.repost(&bob, &post).await;
    let nodes = async || {
        api.data(Some(&ann), "{ timeline { nodes { repostOf { text } } } }", json!({})).await["timeline"]["nodes"]
            .take()
    };
    assert_eq!(nodes().await, json!([{"repostOf": {"text": "loud"}}]));
    let mute = "mutation($id: ID!) { muteUser(input: {userId: $id}) { userErrors { code } } }";
    api.data(Some(&ann), mute, json!({ "id": cat.id })).await;
    assert_eq!(nodes().await, json!([]));
}
