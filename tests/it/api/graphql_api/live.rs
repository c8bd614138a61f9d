//! Tests `newFeed`.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::api::{Api, Person, faults};

const WATCH: &str = "subscription { newFeed { __typename ... on ContentRemoved { contentId }
    ... on EntryAdded { timelineEdge { cursor node { id text author { handle viewerIsFollowing } likeCount } } } } }";

async fn next(feed: &mut (impl Stream<Item = Value> + Unpin)) -> Option<Value> {
    timeout(Duration::from_mins(2), feed.next()).await.unwrap()
}

/// Polls `feed` until there is one more watcher. Its first event would keep it waiting.
async fn begun(api: &Api, feed: &mut (impl Stream<Item = Value> + Unpin)) {
    let before = api.hub.watching();
    let watching = async {
        while api.hub.watching() <= before {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        event = feed.next() => assert_eq!(event, None, "nothing has happened yet"),
        () = watching => {}
    }
}

#[tokio::test]
async fn a_feed_tells_of_new_contents_of_removals_and_of_changed_follows() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    let mut feed = api.watch(Some(&ann), WATCH);
    begun(&api, &mut feed).await;
    let post = api.publish(&bob, "news").await;
    let added = next(&mut feed).await.unwrap();
    let payload = &added["data"]["newFeed"];
    let node =
        json!({"id": post, "text": "news", "author": {"handle": "bob", "viewerIsFollowing": true}, "likeCount": 0});
    assert_eq!(payload["timelineEdge"]["node"], node);
    assert_eq!(payload["__typename"], "EntryAdded");
    let timeline = api.data(Some(&ann), "{ timeline { edges { cursor } } }", json!({})).await;
    assert_eq!(timeline["timeline"]["edges"][0]["cursor"], payload["timelineEdge"]["cursor"]);
    api.delete(&bob, &post).await;
    let removed = json!({"__typename": "ContentRemoved", "contentId": post});
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], removed);
    let cid = api.person("cid").await;
    api.follow(&ann, &cid).await;
    let refetch = json!({"__typename": "RefetchNeeded"});
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], refetch, "nobody knows what this client holds");
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], json!({"__typename": "RelationChanged"}));
    api.publish(&cid, "watched from now on").await;
    assert_eq!(
        next(&mut feed).await.unwrap()["data"]["newFeed"]["timelineEdge"]["node"]["text"],
        "watched from now on"
    );
}

#[tokio::test]
async fn a_comparing_client_learns_when_its_copy_may_differ() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    for author in [&bob, &cid] {
        api.follow(&ann, author).await;
    }
    let page = api.data(Some(&ann), "{ timeline { resumeToken } }", json!({})).await;
    let token = page["timeline"]["resumeToken"].as_str().unwrap();
    let missed = api.publish(&bob, "while nobody listened").await;
    let document = format!(
        "subscription {{ newFeed(after: \"{token}\", compares: true) {{ __typename ... on ContentRemoved {{ contentId }}
            ... on EntryAdded {{ timelineEdge {{ node {{ id }} }} }} }} }}"
    );
    let mut feed = api.watch(Some(&ann), &document);
    let mut next_event = async || next(&mut feed).await.unwrap()["data"]["newFeed"].take();
    let added = |id: &str| json!({"__typename": "EntryAdded", "timelineEdge": {"node": {"id": id}}});
    let removed = |id: &str| json!({"__typename": "ContentRemoved", "contentId": id});
    let may_differ = json!({"__typename": "TimelineMayDiffer"});
    assert_eq!(next_event().await, added(&missed));
    assert_eq!(next_event().await, may_differ, "what was missed has been sent");
    let act = async |by: &Person, verb: &str, input: Value| {
        let (first, others) = verb.split_at(1);
        let kind = format!("{}{others}Input", first.to_uppercase());
        let document = format!("mutation($input: {kind}!) {{ {verb}(input: $input) {{ userErrors {{ code }} }} }}");
        api.data(Some(by), &document, json!({ "input": input })).await;
    };
    api.clock.advance(1);
    act(&cid, "repostContent", json!({ "contentId": missed })).await;
    let repost = next_event().await["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned();
    assert_eq!(next_event().await, removed(&missed), "folded");
    api.delete(&bob, &missed).await;
    assert_eq!(next_event().await, may_differ, "a list of posts still shows it");
    act(&ann, "muteUser", json!({ "userId": cid.id })).await;
    assert_eq!(next_event().await["__typename"], "AuthorRemoved", "all of theirs are gone");
    assert_eq!(next_event().await, may_differ);
    act(&ann, "unmuteUser", json!({ "userId": cid.id })).await;
    assert_eq!(next_event().await, added(&repost));
    assert_eq!(next_event().await, may_differ, "no event reports what has come back further down");
}

