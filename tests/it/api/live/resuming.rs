//! Tests that a client that reconnects gets the missed events, in order and once, from any node.

use anyhow::{Result, ensure};
use serde_json::Value;
use tidefeed::store::announcements::Announcement;
use tokio::time::timeout;

use super::{
    people::People,
    watcher::{PATIENCE, Watcher},
};
use crate::{
    api::server::ApiServer,
    harness::{CacheBackend, TestApp},
    servers::on_each_backend,
};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// `-` and the content's id.
fn gone(content: &Value) -> String {
    format!("-{}", content.as_str().unwrap_or_default())
}

/// The reader watches `near` first and then `far`; the author's node is `far`.
async fn a_client_comes_back(near: &ApiServer, far: &ApiServer) -> Result<()> {
    let people = People::meet(near).await?;
    let old = people.publish(far, "old").await?;
    people.publish(far, "kept").await?;
    let token = people.resume_token(near).await?;
    let mut watcher = Watcher::resume(near, &people.reader, &token).await?;
    people.publish(far, "one").await?;
    let token = watcher.hears_all(&words(&["+one"])).await?;
    drop(watcher);
    people.publish(far, "two").await?;
    people.delete(far, &old).await?;
    people.publish(far, "three").await?;
    // The token describes what the client held then, on whichever node and however often it is used.
    for server in [far, near] {
        let mut watcher = Watcher::resume(server, &people.reader, &token).await?;
        let missed = [gone(&old), "+two".to_owned(), "+three".to_owned()];
        watcher.hears_all(&missed).await?;
    }
    let mut watcher = Watcher::resume(far, &people.reader, &token).await?;
    watcher.hears_all(&[gone(&old), "+two".to_owned()]).await?;
    // Each node has its own clock. A content that is published now is newer than all others by both clocks.
    near.app.clock.advance(1_000);
    people.publish(near, "live").await?;
    let token = watcher.hears_all(&words(&["+three", "+live"])).await?;
    relations_change_on_another_device(&people, near, watcher).await?;
    ensure!(people.timeline(near).await? == ["later", "live", "three", "two", "one", "kept"]);
    // An author who was unfollowed and followed again meanwhile causes no event; only the newest content does.
    let mut watcher = Watcher::resume(far, &people.reader, &token).await?;
    watcher.hears_all(&words(&["+later"])).await.map(drop)
}

async fn relations_change_on_another_device(people: &People, device: &ApiServer, mut watcher: Watcher) -> Result<()> {
    people.unfollow(device).await?;
    watcher.hears_all(&[people.all_of_author_gone(), "not following".to_owned()]).await?;
    people.publish(device, "later").await?;
    people.follow(device).await?;
    watcher.hears_all(&words(&["following", "+kept", "+one", "+two", "+three", "+live", "+later"])).await.map(drop)
}

async fn one_publish_is_one_announcement(server: &ApiServer) -> Result<()> {
    let people = People::meet(server).await?;
    let token = people.resume_token(server).await?;
    let mut watchers = Vec::new();
    for _ in 0..3 {
        watchers.push(Watcher::resume(server, &people.reader, &token).await?);
    }
    let mut listener = server.app.ports.announcements.listen();
    let content = people.publish(server, "once").await?;
    for watcher in &mut watchers {
        watcher.hears_all(&words(&["+once"])).await?;
    }
    people.delete(server, &content).await?;
    let mut announcements = Vec::new();
    while !matches!(announcements.last(), Some(Announcement::Removed { .. })) {
        let next = timeout(PATIENCE, listener.recv()).await??;
        // The reader's follow was announced before, perhaps late.
        if !matches!(next, Announcement::FollowsChanged { .. }) {
            announcements.push(next);
        }
    }
    ensure!(
        matches!(announcements[..], [Announcement::Published { .. }, Announcement::Removed { .. }]),
        "{announcements:?}"
    );
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn a_resumed_feed_delivers_missed_events_in_order_and_once(backend: Backend) -> Result<()> {
        let server = ApiServer::start(TestApp::start(backend, CacheBackend::NoCache).await?).await?;
        a_client_comes_back(&server, &server).await
    }
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn a_publish_is_announced_once_however_many_watch(backend: Backend) -> Result<()> {
            let server = ApiServer::start(TestApp::start(backend, CacheBackend::Redis).await?).await?;
            one_publish_is_one_announcement(&server).await
        }
    }
}

mod two_nodes {
    use super::*;

    on_each_backend! {
        on mariadb, mysql in soak;
        async fn a_client_resumes_on_another_node(backend: Backend) -> Result<()> {
            let near = ApiServer::start(TestApp::start(backend, CacheBackend::Redis).await?).await?;
            let far = ApiServer::start(near.app.beside().await?).await?;
            a_client_comes_back(&near, &far).await
        }
    }
}
