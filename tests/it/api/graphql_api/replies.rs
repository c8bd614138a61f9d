//! Tests replies and threads.

use serde_json::{Value, json};

use super::api::{Api, Person, faults};

async fn replies(api: &Api, viewer: Option<&Person>, content: &str, arguments: &str) -> Value {
    let query = format!(
        "query($id: ID!) {{ content(id: $id) {{ replyCount replies({arguments}) {{
            edges {{ cursor node {{ text inReplyTo {{ id }} }} }} nodes {{ text }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
    );
    api.data(viewer, &query, json!({ "id": content })).await["content"].take()
}

fn texts(content: &Value) -> Vec<&str> {
    content["replies"]["nodes"].as_array().unwrap().iter().map(|node| node["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_reply_is_a_content_in_the_timeline_and_in_the_thread() {
    let api = Api::new().await;
    let (ann, bob, cat) = (api.person("ann").await, api.person("bob").await, api.person("cat").await);
    api.follow(&cat, &bob).await;
    let post = api.publish(&ann, "post").await;
    api.reply(&bob, &post, "reply").await;
    let seen = api
        .data(Some(&cat), "{ timeline { nodes { kind text inReplyTo { text author { handle } } } } }", json!({}))
        .await;
    let expected =
        json!([{"kind": "REPLY", "text": "reply", "inReplyTo": {"text": "post", "author": {"handle": "ann"}}}]);
    assert_eq!(seen["timeline"]["nodes"], expected);
    let thread = replies(&api, None, &post, "first: 20").await;
    assert_eq!((texts(&thread), &thread["replyCount"]), (vec!["reply"], &json!(1)));
    assert_eq!(thread["replies"]["edges"][0]["node"]["inReplyTo"]["id"], json!(post));
    api.delete(&ann, &post).await;
    let seen = api.data(Some(&cat), "{ timeline { nodes { text inReplyTo { text } } } }", json!({})).await;
    assert_eq!(seen["timeline"]["nodes"], json!([{"text": "reply", "inReplyTo": null}]));
}

#[tokio::test]
async fn a_thread_is_read_oldest_first_without_gap_or_repetition() {
    let api = Api::new().await;
    let (ann, bob, cat) = (api.person("ann").await, api.person("bob").await, api.person("cat").await);
    let post = api.publish(&ann, "post").await;
    let mut ids = Vec::new();
    for (author, text) in [(&bob, "one"), (&cat, "two"), (&bob, "three"), (&ann, "four"), (&bob, "five")] {
        ids.push(api.reply(author, &post, text).await);
    }
    api.reply(&cat, &ids[0], "below").await;
    api.delete(&bob, &ids[2]).await;
    api.block(&ann, &cat).await;
    let first = replies(&api, Some(&ann), &post, "first: 2").await;
    assert_eq!((texts(&first), &first["replyCount"]), (vec!["one", "four"], &json!(4)));
    let info = &first["replies"]["pageInfo"];
    assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(true), &json!(false)));
    assert_eq!(
        (&info["startCursor"], &info["endCursor"]),
        (&first["replies"]["edges"][0]["cursor"], &first["replies"]["edges"][1]["cursor"])
    );
    let next = replies(&api, Some(&ann), &post, &format!("first: 2, after: {}", info["endCursor"])).await;
    let info = &next["replies"]["pageInfo"];
    assert_eq!(
        (texts(&next), &info["hasNextPage"], &info["hasPreviousPage"]),
        (vec!["five"], &json!(false), &json!(true))
    );
    assert_eq!(texts(&replies(&api, None, &post, "first: 20").await), ["one", "two", "four", "five"]);
    let wrong = api
        .ask(
            None,
            "query($id: ID!) { content(id: $id) { text replies(first: 0) { nodes { id } } } }",
            json!({"id": post}),
        )
        .await;
    assert_eq!(faults(&wrong), [("BAD_USER_INPUT".to_owned(), json!(["content", "replies"]))]);
    assert_eq!(wrong["data"]["content"]["text"], "post");
}

#[tokio::test]
async fn ancestors_begin_at_the_root_with_nulls_for_hidden_contents() {
    let api = Api::new().await;
    let (ann, bob, cat) = (api.person("ann").await, api.person("bob").await, api.person("cat").await);
    let root = api.publish(&ann, "root").await;
    let one = api.reply(&bob, &root, "one").await;
    let two = api.reply(&cat, &one, "two").await;
    let three = api.reply(&ann, &two, "three").await;
    let query = "query($id: ID!) { content(id: $id) { ancestors { text author { handle } } } }";
    let of = async |viewer: Option<&Person>, id: &str| {
        api.data(viewer, query, json!({ "id": id })).await["content"]["ancestors"].take()
    };
    let shown = |text: &str, handle: &str| json!({"text": text, "author": {"handle": handle}});
    assert_eq!(of(None, &three).await, json!([shown("root", "ann"), shown("one", "bob"), shown("two", "cat")]));
    assert_eq!(of(None, &root).await, json!([]));
    api.delete(&bob, &one).await;
    api.block(&cat, &ann).await;
    assert_eq!(of(Some(&ann), &three).await, json!([shown("root", "ann"), null, null]));
}

#[tokio::test]
async fn a_reply_to_a_missing_or_blocked_content_is_not_found() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let (deleted, kept) = (api.publish(&ann, "gone").await, api.publish(&ann, "kept").await);
    api.delete(&ann, &deleted).await;
    api.block(&ann, &bob).await;
    let query = "mutation($to: ID!) { publishContent(input: {text: \"reply\", replyTo: $to}) { timelineEdge { cursor } userErrors { code field } } }";
    let not_found = json!({"timelineEdge": null, "userErrors": [{"code": "NOT_FOUND", "field": ["input", "replyTo"]}]});
    for to in [deleted.as_str(), kept.as_str(), "C_AAAAAAAAAAE"] {
        let refused = api.data(Some(&bob), query, json!({ "to": to })).await;
        assert_eq!(refused["publishContent"], not_found);
    }
    assert_eq!(faults(&api.ask(Some(&bob), query, json!({ "to": ann.id })).await)[0].0, "BAD_USER_INPUT");
    assert_eq!(faults(&api.ask(None, query, json!({ "to": kept })).await)[0].0, "UNAUTHENTICATED");
    let repost = api.repost(&ann, &kept).await;
    let answered = api.reply(&ann, repost["timelineEdge"]["node"]["id"].as_str().unwrap(), "to the original").await;
    let seen =
        api.data(None, "query($id: ID!) { content(id: $id) { inReplyTo { id } } }", json!({ "id": answered })).await;
    assert_eq!(seen["content"]["inReplyTo"]["id"], json!(kept));
}
