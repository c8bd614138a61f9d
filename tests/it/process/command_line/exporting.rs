//! Tests `tidefeed export`: the file is one that `tidefeed import` takes, and only its owner may read it.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};

use super::CommandLine;
use crate::servers::on_each_backend;

/// The lines of a file in the order of their bytes.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn an_exported_world_is_a_plain_file_that_only_its_owner_reads(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let it = CommandLine::on(&database.url)?;
        it.done(&["seed", "--users", "30", "--contents-per-user", "6"]).await?;
        let exported = it.run(&["export", "--to", "all.ndjson"]).await?;
        ensure!(exported.code == Some(0) && exported.err.contains(" user 31,"), "{exported:?}");
        let path = it.path().join("all.ndjson");
        ensure!(tokio::fs::metadata(&path).await?.permissions().mode() & 0o777 == 0o600);
        let text = tokio::fs::read_to_string(&path).await?;
        for kind in ["user", "content", "follow", "reaction"] {
            ensure!(text.contains(&format!(r#"{{"type":"{kind}","data":{{"#)), "no {kind}");
        }
        ensure!(!text.contains("argon2"), "no hash of a password");
        let checked = it.run(&["import", "check", "all.ndjson"]).await?;
        ensure!(checked.code == Some(0), "{checked:?}");
        it.done(&["import", "sort", "all.ndjson", "--to", "sorted.ndjson"]).await?;
        ensure!(tokio::fs::read_to_string(it.path().join("sorted.ndjson")).await? == text, "it is sorted");
        let piped = it.run(&["export", "--to", "-"]).await?;
        ensure!(piped.code == Some(0) && piped.out == text, "the same again: {}", piped.err);
        let again = it.run(&["export", "--to", "all.ndjson"]).await?;
        ensure!(again.code == Some(1) && again.err.contains("`all.ndjson` exists"), "{again:?}");
        Ok(())
    }

    async fn what_is_exported_and_loaded_elsewhere_is_exported_again_byte_for_byte(backend: Backend) -> Result<()> {
        let former = backend.migrated_database().await?;
        let it = CommandLine::on(&former.url)?;
        it.done(&["seed", "--users", "30", "--contents-per-user", "6"]).await?;
        it.done(&["export", "--to", "all.ndjson"]).await?;
        let text = tokio::fs::read_to_string(it.path().join("all.ndjson")).await?;
        let other = backend.migrated_database().await?;
        let empty = CommandLine::on(&other.url)?;
        // Of the same moment, and of other people's ids: the file's order decides, and is kept.
        let more = [
            r#"{"type":"content","data":{"externalId":"same-z","author":"tidefeed:1","text":"first","createdAt":"2026-01-01T00:00:00.000Z"}}"#,
            r#"{"type":"content","data":{"externalId":"same-a","author":"tidefeed:1","text":"second","type":"run","attributes":{"km":4.5},"createdAt":"2026-01-01T00:00:00.000Z"}}"#,
        ];
        let user = r#"{"type":"user","data":{"externalId":"tidefeed:1","handle":"tide","name":"Tide","createdAt":"2019-01-01T00:00:00.000Z"}}"#;
        let text = [text.as_str(), user, "\n", &more.join("\n"), "\n"].concat();
        tokio::fs::write(empty.path().join("unsorted.ndjson"), &text).await?;
        empty.done(&["import", "sort", "unsorted.ndjson", "--to", "given.ndjson"]).await?;
        let loaded = empty.run(&["import", "load", "given.ndjson"]).await?;
        ensure!(loaded.code == Some(0), "{loaded:?}");
        let once = empty.run(&["export", "--to", "-"]).await?.out;
        ensure!(lines(&once) == lines(&text), "every line is there, as it was");
        let third = backend.migrated_database().await?;
        let another = CommandLine::on(&third.url)?;
        tokio::fs::write(another.path().join("once.ndjson"), &once).await?;
        another.done(&["import", "load", "once.ndjson"]).await?;
        let twice = another.run(&["export", "--to", "-"]).await?.out;
        ensure!(twice == once, "byte for byte");
        Ok(())
    }
}
