//! Proves that the checks of a run can fail: each test damages the database directly, and the run must report it.

use anyhow::{Result, ensure};
use sea_orm::DatabaseConnection;

use crate::deployment::{PrimaryStore, RedisSetup};
use crate::run::Run;
use crate::servers::{execute, numbers};

/// The contents of rows that pages are made of and that nothing folds away, the newest, which are trimmed last: on an
/// edge that is trusted, at or above the floor, delivered. Several, because a client on a busy machine may not know
/// whether a change of one was made, and then expects nothing of it.
const TRUSTED: &str = "SELECT i.content_id FROM inboxes i \
     JOIN follows f ON f.follower_id = i.user_id AND f.author_id = i.author_id AND f.mode = 2 \
     JOIN contents c ON c.id = i.content_id AND c.removed_at IS NULL AND c.repost_of IS NULL \
         AND NOT EXISTS (SELECT 1 FROM contents r WHERE r.repost_of = c.id) \
     JOIN inbox_states s ON s.user_id = i.user_id AND (i.publish_time > s.floor_time \
         OR (i.publish_time = s.floor_time AND i.content_id >= s.floor_content)) \
     WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.content_id = c.id) \
     AND NOT EXISTS (SELECT 1 FROM exclusions x WHERE x.reader_id = i.user_id AND x.author_id = i.author_id) \
     ORDER BY i.publish_time DESC, i.content_id DESC LIMIT 20";

/// Works without faults, damages the database, and reads everything once more. Devices are not asked: they would wait
/// for entries that never come.
async fn damaged(damage: impl AsyncFn(&DatabaseConnection) -> Result<()>) -> Result<Run> {
    let mut run = Run::start((PrimaryStore::Sqlite, RedisSetup::Nothing), 1).await?;
    while numbers(&run.deployment.database().await?, TRUSTED).await?.is_empty() {
        run.work(500).await?;
        run.verdict()?;
    }
    damage(&run.deployment.database().await?).await?;
    run.read_everything().await?;
    run.ask_invariant().await?;
    Ok(run)
}

/// The trusted contents, as a list of SQL.
async fn trusted(database: &DatabaseConnection) -> Result<String> {
    let contents: Vec<String> = numbers(database, TRUSTED).await?.iter().map(i64::to_string).collect();
    ensure!(!contents.is_empty(), "no row is trusted");
    Ok(contents.join(", "))
}

fn finds(run: &Run, what: &str) -> Result<()> {
    let found = &run.found.mismatches;
    ensure!(found.iter().any(|mismatch| mismatch.contains(what)), "`{what}` is not among {found:?}");
    ensure!(run.verdict().is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_vanishes_from_an_inbox_is_found() -> Result<()> {
    let run = damaged(async |database| {
        let contents = trusted(database).await?;
        execute(database, &format!("DELETE FROM inboxes WHERE content_id IN ({contents})")).await
    })
    .await?;
    finds(&run, "is missing")?;
    finds(&run, "in no inbox")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_that_is_trusted_for_more_than_it_holds_is_found() -> Result<()> {
    let run = damaged(async |database| {
        execute(database, "UPDATE follows SET mode = 2").await?;
        execute(database, "DELETE FROM inboxes").await?;
        execute(database, "UPDATE inbox_states SET floor_time = 0, floor_content = 0").await
    })
    .await?;
    finds(&run, "is missing")?;
    finds(&run, "in no inbox")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_write_that_was_lost_is_found() -> Result<()> {
    let run = damaged(async |database| {
        let contents = trusted(database).await?;
        // As if its transaction had never been committed: nothing that is left says that there was one.
        execute(database, &format!("DELETE FROM inboxes WHERE content_id IN ({contents})")).await?;
        execute(database, &format!("DELETE FROM contents WHERE id IN ({contents})")).await
    })
    .await?;
    ensure!(!run.found.mismatches.iter().any(|it| it.contains("in no inbox")), "rows alone show that it was lost");
    finds(&run, "is missing")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_content_is_found() -> Result<()> {
    let run = damaged(async |database| {
        let columns = "author_id, kind, text, media, publish_time";
        let again = format!(
            "INSERT INTO contents (id, {columns}) SELECT id + 1, {columns} FROM contents WHERE repost_of IS NULL"
        );
        execute(database, &again).await?;
        // Readers who are off are served from the outboxes in SQL.
        execute(database, "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL").await
    })
    .await?;
    finds(&run, "is nobody's")
}
