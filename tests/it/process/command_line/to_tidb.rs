//! Rehearses the move from MariaDB to TiDB (docs/scaling.md) with the programs that operators have. `make test-tidb`
//! runs it.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

use super::CommandLine;
use crate::servers::{Backend, EmptyDatabase, column, connect_sql, is_tidb, numbers};

/// An option file for MariaDB's programs, and the name of the database.
fn options(url: &str) -> Result<(String, String)> {
    let url = url::Url::parse(url)?;
    let file = format!(
        "[client]\nhost = {}\nport = {}\nprotocol = tcp\nuser = {}\npassword = \"{}\"\n",
        url.host_str().context("no host")?,
        url.port().context("no port")?,
        url.username(),
        url.password().unwrap_or_default(),
    );
    Ok((file, url.path().trim_start_matches('/').to_owned()))
}

/// Runs the example of docs/scaling.md.
async fn copy_rows(from: &EmptyDatabase, to: &EmptyDatabase) -> Result<()> {
    let document = tokio::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scaling.md")).await?;
    let (_, rest) = document.split_once("```sh to-tidb\n").context("no example")?;
    let (script, _) = rest.split_once("```").context("no end")?;
    let folder = tempfile::tempdir()?;
    let ((old, from), (tidb, to)) = (options(&from.url)?, options(&to.url)?);
    tokio::fs::write(folder.path().join("old.cnf"), old).await?;
    tokio::fs::write(folder.path().join("tidb.cnf"), tidb).await?;
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", script]).env("from", from).env("to", to).current_dir(folder.path());
    let ended = shell.output().await?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

/// How many rows each table has.
async fn sizes(database: &EmptyDatabase) -> Result<BTreeMap<String, i64>> {
    let connection = connect_sql(&database.url).await?;
    let all = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()";
    let mut sizes = BTreeMap::new();
    for table in column::<String>(&connection, all).await? {
        let size = numbers(&connection, &format!("SELECT COUNT(*) FROM {table}")).await?;
        sizes.insert(table, size[0]);
    }
    Ok(sizes)
}

async fn a_dump_of_mariadb_is_served_by_tidb() -> Result<()> {
    ensure!(is_tidb(), "TIDB is not set: `make test-tidb` runs this test");
    let (old, new) = (Backend::MariaDb.empty_database().await?, Backend::Mysql.empty_database().await?);
    let (before, after) = (CommandLine::on(&old.url)?, CommandLine::on(&new.url)?);
    for it in [&before, &after] {
        it.done(&["migrate"]).await?;
    }
    before.done(&["seed", "--users", "40", "--contents-per-user", "8"]).await?;
    copy_rows(&old, &new).await?;
    ensure!(sizes(&old).await? == sizes(&new).await?, "{:?} and {:?}", sizes(&old).await?, sizes(&new).await?);
    let [there, here] = [before.run(&["export", "--to", "-"]).await?, after.run(&["export", "--to", "-"]).await?];
    ensure!(there.out.len() > 10_000 && there.out == here.out, "what is exported differs: {}", here.err);
    let audited = after.done(&["audit"]).await?;
    ensure!(audited.contains("0 counters wrong"), "{audited}");
    Ok(())
}

mod mysql {
    #[tokio::test]
    #[ignore = "`make test-tidb` runs it"]
    async fn a_dump_of_mariadb_is_served_by_tidb() -> anyhow::Result<()> {
        super::a_dump_of_mariadb_is_served_by_tidb().await
    }
}
