//! Tests `tidefeed audit`, over a seeded world.

use anyhow::{Result, ensure};

use super::CommandLine;
use crate::servers::{connect_sql, execute, numbers, on_each_backend};

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn a_broken_inbox_is_reported_with_its_cause_and_repaired(backend: Backend) -> Result<()> {
        let database = backend.empty_database().await?;
        let it = CommandLine::on(&database.url)?;
        ensure!(it.run(&["audit"]).await?.err.contains("run `tidefeed migrate`"));
        it.done(&["migrate"]).await?;
        it.done(&["seed", "--users", "20", "--contents-per-user", "6"]).await?;
        let well = it.done(&["audit"]).await?;
        ensure!(well.contains(": 0 timelines wrong") && well.contains("172 contents and users: 0 counters"), "{well}");
        let past = connect_sql(&database.url).await?;
        let reader = numbers(&past, "SELECT MIN(follower_id) FROM follows WHERE author_id <> follower_id").await?[0];
        for statement in [
            format!("UPDATE follows SET mode = 2 WHERE follower_id = {reader}"),
            format!("UPDATE inbox_states SET floor_time = 1, floor_content = 1 WHERE user_id = {reader}"),
            format!("UPDATE user_counts SET following = 1000 WHERE user_id = {reader}"),
        ] {
            execute(&past, &statement).await?;
        }
        past.close().await?;

        let ill = it.run(&["audit", "--no-repair"]).await?;
        ensure!(ill.code == Some(1) && ill.out.contains(&format!("WRONG reader {reader}: hole")), "{ill:?}");
        ensure!(ill.out.contains(&format!("WRONG user {reader}: following says 1000, and there are")), "{ill:?}");
        ensure!(ill.out.contains("-> left as it is") && ill.out.contains(": 1 timelines wrong"), "{ill:?}");
        let mended = it.run(&["audit"]).await?;
        ensure!(mended.code == Some(1) && mended.out.contains("-> repaired"), "{mended:?}");
        let well = it.done(&["audit", "--pages", "3", "--size", "10"]).await?;
        ensure!(well.contains(": 0 timelines wrong") && well.contains(": 0 counters wrong"), "{well}");
        ensure!(it.done(&["audit", "--limit", "1"]).await?.contains("Audited 1 readers"));
        Ok(())
    }
}

#[tokio::test]
async fn an_audit_of_a_fresh_world_says_what_it_has_looked_at() -> Result<()> {
    let it = CommandLine::embedded()?;
    it.done(&["migrate"]).await?;
    let said = it.done(&["audit"]).await?;
    ensure!(said.contains("No reader has an inbox yet") && said.contains("from the authors' outboxes"), "{said}");
    Ok(())
}

#[tokio::test]
async fn an_unknown_reader_is_reported() -> Result<()> {
    let it = CommandLine::embedded()?;
    it.done(&["migrate"]).await?;
    let ended = it.run(&["audit", "--reader", "nobody"]).await?;
    ensure!(ended.code == Some(1) && ended.err.ends_with("there is no user with this handle.\n"), "{ended:?}");
    Ok(())
}
