//! Tests `tidefeed inbox` with inboxes that another process has left in Redis.

use anyhow::{Result, ensure};

use super::CommandLine;
use crate::servers::{connect_sql, execute, numbers, on_each_backend};

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// Twenty users are seeded, and the demo user.
    async fn inboxes_are_counted_renewed_and_moved_without_redis(backend: Backend) -> Result<()> {
        let database = backend.empty_database().await?;
        let it = CommandLine::on(&database.url)?;
        ensure!(it.run(&["inbox", "status"]).await?.err.contains("run `tidefeed migrate`"));
        it.done(&["migrate"]).await?;
        it.done(&["seed", "--users", "20", "--contents-per-user", "6"]).await?;
        ensure!(it.done(&["inbox", "status"]).await?.contains("Inboxes outside SQL: 0, 0 of them built"));
        ensure!(it.done(&["doctor"]).await?.contains("ok   inboxes: all are in SQL"));
        let past = connect_sql(&database.url).await?;
        let node = "ab".repeat(20);
        for statement in [
            format!("INSERT INTO inbox_buckets (bucket, node, epoch) VALUES (1, '{node}', 7), (2, '{node}', 7)"),
            "UPDATE inbox_states SET tier = 1, generation = 5, basis = 6, floor_time = NULL, floor_content = NULL".to_owned(),
        ] {
            execute(&past, &statement).await?;
        }
        let status = it.done(&["inbox", "status"]).await?;
        ensure!(status.contains("Inboxes outside SQL: 21, 21 of them built") && status.contains(&format!("Server {node}: 2 inbox buckets")), "{status}");
        ensure!(it.run(&["doctor"]).await?.out.contains("FAIL inboxes"), "this node is not configured for them");
        ensure!(it.done(&["inbox", "renew"]).await?.contains("Renewed 2 inbox buckets"));
        ensure!(numbers(&past, "SELECT COUNT(*) FROM inbox_buckets WHERE epoch = 7").await? == [0]);
        ensure!(it.done(&["inbox", "move"]).await?.contains("Moved 21 inboxes"));
        ensure!(numbers(&past, "SELECT COUNT(*) FROM inbox_states WHERE tier = 1 OR floor_time IS NULL").await? == [0]);
        ensure!(it.done(&["inbox", "status"]).await?.contains("with a server outside SQL: 0 of 128"));
        past.close().await?;
        ensure!(it.done(&["audit"]).await?.contains(": 0 timelines wrong"));
        Ok(())
    }
}
