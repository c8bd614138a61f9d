//! Tests a server that refuses writes for a reason of its own: it is known to, readers go on, and `doctor` says why.

use anyhow::{Context as _, Result, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::store::{
    Accounts as _, Inspect as _, StoreError,
    inspection::Verdict,
    sql::{SqlStore, Writes},
};

use crate::binary::process::until;
use crate::servers::{Kind, Recipe, Server, connect_sql, execute, numbers, on_each_backend, open_store, shared};
use crate::store::conformance::{account, user};

/// What makes the server refuse, what ends it, and what the reason says.
const CAUSES: [(&str, &str, &str); 4] = [
    ("SET GLOBAL binlog_format = 'STATEMENT'", "SET GLOBAL binlog_format = 'ROW'", "BINLOG_FORMAT = STATEMENT"),
    ("SET GLOBAL tx_read_only = 1", "SET GLOBAL tx_read_only = 0", "READ ONLY transaction"),
    ("REVOKE DELETE ON feed.* FROM t", "GRANT DELETE ON feed.* TO t", "command denied"),
    ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", "--read-only"),
];

async fn verdict(store: &SqlStore, subject: &str) -> Result<Verdict> {
    let findings = [store.inspect().await, store.inspect_tables().await].concat();
    Ok(findings.iter().find(|it| it.subject == subject).context("no such finding")?.verdict)
}

/// It may be a former primary, whose name leads to another server by now. Nobody else is this user.
async fn a_read_only_server_is_left(rows: &DatabaseConnection, url: &str) -> Result<()> {
    let open = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist WHERE user = 't'";
    let store = open_store(url).await?;
    store.counts(&[user(1)]).await?;
    let before = numbers(rows, open).await?;
    execute(rows, "SET GLOBAL read_only = 1").await?;
    let refused = store.register(account(9, "user_9")).await;
    ensure!(matches!(refused, Err(StoreError::TakesNoWrites(_))), "{refused:?}");
    until("no former connection is open", async || {
        store.counts(&[user(1)]).await?;
        let now = numbers(rows, open).await?;
        Ok(!now.is_empty() && now.iter().all(|id| !before.contains(id)))
    })
    .await
}

on_each_backend! {
    on mariadb;
    async fn a_server_that_refuses_writes_is_known_to_refuse_them(_backend: Backend) -> Result<()> {
        let kind = Kind::MariaDb;
        let recipe = Recipe { more: "--log-bin --binlog-format=ROW".to_owned(), ..kind.recipe() };
        let server = Server::start_from(kind, &recipe).await?;
        let rows = connect_sql(&server.url()).await?;
        execute(&rows, "CREATE DATABASE feed CHARACTER SET utf8mb4").await?;
        open_store(&format!("{}feed", server.url())).await?.migrate().await?;
        execute(&rows, "CREATE USER t").await?;
        execute(&rows, "GRANT SELECT, INSERT, UPDATE, DELETE ON feed.* TO t").await?;
        let url = format!("mysql://t@127.0.0.1:{}/feed", server.port());
        for ((refuse, allow, reason), id) in CAUSES.into_iter().zip(1..) {
            execute(&rows, refuse).await?;
            let store = open_store(&url).await?;
            // A right may be missing in a table that this change does not use: a probe asks for all of them.
            let written = store.register(account(id, &format!("user_{id}"))).await;
            let probed = store.probe_writes().await;
            ensure!(matches!(probed, Err(StoreError::TakesNoWrites(_))), "{refuse}: {probed:?}, {written:?}");
            let known = store.writes().borrow().clone();
            ensure!(matches!(&known, Writes::Refused(why) if why.contains(reason)), "{refuse}: {known:?}");
            ensure!(verdict(&store, "writes").await? == Verdict::Broken, "{refuse}");
            let of_log = if refuse.contains("binlog") { Verdict::Broken } else { Verdict::Fine };
            ensure!(verdict(&store, "binary log").await? == of_log, "{refuse}");
            store.counts(&[user(1)]).await.context(refuse)?;
            execute(&rows, allow).await?;
            let store = open_store(&url).await?;
            store.probe_writes().await.context(allow)?;
            ensure!(*store.writes().borrow() == Writes::Taken);
        }
        a_read_only_server_is_left(&rows, &url).await
    }
}

on_each_backend! {
    on mysql;
    /// The shared server speaks no TLS.
    async fn a_password_that_would_be_sent_in_the_clear_is_refused_with_a_remedy(_backend: Backend) -> Result<()> {
        let server = shared(Kind::Mysql).await?;
        let rows = connect_sql(&server.url()).await?;
        execute(&rows, "CREATE USER with_password IDENTIFIED BY 'p'").await?;
        let refused = open_store(&format!("mysql://with_password:p@127.0.0.1:{}/mysql", server.port())).await;
        let message = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(message.contains("remove ssl-mode=DISABLED"), "{message}");
        execute(&rows, "DROP USER with_password").await
    }
}
