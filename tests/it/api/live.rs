//! Tests `newFeed` over real sockets: a content published on one node reaches the subscribers of every node, and the
//! events agree with the timeline.

mod begins;
mod outage;
mod people;
mod resuming;
mod sharing;
mod shown;
mod slow;
mod watcher;

use anyhow::{Result, ensure};
use serde_json::json;

use self::watcher::Watcher;
use crate::{
    api::server::ApiServer,
    harness::{CacheBackend, TestApp},
    servers::{Backend, on_each_backend},
};

async fn events_arrive(backend: Backend, cache_backend: CacheBackend) -> Result<()> {
    let here = ApiServer::start(TestApp::start(backend, cache_backend).await?).await?;
    let there = match cache_backend {
        CacheBackend::Redis | CacheBackend::Cluster => Some(ApiServer::start(here.app.beside().await?).await?),
        CacheBackend::NoCache => None,
    };
    let publishing = there.as_ref().unwrap_or(&here);
    let (_, reader) = here.register("reader").await?;
    let (author_id, author) = here.register("author").await?;
    let follow = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }";
    let mut watcher = Watcher::start(&here, &reader).await?;
    publishing.data(&reader, follow, json!({ "id": author_id })).await?;
    let refetch = watcher.event().await?;
    ensure!(refetch["__typename"] == "RefetchNeeded", "a follow on another device asks for a refetch: {refetch:#}");
    let relation = watcher.event().await?;
    ensure!(relation["__typename"] == "RelationChanged", "{relation:#}");

    let publish = "mutation { publishContent(input: { text: \"fresh\" }) { timelineEdge { cursor node { id } } userErrors { message } } }";
    let published = publishing.data(&author, publish, json!({})).await?;
    let event = watcher.event().await?;
    let edge = &published["publishContent"]["timelineEdge"];
    ensure!(event["timelineEdge"]["cursor"] == edge["cursor"], "{event:#}");
    ensure!(event["timelineEdge"]["node"] == json!({ "text": "fresh", "author": { "handle": "author" } }), "{event:#}");
    let page = here.data(&reader, "{ timeline(first: 1) { edges { cursor } } }", json!({})).await?;
    ensure!(
        page["timeline"]["edges"][0]["cursor"] == event["timelineEdge"]["cursor"],
        "the page lags behind: {page:#}"
    );

    let mark = "mutation($upTo: String!) { markTimelineRead(input: { upTo: $upTo }) { readMarker } }";
    publishing.data(&reader, mark, json!({ "upTo": edge["cursor"] })).await?;
    let marked = watcher.event().await?;
    ensure!(marked["__typename"] == "ReadMarkerMoved" && marked["readMarker"] == edge["cursor"], "{marked:#}");

    let delete = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
    publishing.data(&author, delete, json!({ "id": edge["node"]["id"] })).await?;
    ensure!(watcher.event().await?["contentId"] == edge["node"]["id"]);
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn live_events_equal_the_timeline(backend: Backend) -> Result<()> {
        events_arrive(backend, CacheBackend::NoCache).await
    }
}

mod two_nodes {
    use super::*;

    on_each_backend! {
        on mariadb, mysql in soak;
        async fn events_cross_nodes_through_redis(backend: Backend) -> Result<()> {
            events_arrive(backend, CacheBackend::Redis).await
        }

        async fn events_cross_nodes_through_a_redis_cluster(backend: Backend) -> Result<()> {
            events_arrive(backend, CacheBackend::Cluster).await
        }
    }
}
