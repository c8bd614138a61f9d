//! Tests that deliveries have their own connections, so readers never make them wait.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use tidefeed::{
    app::{Settings, UseCases},
    store::sql::SqlOptions,
};
use tokio::time::timeout;

use super::world::{AUTHOR, ensure_delivered, followed_author, publish, user};
use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::{self, on_each_backend},
};

/// Connections of the harness's store.
const CONNECTIONS: i64 = 8;
const FOLLOWERS: i64 = 20;

/// Whether all connections of the harness's store are in use.
async fn is_exhausted(app: &TestApp) -> bool {
    timeout(Duration::from_millis(200), app.store.ping()).await.is_err()
}

/// The same use cases, with two connections for deliveries.
async fn delivering(app: &TestApp, settings: Settings) -> Result<UseCases> {
    let patience = Duration::from_mins(1);
    let options = SqlOptions {
        url: app.database_url().to_owned(),
        max_connections: 2,
        acquire_timeout: patience,
        statement_timeout: patience,
    };
    let ports = app.ports.clone().delivering_by(Arc::new(app.store.with_own_connections(&options).await?));
    Ok(UseCases::build(&ports, settings, &app.ambient()))
}

/// All holders of a connection wait for the last follower's counts. The delivery, cut or at once, does not wait.
async fn ends(app: Arc<TestApp>, settings: Settings) -> Result<()> {
    followed_author(&app, FOLLOWERS).await?;
    let entry = publish(&app).await?;
    let blocked = user(AUTHOR + FOLLOWERS);
    let other = servers::connect_sql(app.database_url()).await?;
    servers::execute(&other, "BEGIN").await?;
    servers::execute(&other, &format!("SELECT 1 FROM user_counts WHERE user_id = {blocked} FOR UPDATE")).await?;
    let waiting: Vec<_> = (1..=CONNECTIONS)
        .map(|number| {
            let app = Arc::clone(&app);
            tokio::spawn(async move { app.following.follow(user(AUTHOR + number), blocked).await })
        })
        .collect();
    while !is_exhausted(&app).await {}
    let workers = delivering(&app, settings).await?;
    while workers.dispatcher.run_once("apart", Duration::ZERO).await?
        + workers.executor.run_once("apart", Duration::ZERO).await?
        > 0
    {}
    ensure!(is_exhausted(&app).await, "connections were free all the while");
    servers::execute(&other, "ROLLBACK").await?;
    for follow in waiting {
        follow.await??;
    }
    ensure_delivered(&app, entry.content, FOLLOWERS).await?;
    ensure!(app.ports.deliveries.backlog(i64::MIN, 1).await?.unfinished == 0);
    Ok(())
}

on_each_backend! {
    on mariadb, mysql;
    async fn a_delivery_ends_while_all_other_connections_are_held(backend: Backend) -> Result<()> {
        ends(TestApp::start(backend, CacheBackend::NoCache).await?, settings()).await
    }

    async fn a_delivery_in_subtasks_ends_while_all_other_connections_are_held(backend: Backend) -> Result<()> {
        let cut = Settings { batch_size: 5, ..settings() };
        ends(TestApp::start_with(backend, CacheBackend::NoCache, cut).await?, cut).await
    }
}
