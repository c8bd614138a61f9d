//! Tests limits on the size of an answer.

use async_graphql::{Executor as _, Request};
use futures_util::StreamExt as _;
use graphql_transport::{
    measurements::MetricNames,
    memory::{AnswerBudget, DEFAULT_ANSWER_BYTES, Ledger, LedgerLimits},
};
use serde_json::{Value, json};

use super::api::{Api, Person, faults, request};

const TOO_LARGE: &str = "ANSWER_TOO_LARGE";
/// The longest text: 20,000 bytes.
const EMOJI: &str = "😀";
const CHARS: usize = 5_000;

/// A user with 100 contents of the longest text.
async fn wordy(api: &Api) -> Person {
    let ann = api.person("ann").await;
    for _ in 0..100 {
        api.publish(&ann, &EMOJI.repeat(CHARS)).await;
    }
    ann
}

fn within(most: usize, viewer: Option<&Person>, query: &str) -> Request {
    request(viewer, query, json!({})).data(AnswerBudget::new(
        most,
        Ledger::new("answers", LedgerLimits { node: usize::MAX, client: 0 }, MetricNames::default()).open([None, None]),
    ))
}

async fn ask(api: &Api, most: usize, viewer: &Person, query: &str) -> Value {
    serde_json::to_value(api.schema.execute(within(most, Some(viewer), query)).await).unwrap()
}

/// The answer, and its length as JSON.
async fn asked(api: &Api, viewer: &Person, query: &str) -> (usize, Value) {
    let answer = ask(api, DEFAULT_ANSWER_BYTES, viewer, query).await;
    (answer.to_string().len(), answer)
}

#[tokio::test]
async fn many_aliases_of_the_longest_texts_stop_before_they_are_made() {
    let api = Api::new().await;
    let ann = wordy(&api).await;
    let aliases = (0..48).map(|alias| format!("a{alias}: text ")).collect::<Vec<_>>().concat();
    let repeated = "text ".repeat(480);
    for texts in [aliases, repeated] {
        let query = format!("{{ timeline(first: 100) {{ edges {{ node {{ {texts} }} }} }} }}");
        let (bytes, answer) = asked(&api, &ann, &query).await;
        let faults = faults(&answer);
        assert_eq!(faults.len(), 1, "{bytes} bytes");
        let (code, path) = &faults[0];
        assert_eq!((code.as_str(), &answer["data"]), (TOO_LARGE, &Value::Null));
        // 8 MiB are 419 texts. It stops at the 420th, even if that one is merged with another field and not shown.
        let stopped_at = path[2].as_u64().unwrap();
        assert!(stopped_at <= 419 / 48, "{path}");
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains("8388608 bytes") && message.contains("smaller pages"), "{message}");
    }
    let page =
        "{ timeline(first: 100) { edges { cursor node { id text author { handle } } } pageInfo { endCursor } } }";
    let (bytes, answer) = asked(&api, &ann, page).await;
    assert_eq!(faults(&answer), [], "a page of 100 of the longest texts");
    assert!(bytes > 2_000_000, "{bytes}");
}

#[tokio::test]
async fn bytes_that_are_read_count_though_they_are_not_shown() {
    let api = Api::new().await;
    let ann = wordy(&api).await;
    let query = "{ timeline(first: 100) { edges { node { id } } } }";
    for (most, expected) in [(1_900_000, Some(TOO_LARGE)), (2_100_000, None)] {
        let answer = ask(&api, most, &ann, query).await;
        assert_eq!(faults(&answer).first().map(|(code, _)| code.as_str()), expected, "{most}");
    }
}

#[tokio::test]
async fn every_scalar_field_counts_itself() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let media =
        json!([{"kind": "PICTURE", "url": "https://a.example/1.png", "width": 640, "height": 480, "alt": "a cat"}]);
    let publish = "mutation($media: [MediaInput!]) { publishContent(input: {text: \"words\", media: $media}) { userErrors { code } } }";
    api.data(Some(&ann), publish, json!({ "media": media })).await;
    let update = "mutation { updateProfile(input: {bio: \"b\", avatarUrl: \"https://a.example/a\", attributes: [{key: \"k\", value: \"v\"}]}) { userErrors { code } } }";
    api.data(Some(&ann), update, json!({})).await;
    for (before, fields, after) in [
        (
            "timeline { nodes {",
            "id kind text createdAt viewerIsAuthor viewerHasLiked viewerHasBookmarked viewerHasReposted",
            "} }",
        ),
        ("timeline { nodes { media {", "kind url width height alt", "} } }"),
        ("timeline { nodes {", "replyCount likeCount repostCount bookmarkCount", "} }"),
        ("timeline { edges {", "cursor", "} }"),
        ("timeline {", "resumeToken", "}"),
        ("timeline { pageInfo {", "hasNextPage hasPreviousPage startCursor endCursor", "} }"),
        ("viewer { attributes {", "key value", "} }"),
        (
            "viewer {",
            "id handle name bio avatarUrl createdAt isViewer followerCount followingCount contentCount timelineReadMarker",
            "}",
        ),
    ] {
        for field in fields.split(' ') {
            let aliases: Vec<_> = (0..40).map(|alias| format!("an_alias_that_is_long_{alias}: {field} ")).collect();
            let aliases = aliases.concat();
            let answer = ask(&api, 700, &ann, &format!("{{ {before} {aliases} {after} }}")).await;
            assert_eq!(faults(&answer).first().map(|(code, _)| code.as_str()), Some(TOO_LARGE), "{before} {field}");
        }
    }
}

#[tokio::test]
async fn an_event_over_the_size_limit_ends_its_subscription() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let watch = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }";
    let mut feed = api.schema.execute_stream(within(3_000, Some(&ann), watch), None);
    let first = async {
        while api.hub.watching() == 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..3 {
            api.publish(&ann, &"x".repeat(2_000)).await;
        }
        api.publish(&ann, &"x".repeat(4_000)).await;
    };
    let events = async { feed.by_ref().collect::<Vec<_>>().await };
    let ((), events) = tokio::join!(first, events);
    let events: Vec<Value> = events.into_iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let codes: Vec<_> = events.iter().map(|event| faults(event).first().map(|(code, _)| code.clone())).collect();
    assert_eq!(codes, [None, None, None, Some(TOO_LARGE.to_owned())]);
}
