//! Tests `newFeed(after:)`: the missed events come first, in order and once, or the client is asked to refetch.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::api::{Api, Person, faults};

const FIELDS: &str = "__typename ... on EntryAdded { timelineEdge { cursor node { id text } } resumeToken }
    ... on ContentRemoved { contentId resumeToken } ... on AuthorRemoved { authorId resumeToken }
    ... on RelationChanged { viewerIsFollowing user { handle } resumeToken } ... on RefetchNeeded { reason }";

fn feed(api: &Api, viewer: &Person, after: &Value) -> impl Stream<Item = Value> + Unpin + use<> {
    let query = format!("subscription($after: String) {{ newFeed(after: $after) {{ {FIELDS} }} }}");
    api.watch_with(Some(viewer), &query, json!({ "after": after }))
}

async fn next(feed: &mut (impl Stream<Item = Value> + Unpin)) -> Value {
    let mut event = timeout(Duration::from_mins(2), feed.next()).await.unwrap().unwrap();
    assert_eq!(event.get("errors"), None, "{event:#}");
    event["data"]["newFeed"].take()
}

/// An event in short: `+text`, `+id` without a text, `-id`, `-author`, `following handle` or `refetch REASON`.
fn brief(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match event["__typename"].as_str().unwrap() {
        "EntryAdded" => {
            let node = &event["timelineEdge"]["node"];
            format!("+{}", text(if node["text"] == "" { &node["id"] } else { &node["text"] }))
        }
        "ContentRemoved" => format!("-{}", text(&event["contentId"])),
        "AuthorRemoved" => format!("-{}", text(&event["authorId"])),
        "RelationChanged" => {
            let word = if event["viewerIsFollowing"] == true { "following" } else { "not following" };
            format!("{word} {}", text(&event["user"]["handle"]))
        }
        "RefetchNeeded" => format!("refetch {}", text(&event["reason"])),
        other => other.to_owned(),
    }
}

/// Fails if an event waits: publishes a content, whose event must be the next one. Returns its resume token.
async fn quiet(api: &Api, author: &Person, feed: &mut (impl Stream<Item = Value> + Unpin)) -> Value {
    let (_, event) = tokio::join!(api.publish(author, "after all"), next(feed));
    assert_eq!(brief(&event), "+after all");
    event["resumeToken"].clone()
}

async fn page(api: &Api, viewer: &Person) -> Value {
    let query = "{ timeline(first: 3) { resumeToken edges { cursor node { id } } } }";
    api.data(Some(viewer), query, json!({})).await["timeline"].take()
}

#[tokio::test]
async fn missed_entries_come_first_in_order_and_once() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    let old = api.publish(&bob, "old").await;
    api.publish(&bob, "kept").await;
    let token = page(&api, &ann).await["resumeToken"].clone();
    api.publish(&bob, "one").await;
    api.delete(&bob, &old).await;
    api.publish(&bob, "two").await;
    let mut first = feed(&api, &ann, &token);
    let removed = next(&mut first).await;
    assert_eq!(brief(&removed), format!("-{old}"));
    let one = next(&mut first).await;
    assert_eq!(brief(&one), "+one");
    assert_eq!(brief(&next(&mut first).await), "+two");
    let last = quiet(&api, &bob, &mut first).await;
    // The client disconnects in the middle of the catch-up. No event comes twice, and none is lost.
    let mut second = feed(&api, &ann, &one["resumeToken"]);
    assert_eq!(brief(&next(&mut second).await), "+two");
    assert_eq!(brief(&next(&mut second).await), "+after all");
    let mut third = feed(&api, &ann, &last);
    drop(first);
    let begun = async {
        while api.hub.watching() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        event = third.next() => panic!("nothing was missed: {event:?}"),
        () = begun => {}
    }
    quiet(&api, &bob, &mut third).await;
}

#[tokio::test]
async fn follows_and_unfollows_during_an_absence_are_caught_up() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    api.follow(&ann, &bob).await;
    let gone = api.publish(&bob, "of bob").await;
    api.publish(&cid, "of cid").await;
    let token = page(&api, &ann).await["resumeToken"].clone();
    api.unfollow(&ann, &bob).await;
    api.follow(&ann, &cid).await;
    let mut feed = feed(&api, &ann, &token);
    assert_eq!(brief(&next(&mut feed).await), format!("-{gone}"));
    assert_eq!(brief(&next(&mut feed).await), "+of cid");
    quiet(&api, &ann, &mut feed).await;
}

