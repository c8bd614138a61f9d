//! Tests the pool of migrated databases: each caller gets all tables without rows, and nothing that an earlier caller
//! has left behind can reach them.

use anyhow::{Context as _, Result, ensure};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, TransactionTrait as _};

use crate::{
    binary::process::until,
    servers::{
        Backend, DatabasePool, Kind, MigratedDatabase, Server, connect_sql, connect_sql_within, execute, numbers,
        on_each_backend, sessions, shared,
    },
};

const USER: &str = "INSERT INTO users (id, handle, name, bio, created_at) VALUES (7, 'ann', 'Ann', '', 1)";

async fn server(backend: Backend) -> Result<&'static Server> {
    shared(if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb }).await
}

/// A pool that no other test uses.
async fn pool(backend: Backend) -> Result<&'static DatabasePool> {
    Ok(Box::leak(Box::new(DatabasePool::on(server(backend).await?))))
}

fn name(database: &MigratedDatabase) -> Result<String> {
    Ok(database.url.rsplit_once('/').context("a name")?.1.to_owned())
}

async fn users(database: &DatabaseConnection) -> Result<i64> {
    numbers(database, "SELECT COUNT(*) FROM users").await?.first().copied().context("no count")
}

on_each_backend! {
    async fn a_migrated_database_has_tables_without_rows_and_is_apart(backend: Backend) -> Result<()> {
        let (one, other) = (backend.migrated_database().await?, backend.migrated_database().await?);
        let (first, second) = (connect_sql(&one.url).await?, connect_sql(&other.url).await?);
        ensure!((users(&first).await?, users(&second).await?) == (0, 0));
        execute(&first, USER).await?;
        ensure!((users(&first).await?, users(&second).await?) == (1, 0));
        Ok(())
    }
}

mod returned {
    use super::*;

    on_each_backend! {
        on mariadb, mysql;
        async fn a_returned_database_is_lent_again_without_rows(backend: Backend) -> Result<()> {
            let pool = pool(backend).await?;
            let database = pool.lend().await?;
            let first = name(&database)?;
            let past = connect_sql(&database.url).await?;
            execute(&past, USER).await?;
            past.close().await?;
            drop(database);
            until("it is lent again", async || {
                let database = pool.lend().await?;
                let rows = connect_sql(&database.url).await?;
                ensure!(users(&rows).await? == 0);
                Ok(name(&database)? == first)
            })
            .await
        }

        async fn a_database_with_an_open_connection_waits_for_its_end(backend: Backend) -> Result<()> {
            let pool = pool(backend).await?;
            let database = pool.lend().await?;
            let (first, url) = (name(&database)?, database.url.clone());
            let past = connect_sql(&url).await?;
            let open = past.begin().await?;
            open.execute_unprepared(USER).await?;
            drop(database);
            let lent = pool.lend().await?;
            ensure!(name(&lent)? != first, "a transaction is open in it");
            ensure!(name(&pool.lend().await?)? != first, "asked again, a transaction is still open in it");
            let late = connect_sql_within(&url, std::time::Duration::from_secs(1)).await;
            ensure!(late.is_err(), "who had it can connect still");
            open.commit().await?;
            past.close().await?;
            until("it is lent again", async || Ok(name(&pool.lend().await?)? == first)).await
        }

        async fn a_lent_database_refuses_to_alter_tables(backend: Backend) -> Result<()> {
            let database = backend.migrated_database().await?;
            let rows = connect_sql(&database.url).await?;
            for sql in [
                "ALTER TABLE users ADD COLUMN shoe_size INT",
                "CREATE TABLE marks (id BIGINT PRIMARY KEY)",
                "CREATE INDEX marks ON users (created_at)",
                "DROP TABLE users",
                "TRUNCATE TABLE users",
                "SET GLOBAL max_connections = 1",
            ] {
                let refused = rows.execute_unprepared(sql).await.err().with_context(|| sql.to_owned())?.to_string();
                ensure!(refused.contains("denied"), "{sql}: {refused}");
            }
            Ok(())
        }

        async fn a_database_with_other_migrations_is_never_lent_again(backend: Backend) -> Result<()> {
            let pool = pool(backend).await?;
            let database = pool.lend().await?;
            let first = name(&database)?;
            let past = connect_sql(&database.url).await?;
            execute(&past, "DELETE FROM seaql_migrations").await?;
            past.close().await?;
            drop(database);
            let root = connect_sql(&server(backend).await?.url()).await?;
            until("nobody is connected", async || {
                Ok(!sessions(&root).await?.iter().any(|it| it.database.as_ref() == Some(&first)))
            })
            .await?;
            ensure!(name(&pool.lend().await?)? != first);
            Ok(())
        }
    }
}
