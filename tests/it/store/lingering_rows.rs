//! Tests that the statements of the queues read few pages while an open snapshot keeps the engine from purging
//! 200 000 deleted rows.

use anyhow::{Context as _, Result, ensure};
use sea_orm::{ConnectionTrait as _, DatabaseTransaction, IsolationLevel, TransactionTrait as _};
use tidefeed::{domain::Floor, store::Inboxes as _};

use crate::{
    servers::{EmptyDatabase, Kind, Server, connect_sql},
    store::{
        conformance::{World, user},
        rows_touched::read_by,
    },
};

/// Rows that are gone and linger.
const GONE: i64 = 200_000;

/// A server without other users, so that its counters count only the caller.
struct Lingering {
    world: World,
    url: String,
    _server: Server,
}

impl Lingering {
    async fn start() -> Result<Self> {
        let server = Server::start(Kind::MariaDb).await?;
        let database = EmptyDatabase::on(&server).await?.migrated().await?;
        let url = database.url.clone();
        Ok(Self { world: World::in_database(database).await?, url, _server: server })
    }

    /// Nothing that is deleted from now on is purged before this transaction ends.
    async fn hold_purge_back(&self) -> Result<DatabaseTransaction> {
        let connection = connect_sql(&self.url).await?;
        let snapshot = connection.begin_with_config(Some(IsolationLevel::RepeatableRead), None).await?;
        snapshot.execute_unprepared("SELECT COUNT(*) FROM users").await?;
        Ok(snapshot)
    }

    /// Pages that a statement asks for, the least of some tries: the server's own threads read pages, too.
    async fn pages<T>(&self, statement: impl AsyncFn() -> Result<T>) -> Result<i64> {
        let mut least = i64::MAX;
        for _ in 0..5 {
            let before = read_by(&self.world, "Innodb_buffer_pool_read_requests").await?;
            statement().await?;
            least = least.min(read_by(&self.world, "Innodb_buffer_pool_read_requests").await? - before);
        }
        Ok(least)
    }
}

async fn turning_readers_off_passes_over_those_who_are_off() -> Result<()> {
    let it = Lingering::start().await?;
    let columns = "INSERT INTO inbox_states (user_id, floor_time, floor_content, last_seen) SELECT";
    it.world.run(&format!("{columns} seq, IF(seq % 2, NULL, 1), 1, seq FROM seq_1_to_{GONE}")).await?;
    let snapshot = it.hold_purge_back().await?;
    it.world.run("UPDATE inbox_states SET floor_time = NULL, floor_content = NULL").await?;
    it.world.run(&format!("{columns} {GONE} + seq, 1, 1, {GONE} FROM seq_1_to_40")).await?;
    let none = it.pages(async || Ok(it.world.store.turn_off_unseen(GONE, 200).await?)).await?;
    ensure!(none < 1_000, "{none} pages to find that nobody is to be turned off");
    ensure!(it.world.store.turn_off_unseen(GONE + 1, 200).await? == 40);
    ensure!(it.world.store.floor(user(GONE + 1)).await? == Floor::Off);
    snapshot.rollback().await.context("the snapshot lasted")
}

mod mariadb {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn turning_readers_off_passes_over_those_who_are_off() -> anyhow::Result<()> {
        super::turning_readers_off_passes_over_those_who_are_off().await
    }
}