#[tokio::test]
async fn changes_of_relations_on_another_device_arrive_with_their_contents() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.publish(&bob, "of bob").await;
    let mut feed = feed(&api, &ann, &page(&api, &ann).await["resumeToken"]);
    let (_, event) = tokio::join!(api.publish(&ann, "begun"), next(&mut feed));
    assert_eq!(brief(&event), "+begun");
    api.follow(&ann, &bob).await;
    assert_eq!(brief(&next(&mut feed).await), "following bob");
    assert_eq!(brief(&next(&mut feed).await), "+of bob");
    api.unfollow(&ann, &bob).await;
    assert_eq!(brief(&next(&mut feed).await), format!("-{}", bob.id));
    assert_eq!(brief(&next(&mut feed).await), "not following bob");
    quiet(&api, &ann, &mut feed).await;
}

#[tokio::test]
async fn a_mute_on_another_device_removes_the_author_until_it_ends() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    api.publish(&bob, "before").await;
    let mut feed = feed(&api, &ann, &page(&api, &ann).await["resumeToken"]);
    let (_, event) = tokio::join!(api.publish(&ann, "begun"), next(&mut feed));
    assert_eq!(brief(&event), "+begun");
    let change =
        |verb: &str| format!("mutation($id: ID!) {{ {verb}(input: {{userId: $id}}) {{ userErrors {{ code }} }} }}");
    api.data(Some(&ann), &change("muteUser"), json!({ "id": bob.id })).await;
    assert_eq!(brief(&next(&mut feed).await), format!("-{}", bob.id));
    api.publish(&bob, "unheard").await;
    api.data(Some(&ann), &change("unmuteUser"), json!({ "id": bob.id })).await;
    assert_eq!(brief(&next(&mut feed).await), "+before");
    assert_eq!(brief(&next(&mut feed).await), "+unheard");
    quiet(&api, &ann, &mut feed).await;
}

#[tokio::test]
async fn reposts_of_an_excluded_stranger_leave_and_return_without_naming_them() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    api.follow(&ann, &bob).await;
    let repost = api.repost(&bob, &api.publish(&cid, "of cid").await).await["timelineEdge"]["node"]["id"].take();
    let mut feed = feed(&api, &ann, &page(&api, &ann).await["resumeToken"]);
    let (_, event) = tokio::join!(api.publish(&ann, "begun"), next(&mut feed));
    assert_eq!(brief(&event), "+begun");
    let (mute, block, hide) =
        (("muteUser", "unmuteUser"), ("blockUser", "unblockUser"), ("hideFromFollower", "unhideFromFollower"));
    for ((who, whom), (verb, undo)) in
        [((&ann, &cid), mute), ((&ann, &cid), block), ((&cid, &ann), block), ((&cid, &ann), hide)]
    {
        let change = async |verb: &str| {
            let query = format!("mutation($id: ID!) {{ {verb}(input: {{userId: $id}}) {{ userErrors {{ code }} }} }}");
            api.data(Some(who), &query, json!({ "id": whom.id })).await;
        };
        change(verb).await;
        let gone = next(&mut feed).await;
        assert_eq!((&gone["__typename"], &gone["contentId"]), (&json!("ContentRemoved"), &repost), "{verb}");
        change(undo).await;
        assert_eq!(next(&mut feed).await["timelineEdge"]["node"]["id"], repost, "{undo}");
    }
    // No event names a stranger who appears in no entry.
    let dee = api.person("dee").await;
    let hide = "mutation($id: ID!) { hideFromFollower(input: {userId: $id}) { userErrors { code } } }";
    api.data(Some(&dee), hide, json!({ "id": ann.id })).await;
    quiet(&api, &ann, &mut feed).await;
}

/// The next events. The feed must be quiet after them.
async fn next_events<const MANY: usize>(feed: &mut (impl Stream<Item = Value> + Unpin)) -> [String; MANY] {
    let mut next_events = [const { String::new() }; MANY];
    for event in &mut next_events {
        *event = brief(&next(feed).await);
    }
    next_events
}

