//! Tests a client that does not read: its buffers fill, it catches up or is asked to refetch, and no other client
//! waits for it.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{people::People, watcher::Watcher};
use crate::{
    api::server::{self, ApiServer},
    harness::{CacheBackend, TestApp, settings},
    servers::on_each_backend,
};

/// More events of 400 KB each than the buffers of a socket, of the kernel and of a subscription hold.
const PUBLISHED: usize = 80;
const CHARS: usize = 5_000;
const TIMES: usize = 20;

/// A subscription that selects the same text many times, with what tells events apart in front.
fn heavy() -> String {
    let again: Vec<String> = (0..TIMES).map(|number| format!("again{number}: text")).collect();
    let again = again.join(" ");
    format!(
        "subscription($after: String) {{ newFeed(after: $after) {{ __typename ... on ContentRemoved {{ contentId }}
        ... on AuthorRemoved {{ authorId }} ... on RelationChanged {{ viewerIsFollowing }} ... on RefetchNeeded {{ reason }}
        ... on EntryAdded {{ timelineEdge {{ cursor node {{ text {again} }} }} }} }} }}"
    )
}

fn text(number: usize) -> String {
    let wide = "\u{1f30a}".repeat(CHARS - 10);
    format!("{number} {wide}")
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn a_slow_client_delays_no_other_and_catches_up_or_refetches(backend: Backend) -> Result<()> {
        let mut settings = settings();
        settings.live.buffer = 4;
        let mut limits = server::settings();
        // The two that do not read may leave everything unread. The limit of one client, which would refuse them, has
        // its own tests.
        limits.http.request.unsent.client = limits.http.request.unsent.node;
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        let server = ApiServer::start_with(app, &limits).await?;
        let people = People::meet(&server).await?;
        let after = people.resume_token(&server).await?;
        let mut refetching = Watcher::ask(&server, &people.reader, &heavy(), &Value::Null).await?;
        let mut caught_up = Watcher::ask(&server, &people.reader, &heavy(), &after).await?;
        let mut quick = Watcher::resume(&server, &people.reader, &after).await?;
        for number in 0..PUBLISHED {
            people.publish(&server, &text(number)).await?;
            // The next content is published only when the quick client has this one.
            quick.hears_all(&[format!("+{}", text(number))]).await?;
        }
        for number in 0..PUBLISHED {
            let event = caught_up.hears().await?;
            ensure!(event == format!("+{}", text(number)), "{number} was expected, not {event:.20}");
        }
        let mut number = 0;
        let last = loop {
            let event = refetching.hears().await?;
            if event != format!("+{}", text(number)) {
                break event;
            }
            number += 1;
        };
        ensure!(last == "refetch MISSED", "after {number}: {last:.20}");
        ensure!(number < PUBLISHED, "nothing was missed");
        Ok(())
    }

    async fn a_gap_over_the_limit_asks_for_a_refetch_that_resumes(backend: Backend) -> Result<()> {
        let server = ApiServer::start(TestApp::start(backend, CacheBackend::NoCache).await?).await?;
        let people = People::meet(&server).await?;
        let after = people.resume_token(&server).await?;
        for number in 0..=settings().live.catch_up {
            people.publish(&server, &number.to_string()).await?;
        }
        let mut watcher = Watcher::resume(&server, &people.reader, &after).await?;
        let event = watcher.event().await?;
        ensure!(event == json!({ "__typename": "RefetchNeeded", "reason": "GAP_TOO_LARGE" }), "{event:#}");
        let after = people.resume_token(&server).await?;
        let mut watcher = Watcher::resume(&server, &people.reader, &after).await?;
        people.publish(&server, "live").await?;
        watcher.hears_all(&["+live".to_owned()]).await.map(drop)
    }
}
