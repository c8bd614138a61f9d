//! Tests sharing among subscribers: an event is rendered once for all equal subscriptions, and a reader's follows are
//! held once for all devices. Subscriptions that differ get their own events.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{
    people::People,
    watcher::{Watcher, brief},
};
use crate::{
    api::server::ApiServer,
    harness::{CacheBackend, TestApp},
    servers::on_each_backend,
};

const OTHER_FIELDS: &str = "subscription { newFeed { __typename ... on EntryAdded { timelineEdge { node {
    words: text kind author { name: handle } } } } } }";
const BY_VARIABLE: &str = "subscription($short: Boolean!) { newFeed { ... on EntryAdded { timelineEdge { node {
    text kind @skip(if: $short) } } } } }";
const VIEWER_DEPENDENT: &str = "subscription { newFeed { __typename ... on EntryAdded { timelineEdge { node {
    text viewerIsAuthor author { viewerIsFollowing } } } } } }";

async fn each_receives_their_own(server: &ApiServer) -> Result<()> {
    let people = People::meet(server).await?;
    let (reader, author) = (&people.reader, &people.author);
    let short = |short: bool| json!({ "short": short });
    let mut same = [Watcher::start(server, reader).await?, Watcher::start(server, author).await?];
    let mut other = Watcher::ask(server, reader, OTHER_FIELDS, &Value::Null).await?;
    let mut long = Watcher::ask_with(server, reader, BY_VARIABLE, short(false)).await?;
    let mut short = Watcher::ask_with(server, author, BY_VARIABLE, short(true)).await?;
    let mut watchers = [
        Watcher::ask(server, reader, VIEWER_DEPENDENT, &Value::Null).await?,
        Watcher::ask(server, author, VIEWER_DEPENDENT, &Value::Null).await?,
    ];
    for text in ["\"first\" \\ \u{2028}é", "second"] {
        people.publish(server, text).await?;
        let [near, far] = &mut same;
        let (near, far) = (near.event().await?, far.event().await?);
        ensure!(near == far && brief(&near) == format!("+{text}"), "{near:#} {far:#}");
        let event = other.event().await?;
        let node = json!({ "words": text, "kind": "POST", "author": { "name": "author" } });
        ensure!(event["timelineEdge"]["node"] == node, "{event:#}");
        let (long, short) = (long.event().await?, short.event().await?);
        ensure!(long["timelineEdge"]["node"] == json!({ "text": text, "kind": "POST" }), "{long:#}");
        ensure!(short["timelineEdge"]["node"] == json!({ "text": text }), "{short:#}");
        let [readers, authors] = &mut watchers;
        let (readers, authors) = (readers.event().await?, authors.event().await?);
        let (readers, authors) = (&readers["timelineEdge"]["node"], &authors["timelineEdge"]["node"]);
        ensure!(readers["viewerIsAuthor"] == false && readers["author"]["viewerIsFollowing"] == true, "{readers:#}");
        ensure!(authors["viewerIsAuthor"] == true && authors["author"]["viewerIsFollowing"] != true, "{authors:#}");
    }
    Ok(())
}

async fn devices_follow_together(server: &ApiServer) -> Result<()> {
    let people = People::meet(server).await?;
    let token = people.resume_token(server).await?;
    let mut devices = Vec::new();
    for _ in 0..3 {
        devices.push(Watcher::resume(server, &people.reader, &token).await?);
    }
    people.publish(server, "one").await?;
    for device in &mut devices {
        device.hears_all(&["+one".to_owned()]).await?;
    }
    people.unfollow(server).await?;
    for device in &mut devices {
        device.hears_all(&[people.all_of_author_gone(), "not following".to_owned()]).await?;
    }
    people.publish(server, "unheard").await?;
    // One device leaves: the others continue.
    devices.pop();
    people.follow(server).await?;
    for device in &mut devices {
        device.hears_all(&["following".to_owned(), "+one".to_owned(), "+unheard".to_owned()]).await?;
    }
    people.publish(server, "two").await?;
    for device in &mut devices {
        device.hears_all(&["+two".to_owned()]).await?;
    }
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn subscribers_with_different_queries_or_views_get_their_own_events(backend: Backend) -> Result<()> {
        let server = ApiServer::start(TestApp::start(backend, CacheBackend::NoCache).await?).await?;
        each_receives_their_own(&server).await
    }

    async fn a_follow_and_its_entries_reach_all_devices_of_the_reader(backend: Backend) -> Result<()> {
        let server = ApiServer::start(TestApp::start(backend, CacheBackend::NoCache).await?).await?;
        devices_follow_together(&server).await
    }
}
