//! newFeed.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::api::{Api, faults};

const WATCH: &str = "subscription { newFeed { refetch removedContentId readMarker
    timelineEdge { cursor node { id text author { handle viewerIsFollowing } counters { likes } } } } }";

async fn next(feed: &mut (impl Stream<Item = Value> + Unpin)) -> Option<Value> {
    timeout(Duration::from_mins(2), feed.next()).await.unwrap()
}

/// Polls `feed` until one more than before watches, which its first event would wait for.
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
    let node = json!({"id": post, "text": "news", "author": {"handle": "bob", "viewerIsFollowing": true}, "counters": {"likes": 0}});
    assert_eq!(payload["timelineEdge"]["node"], node);
    assert_eq!((&payload["refetch"], &payload["removedContentId"]), (&json!(false), &json!(null)));
    let timeline = api.data(Some(&ann), "{ timeline { edges { cursor } } }", json!({})).await;
    assert_eq!(timeline["timeline"]["edges"][0]["cursor"], payload["timelineEdge"]["cursor"]);
    api.delete(&bob, &post).await;
    let removed = json!({"refetch": false, "removedContentId": post, "readMarker": null, "timelineEdge": null});
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], removed);
    let cid = api.person("cid").await;
    api.follow(&ann, &cid).await;
    let refetch = json!({"refetch": true, "removedContentId": null, "readMarker": null, "timelineEdge": null});
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], refetch, "nobody knows what this client holds");
    let relation = json!({"refetch": false, "removedContentId": null, "readMarker": null, "timelineEdge": null});
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], relation);
    api.publish(&cid, "watched from now on").await;
    assert_eq!(
        next(&mut feed).await.unwrap()["data"]["newFeed"]["timelineEdge"]["node"]["text"],
        "watched from now on"
    );
}

#[tokio::test]
async fn a_content_that_is_gone_before_it_is_shown_is_told_as_removed_only() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let mut feed = api.watch(Some(&ann), WATCH);
    begun(&api, &mut feed).await;
    let post = api.publish(&ann, "slip of the pen").await;
    api.delete(&ann, &post).await;
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"]["removedContentId"], json!(post));
}

#[tokio::test]
async fn a_feed_is_silent_about_whoever_is_kept_out_and_asks_for_a_refetch_at_each_change() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    let mut feed = api.watch(Some(&ann), WATCH);
    begun(&api, &mut feed).await;
    let refetch = json!({"refetch": true, "removedContentId": null, "readMarker": null, "timelineEdge": null});
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
    assert_eq!(next(&mut feed).await.unwrap()["data"]["newFeed"], refetch, "the blocked reader is told to read again");
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
    let last = next(&mut feed).await.unwrap();
    assert_eq!(faults(&last), [("UNAUTHENTICATED".to_owned(), json!(["newFeed"]))]);
    assert_eq!(next(&mut feed).await, None);
    assert_eq!(api.hub.subscribers(), 0, "nothing is left behind");
}

#[tokio::test]
async fn what_a_reply_answers_is_shown_to_each_watcher_as_a_block_allows() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let (cat, dan) = (api.person("cat").await, api.person("dan").await);
    let post = api.publish(&dan, "post").await;
    for reader in [&ann, &bob] {
        api.follow(reader, &cat).await;
    }
    api.block(&bob, &dan).await;
    let watch = "subscription { newFeed { timelineEdge { node { text inReplyTo { text } } } } }";
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
