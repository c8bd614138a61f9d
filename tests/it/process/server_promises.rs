//! Tests the servers of the tests: they answer, stay apart, come back on their port, and leave nothing behind.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sea_orm::ConnectionTrait as _;
use tokio::time::Instant;

use crate::servers::{
    Kind, Recipe, Server, connect_redis, connect_sql, fresh_keys, is_running, on_each_backend, redis_cluster, shared,
};

/// Set for the copy of this binary that will be killed.
const HOLD: &str = "TIDEFEED_TEST_HOLDS_A_SERVER";

on_each_backend! {
    async fn an_empty_database_is_apart(backend: Backend) -> Result<()> {
        let (one, other) = (backend.empty_database().await?, backend.empty_database().await?);
        let (first, second) = (connect_sql(&one.url).await?, connect_sql(&other.url).await?);
        first.execute_unprepared("CREATE TABLE marks (id BIGINT PRIMARY KEY)").await?;
        second.execute_unprepared("CREATE TABLE marks (id BIGINT PRIMARY KEY)").await?;
        first.execute_unprepared("INSERT INTO marks VALUES (1)").await?;
        assert_eq!(second.execute_unprepared("DELETE FROM marks").await?.rows_affected(), 0);
        assert_eq!(first.execute_unprepared("DELETE FROM marks").await?.rows_affected(), 1);
        Ok(())
    }
}

mod outage {
    use sea_orm::ConnectionTrait as _;

    use super::Result;
    use crate::servers::{Backend, EmptyDatabase, Kind, Server, connect_sql, is_running, on_each_backend};

    on_each_backend! {
        on mariadb, mysql;
        async fn a_killed_server_comes_back_on_its_port_with_its_rows(backend: Backend) -> Result<()> {
            let kind = if backend == Backend::Mysql { Kind::Mysql } else { Kind::MariaDb };
            let server = Server::start(kind).await?;
            let database = EmptyDatabase::on(&server).await?;
            let before = crate::servers::connect_sql_within(&database.url, std::time::Duration::from_secs(10)).await?;
            before.execute_unprepared("CREATE TABLE marks (id BIGINT PRIMARY KEY)").await?;
            before.execute_unprepared("INSERT INTO marks VALUES (1), (2)").await?;
            let first_pid = server.pid();
            server.kill().await?;
            assert!(!is_running(first_pid));
            assert!(before.execute_unprepared("DELETE FROM marks").await.is_err());
            server.restart().await?;
            assert_ne!(server.pid(), first_pid);
            let after = connect_sql(&database.url).await?;
            assert_eq!(after.execute_unprepared("DELETE FROM marks").await?.rows_affected(), 2);
            Ok(())
        }
    }
}

mod redis_cluster {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_redis_cluster_spreads_keys_over_three_masters() -> Result<()> {
        let cluster = redis_cluster().await?;
        let client = redis::cluster::ClusterClient::builder(cluster.urls())
            .connection_timeout(Duration::from_mins(1))
            .build()?;
        let mut connection = client.get_async_connection().await?;
        for key in 0..60 {
            let () = redis::cmd("SET").arg(format!("spread:{key}")).arg(key).query_async(&mut connection).await?;
        }
        let mut total = 0;
        for node in cluster.nodes() {
            let mut own = connect_redis(&node.url()).await?;
            let held: i64 = redis::cmd("DBSIZE").query_async(&mut own).await?;
            assert!(held > 0, "the master on port {} holds no key", node.port());
            total += held;
        }
        assert!(total >= 60, "{total} of 60 keys are there");
        Ok(())
    }
}

/// Runs this very test in a separate process, which starts a server, and kills that process. Returns the server's id
/// and folder.
fn killed_holder(kind: Kind) -> Result<(u32, PathBuf)> {
    let mut holder = Command::new(std::env::current_exe()?)
        .args([
            "--exact",
            "process::server_promises::redis_server::a_server_is_gone_when_its_test_process_is_killed",
            "--nocapture",
        ])
        .env(HOLD, format!("{kind:?}"))
        .stdout(Stdio::piped())
        .spawn()?;
    let output = BufReader::new(holder.stdout.take().context("the holder has no output")?);
    let held = output
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.split_once("holding ").map(|(_, held)| held.to_owned()));
    let (pid, folder) =
        held.as_deref().and_then(|held| held.split_once(' ')).context("the holder has started nothing")?;
    let held = (pid.parse()?, PathBuf::from(folder));
    ensure!(is_running(held.0) && held.1.exists(), "the holder's server does not run");
    holder.kill()?; // SIGKILL
    holder.wait()?;
    Ok(held)
}

