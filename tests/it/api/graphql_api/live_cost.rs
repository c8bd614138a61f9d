//! Counts the statements and renderings of a publish on a node with hundreds of subscribers.

use std::time::Duration;

use futures_util::{Stream, StreamExt, future::join_all};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::api::{Api, Person};

const SUBSCRIBERS: usize = 300;
const SAME_FOR_ALL: &str =
    "subscription($after: String) { newFeed(after: $after) { ... on EntryAdded { resumeToken timelineEdge { cursor
    node { id text likeCount author { handle followerCount } } } } } }";
const VIEWERS_OWN: &str =
    "subscription($after: String) { newFeed(after: $after) { ... on EntryAdded { timelineEdge { cursor
    node { id text viewerIsAuthor likeCount author { handle followerCount viewerIsFollowing } } } } } }";

/// Bob and his followers: everyone else.
async fn crowd(api: &Api) -> (Person, Vec<Person>) {
    let bob = api.person("bob").await;
    let mut readers = Vec::with_capacity(SUBSCRIBERS);
    for number in 0..SUBSCRIBERS {
        let reader = api.person(&format!("reader_{number}")).await;
        api.follow(&reader, &bob).await;
        readers.push(reader);
    }
    (bob, readers)
}

/// A subscription of each reader, with its own `after`.
async fn subscribed(api: &Api, readers: &[Person], query: &str) -> Vec<impl Stream<Item = Value> + Unpin + use<>> {
    let mut feeds = Vec::with_capacity(readers.len());
    for reader in readers {
        let page = api.data(Some(reader), "{ timeline(first: 1) { resumeToken } }", json!({})).await;
        let variables = json!({ "after": page["timeline"]["resumeToken"] });
        feeds.push(api.watch_with(Some(reader), query, variables));
    }
    let begun = async {
        while api.hub.watching() < readers.len() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        events = join_all(feeds.iter_mut().map(StreamExt::next)) => panic!("nothing has happened: {events:?}"),
        () = begun => {}
    }
    feeds
}

async fn all_receive_it(feeds: &mut [impl Stream<Item = Value> + Unpin]) -> Vec<Value> {
    let events = join_all(feeds.iter_mut().map(StreamExt::next));
    timeout(Duration::from_mins(5), events).await.unwrap().into_iter().flatten().collect()
}

fn renderings(handle: &PrometheusHandle, way: &str) -> u64 {
    let name = format!("tidefeed_live_renderings_total{{way=\"{way}\"}} ");
    handle.render().lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

mod slow {
    use super::*;

    #[tokio::test]
    async fn a_publish_costs_the_same_for_hundreds_of_subscribers() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let _measuring = metrics::set_default_local_recorder(&recorder);
        let api = Api::new().await;
        let (bob, readers) = crowd(&api).await;
        let alone = api.store.statements();
        api.publish(&bob, "to nobody").await;
        let alone = api.store.statements() - alone;
        for (query, rendered_for_all) in [(SAME_FOR_ALL, true), (VIEWERS_OWN, false)] {
            let mut feeds = subscribed(&api, &readers, query).await;
            // Once everyone has received this, every catch-up is over.
            api.publish(&bob, "first").await;
            all_receive_it(&mut feeds).await;
            let before = api.store.statements();
            let ways = ["for_all", "shared", "for_one"];
            let rendered = ways.map(|way| renderings(&handle, way));
            api.publish(&bob, "to all").await;
            let events = all_receive_it(&mut feeds).await;
            assert_eq!(events.len(), SUBSCRIBERS);
            for event in &events {
                let node = &event["data"]["newFeed"]["timelineEdge"]["node"];
                assert_eq!((&node["text"], &node["author"]["handle"]), (&json!("to all"), &json!("bob")), "{event:#}");
                if !rendered_for_all {
                    assert_eq!(
                        (&node["viewerIsAuthor"], &node["author"]["viewerIsFollowing"]),
                        (&json!(false), &json!(true))
                    );
                }
            }
            let more = api.store.statements() - before - alone;
            assert_eq!(more, 5, "who sees it, contents, counters, profiles, counts");
            let rendered: Vec<u64> =
                ways.iter().zip(rendered).map(|(way, before)| renderings(&handle, way) - before).collect();
            let all = u64::try_from(SUBSCRIBERS).unwrap();
            let expected = if rendered_for_all { [1, all - 1, 0] } else { [0, 0, all] };
            assert_eq!(rendered, expected, "{ways:?}");
        }
    }
}
