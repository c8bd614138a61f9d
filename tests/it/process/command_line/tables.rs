//! Tests `tidefeed migrate` and `tidefeed doctor`, beginning with an empty database.

use anyhow::{Result, ensure};

use super::CommandLine;
use crate::servers::{connect_sql, execute, on_each_backend};

on_each_backend! {
    async fn the_doctor_sends_an_empty_database_to_migrate_and_is_content_then(backend: Backend) -> Result<()> {
        let database = backend.empty_database().await?;
        let it = CommandLine::on(&database.url)?;
        let ill = it.run(&["doctor"]).await?;
        ensure!(ill.code == Some(1) && ill.out.contains("migrations have not run: m2026"), "{ill:?}");
        ensure!(ill.out.matches("-> run `tidefeed migrate`").count() == 1, "it says it once: {ill:?}");
        ensure!(it.run(&["migrate", "--check"]).await?.code == Some(1));
        ensure!(it.done(&["migrate"]).await?.contains("applied m2026"));
        ensure!(it.done(&["migrate", "--check"]).await?.contains("up to date"));
        ensure!(it.done(&["migrate"]).await?.contains("up to date"));
        let well = it.done(&["doctor"]).await?;
        ensure!(well.contains("ok   tables: up to date") && well.contains(" 0 failed."), "{well}");
        Ok(())
    }

    async fn a_failing_delivery_is_listed_with_its_error_and_is_broken(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let it = CommandLine::on(&database.url)?;
        let past = connect_sql(&database.url).await?;
        for statement in [
            "INSERT INTO contents (id, author_id, kind, text, media, publish_time) VALUES (11, 5, 1, 'x', '[]', 1000)",
            "INSERT INTO deliveries (content_id, author_id, publish_time, attempts, last_error, look_at) \
             VALUES (11, 5, 1000, 9, 'the disk is full', 0)",
            "INSERT INTO relations (follower_id, author_id, version, attempts, look_at) VALUES (1, 2, 1, 3, 0)",
        ] {
            execute(&past, statement).await?;
        }
        past.close().await?;
        let ill = it.run(&["doctor"]).await?;
        ensure!(ill.code == Some(1), "{ill:?}");
        ensure!(ill.out.contains("content 11 of author 5 has failed 9 times: the disk is full"), "{ill:?}");
        ensure!(ill.out.contains("warn deliveries: 1 unfinished, 1 failing"), "{ill:?}");
        ensure!(ill.out.contains("warn follow changes: 1 wait to reach inboxes, 1 of them"), "{ill:?}");
        Ok(())
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported_with_a_remedy() -> Result<()> {
    let it = CommandLine::on("mysql://nobody:pa55word@127.0.0.1:1/nowhere")?
        .with("TIDEFEED__STORE__ACQUIRE_TIMEOUT_MS", "300")
        .with("TIDEFEED__REDIS__URL", "redis://127.0.0.1:1");
    let ill = it.run(&["doctor"]).await?;
    ensure!(
        ill.code == Some(1) && ill.out.contains("FAIL store: ") && ill.out.contains("FAIL redis 127.0.0.1:1"),
        "{ill:?}"
    );
    ensure!(ill.out.contains("store.url") && ill.out.contains("redis.urls"), "{ill:?}");
    let failed = it.run(&["migrate"]).await?;
    ensure!(failed.code == Some(1) && failed.err.contains("`tidefeed doctor`"), "{failed:?}");
    ensure!(![ill.out, failed.err].concat().contains("pa55word"), "a password is shown");
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test]
    async fn the_doctor_knows_a_redis_and_what_would_make_it_cheaper() -> Result<()> {
        let keys = crate::servers::fresh_keys().await?;
        let it = CommandLine::embedded()?.with("TIDEFEED__REDIS__URL", &keys.url);
        let it = it.with("TIDEFEED__REDIS__COMMAND_TIMEOUT_MS", "20000");
        it.done(&["migrate"]).await?;
        let well = it.done(&["doctor"]).await?;
        ensure!(well.contains(": Redis ") || well.contains(": Valkey "), "{well}");
        ensure!(well.contains("zset-max-listpack-entries"), "{well}");
        let cluster = it.with("TIDEFEED__REDIS__CLUSTER", "true").run(&["doctor"]).await?;
        ensure!(cluster.code == Some(1) && cluster.out.contains("-> set redis.cluster = false"), "{cluster:?}");
        Ok(())
    }
}

#[tokio::test]
async fn the_doctor_makes_nothing_and_names_the_file_that_cannot_be_opened() -> Result<()> {
    let it = CommandLine::embedded()?;
    let before = std::fs::read_dir(it.path())?.count();
    let ill = it.run(&["doctor"]).await?;
    ensure!(ill.code == Some(1) && ill.out.contains("there is no file data/tidefeed.db yet"), "{ill:?}");
    ensure!(std::fs::read_dir(it.path())?.count() == before, "the doctor has made something");
    std::fs::create_dir_all(it.path().join("data/tidefeed.db"))?;
    let ill = it.run(&["doctor"]).await?;
    ensure!(ill.out.contains("data/tidefeed.db") && !ill.out.contains("run `tidefeed doctor`"), "{ill:?}");
    let failed = it.run(&["migrate"]).await?;
    ensure!(failed.err.contains("data/tidefeed.db") && failed.err.contains("run `tidefeed doctor`"), "{failed:?}");
    std::fs::write(it.path().join("occupied"), "")?;
    let it = it.with("TIDEFEED__STORE__URL", "sqlite://occupied/t.db");
    let failed = it.run(&["migrate"]).await?;
    ensure!(failed.code == Some(1) && failed.err.contains("the folder occupied cannot be made"), "{failed:?}");
    let ill = it.run(&["doctor"]).await?;
    ensure!(ill.out.contains("FAIL store: occupied/t.db cannot be made: occupied is a file"), "{ill:?}");
    Ok(())
}
