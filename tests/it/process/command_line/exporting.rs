//! Tests `tidefeed export`: the file is one that `tidefeed import` takes, and only its owner may read it.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};

use super::{
    CommandLine,
    moving_in::{example, put},
};
use crate::servers::on_each_backend;

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
        put(&it, "product.ndjson", example("json", "product.ndjson").await?).await?;
        it.done(&["import", "load", "product.ndjson"]).await?;
        it.done(&["export", "--to", "all.ndjson"]).await?;
        let other = backend.migrated_database().await?;
        let empty = CommandLine::on(&other.url)?;
        let text = tokio::fs::read_to_string(it.path().join("all.ndjson")).await?;
        put(&empty, "all.ndjson", &text).await?;
        let loaded = empty.run(&["import", "load", "all.ndjson"]).await?;
        ensure!(loaded.code == Some(0) && loaded.out.lines().count() == 1, "{loaded:?}");
        let again = empty.run(&["export", "--to", "-"]).await?;
        ensure!(again.out == text, "byte for byte: {}", again.err);
        Ok(())
    }
}