#[expect(clippy::disallowed_methods, reason = "the environment is how a process tells its copy what to do")]
fn kind_to_hold() -> Option<Kind> {
    let wanted = std::env::var(HOLD).ok()?;
    [Kind::MariaDb, Kind::Redis].into_iter().find(|kind| format!("{kind:?}") == wanted)
}

#[expect(clippy::print_stdout, reason = "the test that waits for this process reads what it holds from its output")]
async fn hold_a_server(kind: Kind) -> Result<()> {
    let server = Server::start(kind).await?;
    println!("holding {} {}", server.pid(), server.folder().display());
    std::future::pending().await
}

#[tokio::test]
async fn a_missing_server_says_what_to_install() -> Result<()> {
    for (kind, remedy) in [(Kind::MariaDb, "scripts/install-servers.sh"), (Kind::Mysql, "scripts/fetch-mysql.sh")] {
        let recipe = Recipe { program: "no-such-server".to_owned(), ..kind.recipe() };
        let error = Server::start_from(kind, &recipe).await.err().context("a server without a program has started")?;
        assert!(error.to_string().contains(remedy), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_test_in_no_module_of_its_servers_gets_none() -> Result<()> {
    let refused = shared(Kind::Redis).await.err().context("it has got a server")?.to_string();
    ensure!(refused.contains("move it into a module `redis_server`"), "{refused}");
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test]
    async fn a_server_that_may_be_missing_wants_a_module_of_its_own() -> Result<()> {
        let refused = shared(Kind::Mysql).await.err().context("it has got a server")?.to_string();
        ensure!(refused.contains("move it into a module `mysql`"), "{refused}");
        Ok(())
    }

    #[tokio::test]
    async fn redis_gives_every_test_keys_of_its_own() -> Result<()> {
        let (one, other) = (fresh_keys().await?, fresh_keys().await?);
        assert_ne!(one.prefix, other.prefix);
        let mut connection = connect_redis(&one.url).await?;
        let key = format!("{}mark", one.prefix);
        let () = redis::cmd("SET").arg(&key).arg(7).query_async(&mut connection).await?;
        let mark: i64 = redis::cmd("GET").arg(&key).query_async(&mut connection).await?;
        assert_eq!(mark, 7);
        Ok(())
    }

    #[tokio::test]
    async fn a_killed_redis_comes_back_empty_on_its_port() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let mut before = connect_redis(&server.url()).await?;
        let () = redis::cmd("SET").arg("mark").arg(7).query_async(&mut before).await?;
        server.kill().await?;
        assert!(connect_redis(&server.url()).await.is_err());
        server.restart().await?;
        let mut after = connect_redis(&server.url()).await?;
        let mark: Option<i64> = redis::cmd("GET").arg("mark").query_async(&mut after).await?;
        assert_eq!(mark, None);
        Ok(())
    }

    #[tokio::test]
    async fn a_dropped_server_leaves_neither_process_nor_folder() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let (pid, folder) = (server.pid(), server.folder().to_owned());
        assert!(is_running(pid) && folder.exists());
        drop(server);
        assert!(!is_running(pid) && !folder.exists());
        Ok(())
    }

    #[tokio::test]
    async fn a_server_that_does_not_start_shows_its_last_words() -> Result<()> {
        let recipe = Recipe { serve: "echo out of paper; exit 1", ..Kind::Redis.recipe() };
        let error = Server::start_from(Kind::Redis, &recipe).await.err().context("a server that exits has started")?;
        assert!(error.to_string().contains("out of paper"), "{error}");
        Ok(())
    }

    #[tokio::test]
    async fn two_servers_of_a_kind_have_ports_and_folders_of_their_own() -> Result<()> {
        let (one, other, third) =
            tokio::try_join!(Server::start(Kind::Redis), Server::start(Kind::Redis), Server::start(Kind::Redis))?;
        let ports = HashSet::from([one.port(), other.port(), third.port()]);
        let folders = HashSet::from([one.folder(), other.folder(), third.folder()]);
        assert_eq!((ports.len(), folders.len()), (3, 3));
        Ok(())
    }

    #[tokio::test]
    async fn a_server_is_gone_when_its_test_process_is_killed() -> Result<()> {
        if let Some(kind) = kind_to_hold() {
            return hold_a_server(kind).await;
        }
        for kind in [Kind::MariaDb, Kind::Redis] {
            let (pid, folder) = killed_holder(kind)?;
            let deadline = Instant::now() + Duration::from_mins(2);
            while is_running(pid) || folder.exists() {
                ensure!(Instant::now() < deadline, "{kind:?} has outlived its test process");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(())
    }
}
