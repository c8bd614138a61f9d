//! Tests the count of new contents, and the read marker.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::api::{Api, Person, faults};

async fn cursors(api: &Api, reader: &Person) -> Vec<Value> {
    let page = api.data(Some(reader), "{ timeline(first: 100) { edges { cursor } } }", json!({})).await;
    page["timeline"]["edges"].as_array().unwrap().iter().map(|edge| edge["cursor"].clone()).collect()
}

async fn mark(api: &Api, reader: &Person, cursor: &Value) -> Value {
    let query = "mutation($c: String!) { markTimelineRead(input: {upTo: $c}) {
        readMarker viewer { id timelineReadMarker } userErrors { code } } }";
    let mut marked = api.data(Some(reader), query, json!({ "c": cursor })).await["markTimelineRead"].take();
    let viewer = json!({"id": reader.id, "timelineReadMarker": marked["readMarker"]});
    assert_eq!(
        (&marked["viewer"], &marked["userErrors"]),
        (&viewer, &json!([])),
        "a cache that knows the viewer is right"
    );
    marked["readMarker"].take()
}

#[tokio::test]
async fn new_entries_are_counted_exactly_up_to_a_maximum() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    api.follow(&ann, &bob).await;
    for number in 0..130 {
        api.publish(&bob, &number.to_string()).await;
    }
    let newest = cursors(&api, &ann).await;
    let query = "query($c: String!, $max: Int) { newContentCount(after: $c, max: $max) { count isCapped } }";
    // Time 1 and content 1: older than everything.
    let oldest = json!("AQAAAAAAAAABAAAAAAAAAAE");
    // From here on the node remembers which contents the entries repost.
    api.data(Some(&ann), query, json!({"c": oldest, "max": 999})).await;
    let count = async |cursor: &Value, max: Value| {
        let before = api.store.statements();
        let counted = api.data(Some(&ann), query, json!({"c": cursor, "max": max})).await["newContentCount"].take();
        let (count, is_capped) = (counted["count"].as_i64().unwrap(), counted["isCapped"].as_bool().unwrap());
        assert_eq!(api.store.statements() - before, 1, "one for the entries");
        (count, is_capped)
    };
    assert_eq!(count(&newest[0], json!(null)).await, (0, false));
    assert_eq!(count(&newest[5], json!(5)).await, (5, false));
    assert_eq!(count(&newest[6], json!(5)).await, (5, true));
    assert_eq!(count(&newest[99], json!(null)).await, (99, false));
    assert_eq!(count(&oldest, json!(null)).await, (99, true));
    assert_eq!(count(&oldest, json!(999)).await, (130, false));
    for (cursor, max) in [("nonsense", 5), ("AgAAAAAAAAABAAAAAAAAAAE", 5), ("AQAAAAAAAAABAAAAAAAAAAE", 1000)] {
        let refused = api.ask(Some(&ann), query, json!({"c": cursor, "max": max})).await;
        assert_eq!(faults(&refused), [("BAD_USER_INPUT".to_owned(), json!(["newContentCount"]))], "{cursor}");
    }
    let refused = api.ask(None, query, json!({"c": oldest})).await;
    assert_eq!(faults(&refused), [("UNAUTHENTICATED".to_owned(), json!(["newContentCount"]))]);
}

#[tokio::test]
async fn a_read_marker_moves_forwards_on_all_devices_and_stays_private() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    let me = "{ viewer { timelineReadMarker } user(handle: \"ann\") { timelineReadMarker } }";
    let shown = |viewer: Value, user: Value| json!({"viewer": {"timelineReadMarker": viewer}, "user": {"timelineReadMarker": user}});
    assert_eq!(api.data(Some(&ann), me, json!({})).await, shown(json!(null), json!(null)));
    api.publish(&ann, "one").await;
    api.publish(&ann, "two").await;
    let newest = cursors(&api, &ann).await;
    let mut other_device =
        api.watch(Some(&ann), "subscription { newFeed { __typename ... on ReadMarkerMoved { readMarker } } }");
    tokio::select! {
        event = other_device.next() => panic!("nothing has happened yet: {event:?}"),
        () = async { while api.hub.watching() == 0 { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(mark(&api, &ann, &newest[0]).await, newest[0]);
    let listening = async {
        loop {
            // The announcements of these contents may have been late for the subscription.
            let event = other_device.next().await.unwrap()["data"]["newFeed"].take();
            assert_ne!(event["__typename"], "RefetchNeeded");
            if event["__typename"] == "ReadMarkerMoved" {
                return event["readMarker"].clone();
            }
        }
    };
    assert_eq!(tokio::time::timeout(Duration::from_mins(2), listening).await.unwrap(), newest[0]);
    assert_eq!(mark(&api, &ann, &newest[1]).await, newest[0], "never back");
    assert_eq!(api.data(Some(&ann), me, json!({})).await, shown(newest[0].clone(), newest[0].clone()));
    assert_eq!(api.data(Some(&bob), me, json!({})).await, shown(json!(null), json!(null)));
}

#[tokio::test]
async fn new_entries_that_fold_into_one_count_once() {
    let api = Api::new().await;
    let (ann, bob, cid) = (api.person("ann").await, api.person("bob").await, api.person("cid").await);
    for author in [&bob, &cid] {
        api.follow(&ann, author).await;
    }
    api.publish(&ann, "read already").await;
    let read = cursors(&api, &ann).await[0].clone();
    let original = api.publish(&bob, "original").await;
    api.publish(&bob, "another").await;
    api.repost(&cid, &original).await;
    let query = "query($c: String!, $max: Int) { newContentCount(after: $c, max: $max) { count isCapped } }";
    for (max, count, is_capped) in [(99, 2, false), (2, 2, false), (1, 1, true)] {
        let counted = api.data(Some(&ann), query, json!({"c": read, "max": max})).await;
        assert_eq!(counted["newContentCount"], json!({"count": count, "isCapped": is_capped}), "{max}");
    }
    assert_eq!(cursors(&api, &ann).await.len(), 3, "as many as a page shows");
}

#[tokio::test]
async fn a_read_marker_stops_at_the_newest_entry_of_ones_own_timeline() {
    let api = Api::new().await;
    let (ann, bob) = (api.person("ann").await, api.person("bob").await);
    // The last moment that a cursor can express, and content 1.
    let future = json!("AX__________AAAAAAAAAAE");
    assert_eq!(mark(&api, &ann, &future).await, json!(null), "there is nothing that could have been read");
    api.publish(&ann, "mine").await;
    api.publish(&bob, "of somebody who is not followed").await;
    let own = cursors(&api, &ann).await[0].clone();
    assert_eq!(mark(&api, &ann, &future).await, own);
    api.publish(&ann, "newer").await;
    let query = "query($c: String!) { newContentCount(after: $c) { count } }";
    assert_eq!(api.data(Some(&ann), query, json!({ "c": own })).await["newContentCount"]["count"], 1);
    assert_eq!(mark(&api, &ann, &future).await, cursors(&api, &ann).await[0]);
}
