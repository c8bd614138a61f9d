//! An author with many followers, written in bulk.

use std::sync::Arc;

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{ContentId, Entry, UserId, account::profile::Registration, content::Draft},
    publish::PublishOutcome,
    store::{
        Seeding,
        seeding::{SeedAuthor, SeedFollow},
    },
};

use crate::{
    harness::{BEGINNING, TestApp},
    servers,
};

/// The author's id; followers have the ids after it.
pub const AUTHOR: i64 = 1;

pub fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

/// One author with `followers` followers, whose inboxes deliveries include.
pub async fn followed_author(app: &TestApp, followers: i64) -> Result<()> {
    let seeded = |id: i64| -> Result<SeedAuthor> {
        Ok(SeedAuthor {
            id: UserId::try_new(id)?,
            registration: Registration::try_new(&format!("user{id}"), "User", "", None)?,
            created_at: BEGINNING,
            last_seen: BEGINNING,
            incarnation: id,
            contents: Vec::new(),
        })
    };
    let users = (AUTHOR..=AUTHOR + followers).map(seeded).collect::<Result<Vec<_>>>()?;
    let follows: Vec<SeedFollow> = (1..=followers)
        .map(|number| SeedFollow {
            follower: user(AUTHOR + number),
            author: user(AUTHOR),
            incarnation: number,
            followed_at: BEGINNING,
        })
        .collect();
    for some in users.chunks(500) {
        app.store.add_authors(some).await?;
    }
    for some in follows.chunks(500) {
        app.store.add_follows(some).await?;
    }
    // Every reader is on, with nothing trusted yet: deliveries include them.
    let database = servers::connect_sql(app.database_url()).await?;
    servers::execute(&database, &format!("UPDATE inbox_states SET floor_time = {0}, floor_content = {0}", i64::MAX))
        .await
}

/// Publishes one content of the author, which is not delivered yet.
pub async fn publish(app: &TestApp) -> Result<Entry> {
    let outcome = app.publisher.publish(user(AUTHOR), Draft::try_new("words", Vec::new(), None)?).await?;
    let PublishOutcome::Published(content) = outcome else { anyhow::bail!("not published: {outcome:?}") };
    Ok(content.entry())
}

/// The readers whose inboxes have the content, ascending.
pub async fn served(app: &TestApp, content: ContentId) -> Result<Vec<i64>> {
    let database = servers::connect_sql(app.database_url()).await?;
    let sql = format!("SELECT user_id FROM inboxes WHERE content_id = {content} ORDER BY user_id");
    servers::numbers(&database, &sql).await
}

/// Runs every open subtask of a content to its end, in order.
pub async fn run_open_subtasks(app: &Arc<TestApp>, content: ContentId) -> Result<()> {
    for task in app.ports.deliveries.open_subtasks(content).await? {
        app.executor.run(content, task.progress.range.after).await?;
    }
    Ok(())
}

/// Checks that the delivery is finished and that everyone, including the author, has the content once.
pub async fn ensure_delivered(app: &TestApp, content: ContentId, followers: i64) -> Result<()> {
    ensure!(app.ports.deliveries.find(content).await?.is_none(), "the delivery is not finished");
    let everybody: Vec<i64> = (AUTHOR..=AUTHOR + followers).collect();
    let served = served(app, content).await?;
    ensure!(served == everybody, "{} of {} readers have it", served.len(), everybody.len());
    Ok(())
}
