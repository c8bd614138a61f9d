//! Moves from one way to deploy to the next, as docs/scaling.md describes them, while clients read and write: every
//! page is exact before, meanwhile and afterwards.

use anyhow::{Context as _, Result, ensure};

use crate::deployment::{Change, PrimaryStore, RedisSetup};
use crate::run::Run;
use crate::servers::numbers;

/// Calls of the API between two moves, at least.
const CALLS: u64 = 400;
const REPLICAS: &str = "TIDEFEED__STORE__REPLICAS";
const INBOX_STORE: &str = "TIDEFEED__INBOX__STORE";
const NO_REPLICA: (&str, &str) = (REPLICAS, "[]");
/// Statements that asking a replica for its statements takes, at most.
const ASKING: i64 = 20;
const IN_SQL: (&str, &str) = (INBOX_STORE, "sql");

/// Moves while clients work, and checks everything.
async fn moved(run: &mut Run, change: Change<'_>) -> Result<()> {
    let before = run.operations();
    run.change(CALLS, change).await.with_context(|| format!("{change:?}"))?;
    ensure!(run.operations() >= before + CALLS, "clients have hardly worked");
    run.verdict().with_context(|| format!("{change:?}"))
}

/// Statements that a replica has run for nodes, and for asking this.
async fn reads_on_replica(run: &Run) -> Result<i64> {
    run.deployment.replica.as_ref().context("no replica")?.reads().await
}

async fn to_replicas_and_back(primary_store: PrimaryStore) -> Result<()> {
    let mut run = Run::start((primary_store, RedisSetup::Redis), 1).await?;
    let address = run.deployment.setting(REPLICAS).context("it has no replica")?;
    moved(&mut run, Change::OneByOne(NO_REPLICA)).await?;
    let without = reads_on_replica(&run).await?;
    run.work(CALLS).await?;
    ensure!(reads_on_replica(&run).await? < without + ASKING, "a node reads on a replica that it was not told of");
    moved(&mut run, Change::OneByOne((REPLICAS, &address))).await?;
    ensure!(reads_on_replica(&run).await? > without + 2 * ASKING, "nobody reads on the replica");
    moved(&mut run, Change::OneByOne(NO_REPLICA)).await
}

/// Readers whose inboxes lie outside SQL.
async fn outside(run: &Run) -> Result<i64> {
    let counted =
        numbers(&run.deployment.database().await?, "SELECT COUNT(*) FROM inbox_states WHERE tier = 1").await?;
    counted.first().copied().context("nothing is counted")
}

async fn to_inboxes_outside_and_back(setup: RedisSetup) -> Result<()> {
    let mut run = Run::start((PrimaryStore::MariaDb, setup), 1).await?;
    let store = run.deployment.setting(INBOX_STORE).context("no inboxes outside SQL")?;
    for _ in 0..2 {
        moved(&mut run, Change::AllAtOnce(IN_SQL, &["inbox", "move"])).await?;
        ensure!(outside(&run).await? == 0, "an inbox was left outside SQL");
        moved(&mut run, Change::OneByOne((INBOX_STORE, &store))).await?;
        ensure!(outside(&run).await? > 0, "no inbox has moved");
    }
    ensure!(run.operations() > 4 * CALLS);
    Ok(())
}

mod mariadb {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn a_move_to_replicas_and_back_shows_in_no_page() -> Result<()> {
        to_replicas_and_back(PrimaryStore::MariaDbReplicated).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn a_move_of_inboxes_into_redis_and_back_shows_in_no_page() -> Result<()> {
        to_inboxes_outside_and_back(RedisSetup::RedisInboxes).await
    }

    mod cassandra {
        use super::*;

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "minutes, with three Java processes: `make chaos` runs it"]
        async fn a_move_of_inboxes_and_back_shows_in_no_page() -> Result<()> {
            to_inboxes_outside_and_back(RedisSetup::CassandraInboxes).await
        }
    }
}

mod mysql {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "`make chaos` runs it"]
    async fn a_move_to_replicas_and_back_shows_in_no_page() -> Result<()> {
        to_replicas_and_back(PrimaryStore::MysqlReplicated).await
    }
}