#[tokio::test]
async fn the_original_returns_however_its_repost_goes() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    api.follow(&ann, &bob).await;
    api.follow(&ann, &cid).await;
    let original = api.publish(&bob, "original").await;
    let mut repost = api.repost(&cid, &original).await["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned();
    let mut feed = feed(&api, &ann, &page(&api, &ann).await["resumeToken"]);
    quiet(&api, &ann, &mut feed).await;
    api.delete(&cid, &repost).await;
    assert_eq!(next_events::<2>(&mut feed).await, [format!("-{repost}"), "+original".to_owned()]);
    repost = api.repost(&cid, &original).await["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned();
    assert_eq!(next_events::<2>(&mut feed).await, [format!("+{repost}"), format!("-{original}")]);
    api.unfollow(&ann, &cid).await;
    assert_eq!(
        next_events::<3>(&mut feed).await,
        [format!("-{}", cid.id), "+original".to_owned(), "not following cid".to_owned()]
    );
    api.follow(&ann, &cid).await;
    let back = [format!("+{repost}"), format!("-{original}"), "following cid".to_owned()];
    let mut received: [String; 3] = next_events::<3>(&mut feed).await;
    received.sort_unstable();
    let mut due = back.clone();
    due.sort_unstable();
    assert_eq!(received, due);
    // A pending read would find the next change before its announcement.
    quiet(&api, &ann, &mut feed).await;
    let change = async |who: &Person, whom: &Person, verb: &str| {
        let query = format!("mutation($id: ID!) {{ {verb}(input: {{userId: $id}}) {{ userErrors {{ code }} }} }}");
        api.data(Some(who), &query, json!({ "id": whom.id })).await;
    };
    for (who, whom, verb, undo) in
        [(&ann, &cid, "muteUser", "unmuteUser"), (&cid, &ann, "hideFromFollower", "unhideFromFollower")]
    {
        change(who, whom, verb).await;
        assert_eq!(next_events::<2>(&mut feed).await, [format!("-{}", cid.id), "+original".to_owned()], "{verb}");
        quiet(&api, &ann, &mut feed).await;
        change(who, whom, undo).await;
        assert_eq!(next_events::<2>(&mut feed).await, [format!("+{repost}"), format!("-{original}")], "{undo}");
        quiet(&api, &ann, &mut feed).await;
    }
    change(&cid, &ann, "blockUser").await;
    let [gone, back, _] = next_events::<3>(&mut feed).await;
    assert_eq!([gone, back], [format!("-{}", cid.id), "+original".to_owned()]);
    api.delete(&bob, &original).await;
    assert_eq!(next_events::<1>(&mut feed).await, [format!("-{original}")]);
    quiet(&api, &ann, &mut feed).await;
}

#[tokio::test]
async fn the_original_returns_to_a_client_that_was_away() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    api.follow(&ann, &bob).await;
    api.follow(&ann, &cid).await;
    let original = api.publish(&bob, "original").await;
    let repost = api.repost(&cid, &original).await["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned();
    let token = page(&api, &ann).await["resumeToken"].clone();
    api.delete(&cid, &repost).await;
    let mut back = feed(&api, &ann, &token);
    assert_eq!(brief(&next(&mut back).await), format!("-{repost}"));
    let returned = next(&mut back).await;
    assert_eq!(brief(&returned), "+original");
    let again = api.repost(&cid, &original).await["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned();
    let mut folded = feed(&api, &ann, &returned["resumeToken"]);
    assert_eq!(next_events::<2>(&mut folded).await, [format!("+{again}"), format!("-{original}")]);
    quiet(&api, &ann, &mut folded).await;
}

#[tokio::test]
async fn a_cursor_resumes_above_its_entry() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    api.publish(&ann, "below").await;
    let cursor = page(&api, &ann).await["edges"][0]["cursor"].clone();
    api.publish(&ann, "above").await;
    let mut feed = feed(&api, &ann, &cursor);
    assert_eq!(brief(&next(&mut feed).await), "+above");
    quiet(&api, &ann, &mut feed).await;
}

#[tokio::test]
async fn a_gap_that_is_too_large_asks_for_a_refetch() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let token = page(&api, &ann).await["resumeToken"].clone();
    for number in 0..=200 {
        api.publish(&ann, &number.to_string()).await;
    }
    let mut feed = feed(&api, &ann, &token);
    let event = next(&mut feed).await;
    assert_eq!(brief(&event), "refetch GAP_TOO_LARGE");
    api.publish(&ann, "after all").await;
    // Announcements that the node had not routed yet may come before it.
    while brief(&next(&mut feed).await) != "+after all" {}
}

#[tokio::test]
async fn an_invalid_after_is_refused() {
    let api = Api::new().await;
    let ann = api.person("ann").await;
    let refused = feed(&api, &ann, &json!("nonsense")).next().await.unwrap();
    assert_eq!(faults(&refused), [("BAD_USER_INPUT".to_owned(), json!(["newFeed"]))]);
}
