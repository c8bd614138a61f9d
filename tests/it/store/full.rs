//! Tests a server whose tablespace is full: changes fail with the matching error, leave nothing behind, and succeed
//! when there is room again.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::{
    domain::EdgeMode,
    store::{
        Accounts as _, Contents as _, Follows as _, StoreError,
        contents::Published,
        sql::{SqlOptions, SqlStore, Writes},
    },
};
use tokio::time::{sleep, timeout};

use crate::servers::{Backend, EmptyDatabase, Kind, Recipe, Server, connect_sql, execute, numbers, on_each_backend};
use crate::store::conformance::{NOW, account, content, content_id, user};

/// One file for all tables, which can hardly grow.
const ROOM: &str = " --innodb-file-per-table=0 --innodb-data-file-path=ibdata1:12M:autoextend:max:24M";
/// By default MariaDB keeps its undo log in that file, too. It could then not even be emptied when it is full.
const UNDO: &str = " --innodb-undo-tablespaces=3";
/// Bytes of a content's text. A longer one has its own pages, and MariaDB 10.11 aborts when it rolls back a row for
/// whose pages there was no room.
const TEXT: usize = 3_000;

async fn server(backend: Backend) -> Result<Server> {
    let (kind, undo) = if backend == Backend::Mysql { (Kind::Mysql, "") } else { (Kind::MariaDb, UNDO) };
    let recipe = kind.recipe();
    let prepare = format!("{}{undo}", recipe.prepare);
    let serve = format!("{}{undo}{ROOM}", recipe.serve);
    Server::start_from(kind, &Recipe { prepare: prepare.leak(), serve: serve.leak(), ..recipe }).await
}

/// Uses up all room: first many rows at a time, then one by one.
async fn fill(rows: &DatabaseConnection) -> Result<()> {
    execute(rows, "CREATE TABLE filler (id INT AUTO_INCREMENT PRIMARY KEY, it VARCHAR(1000))").await?;
    for size in [1_000, 100, 10, 1] {
        let values = vec!["(REPEAT('x', 1000))"; size].join(", ");
        let insert = format!("INSERT INTO filler (it) VALUES {values}");
        let mut pieces = 0;
        while execute(rows, &insert).await.is_ok() {
            pieces += 1;
            ensure!(pieces < 1_000, "the tablespace has no end");
        }
    }
    Ok(())
}

/// Publishes contents with these ids. Pushes the acknowledged ones to `kept`; the others must be refused for lack of
/// room.
async fn publish(store: &SqlStore, ids: std::ops::Range<i64>, kept: &mut Vec<i64>) -> Result<usize> {
    let mut refused = 0;
    for id in ids {
        let mut new = content(id, 1, NOW + id);
        new.draft.text = "x".repeat(TEXT);
        match store.publish(new).await {
            Ok(Published::Created { .. }) => kept.push(id),
            Err(StoreError::TakesNoWrites(_)) => refused += 1,
            other => anyhow::bail!("content {id}: {other:?}"),
        }
    }
    Ok(refused)
}

on_each_backend! {
    on mariadb, mysql;
    async fn a_full_tablespace_refuses_changes_and_loses_none_that_were_acknowledged(backend: Backend) -> Result<()> {
        let server = server(backend).await?;
        let database = EmptyDatabase::on(&server).await?.migrated().await?;
        let patience = Duration::from_mins(1);
        let url = database.url.clone();
        let options = SqlOptions { url, max_connections: 2, acquire_timeout: patience, statement_timeout: patience };
        let store = SqlStore::connect(&options).await?;
        for id in 1..=2 {
            store.register(account(id, &format!("user_{id}"))).await?;
        }
        store.follow(user(2), user(1), EdgeMode::Fill, 7, NOW).await?;
        let mut kept = Vec::new();
        ensure!(publish(&store, 1..6, &mut kept).await? == 0);

        let rows = connect_sql(&database.url).await?;
        fill(&rows).await?;
        let refused = publish(&store, 6..46, &mut kept).await?;
        ensure!(refused > 0, "there is room still");
        let known = store.writes().borrow().clone();
        ensure!(matches!(known, Writes::Refused(_)), "{known:?}");
        let ids: Vec<_> = (1..100).map(content_id).collect();
        let read =
            async || anyhow::Ok(store.by_ids(None, &ids).await?.iter().map(|it| it.id.get()).collect::<Vec<_>>());
        let sorted = |mut ids: Vec<i64>| {
            ids.sort_unstable();
            ids
        };
        ensure!(sorted(read().await?) == kept, "reads go on, and say what was acknowledged");

        ensure!(matches!(store.probe_writes().await, Err(StoreError::TakesNoWrites(_))), "a probe finds room");

        execute(&rows, "DROP TABLE filler").await?;
        let room = async {
            while store.probe_writes().await.is_err() {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(patience, room).await.context("the server takes back what the table had")?;
        ensure!(*store.writes().borrow() == Writes::Taken);
        ensure!(publish(&store, 50..60, &mut kept).await? == 0);
        ensure!(sorted(read().await?) == kept);
        ensure!(sorted(numbers(&rows, "SELECT content_id FROM deliveries").await?) == kept, "each with its delivery");
        ensure!(numbers(&rows, "SELECT COUNT(*) FROM sign_in_attempts").await? == [0], "a probe leaves nothing");
        Ok(())
    }
}