#[tokio::test]
async fn a_content_deleted_before_its_event_is_announced_as_removed_only() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let mut feed = api.watch(Some(&ann), WATCH);
    begun(&api, &mut feed).await;
    let post = api.publish(&ann, "slip of the pen").await;
    api.delete(&ann, &post).await;
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"]["contentId"], json!(post));
}

#[tokio::test]
async fn a_feed_omits_excluded_authors_and_each_change_needs_a_refetch() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    let mut feed = api.watch(Some(&ann), WATCH);
    begun(&api, &mut feed).await;
    let refetch = json!({"__typename": "RefetchNeeded"});
    for (who, whom, verb, undo) in
        [(&ann, &bob, "muteUser", "unmuteUser"), (&bob, &ann, "hideFromFollower", "unhideFromFollower")]
    {
        let changed = async |verb: &str| {
            let query = format!("mutation($id: ID!) {{ {verb}(input: {{userId: $id}}) {{ userErrors {{ code }} }} }}");
            api.data(Some(who), &query, json!({ "id": whom.id })).await;
        };
        changed(verb).await;
        assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], refetch, "{verb}");
        api.publish(&bob, "unseen").await;
        let own = api.publish(&ann, "own").await;
        assert_eq!(
            next(&mut feed).await.unwrap()["data"]["newFeed"]["timelineEdge"]["node"]["id"],
            json!(own),
            "{verb}"
        );
        changed(undo).await;
        assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], refetch, "{undo}");
        let seen = api.publish(&bob, "seen").await;
        assert_eq!(
            next(&mut feed).await.unwrap()["data"]["newFeed"]["timelineEdge"]["node"]["id"],
            json!(seen),
            "{undo}"
        );
    }
    let block = "mutation($id: ID!) { blockUser(input: {userId: $id}) { userErrors { code } } }";
    api.data(Some(&bob), block, json!({"id": ann.id})).await;
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], refetch, "the blocked reader is asked to read again");
}

#[tokio::test]
async fn the_anonymous_watch_nothing() {
    let api = Api::new().await;
    let mut feed = api.watch(None, WATCH);
    let refused = next(&mut feed).await.unwrap();
    assert_eq!(faults(&refused), [("UNAUTHENTICATED".to_owned(), json!(["newFeed"]))]);
    assert_eq!(next(&mut feed).await, None);
}

#[tokio::test]
async fn a_feed_ends_with_its_token() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    api.clock.set(ann.viewer.good_until_ms - 10_000);
    let mut feed = api.watch(Some(&ann), WATCH);
    begun(&api, &mut feed).await;
    tokio::time::pause();
    let last = next(&mut feed).await.unwrap();
    assert_eq!(faults(&last), [("UNAUTHENTICATED".to_owned(), json!(["newFeed"]))]);
    assert_eq!(next(&mut feed).await, None);
    assert_eq!(api.hub.subscribers(), 0, "nothing is left behind");
}

#[tokio::test]
async fn blocks_decide_who_sees_what_a_live_reply_answers() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let (cat, dan) = (api.person("cat").await, api.person("dan").await);
    let post = api.publish(&dan, "post").await;
    for reader in [&ann, &bob] {
        api.follow(reader, &cat).await;
    }
    api.block(&bob, &dan).await;
    let watch = "subscription { newFeed { ... on EntryAdded { timelineEdge { node { text inReplyTo { text } } } } } }";
    let mut feeds = [api.watch(Some(&ann), watch), api.watch(Some(&bob), watch)];
    for feed in &mut feeds {
        begun(&api, feed).await;
    }
    api.reply(&cat, &post, "reply").await;
    let mut shown = Vec::new();
    for feed in &mut feeds {
        shown.push(next(feed).await.unwrap()["data"]["newFeed"]["timelineEdge"]["node"].take());
    }
    let expected =
        [json!({"text": "reply", "inReplyTo": {"text": "post"}}), json!({"text": "reply", "inReplyTo": null})];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn followers_learn_of_a_deleted_account() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    api.publish(&bob, "words").await;
    let watch = "subscription { newFeed { __typename ... on AuthorRemoved { authorId } } }";
    let mut feed = api.watch(Some(&ann), watch);
    begun(&api, &mut feed).await;
    let delete = "mutation { deleteViewer(input: {password: \"long enough\"}) { userErrors { code } } }";
    assert_eq!(api.data(Some(&bob), delete, json!({})).await["deleteViewer"]["userErrors"], json!([]));
    let event = next(&mut feed).await.unwrap()["data"]["newFeed"].take();
    assert_eq!(event, json!({"__typename": "AuthorRemoved", "authorId": bob.id}));
}
