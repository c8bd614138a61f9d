//! Tests that the statements of the queues read few pages while an open snapshot keeps the engine from purging
//! 200 000 deleted rows.

use anyhow::{Context as _, Result, ensure};
use sea_orm::{ConnectionTrait as _, DatabaseTransaction, IsolationLevel, TransactionTrait as _};
use tidefeed::{
    domain::{
        Floor, PageRequest, PageSize,
        timeline::candidates::{Ask, CandidateLimits, Wanted},
    },
    store::{Deliveries, Inboxes as _, Relations, Timelines as _},
};

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

async fn sweeps_and_counts_begin_behind_deleted_rows() -> Result<()> {
    let it = Lingering::start().await?;
    let (store, waiting) = (&it.world.store, GONE + 100_000);
    for rows in [format!("seq FROM seq_1_to_{GONE}"), format!("{waiting} FROM seq_{waiting}_to_{}", waiting + 39)] {
        let deliveries = "INSERT INTO deliveries (content_id, author_id, publish_time, look_at) SELECT seq, 1, seq,";
        it.world.run(&format!("{deliveries} {rows}")).await?;
        let relations = "INSERT INTO relations (follower_id, author_id, version, look_at) SELECT seq, 1, 1,";
        it.world.run(&format!("{relations} {rows}")).await?;
    }
    let snapshot = it.hold_purge_back().await?;
    for table in ["deliveries", "relations"] {
        it.world.run(&format!("DELETE FROM {table} WHERE look_at <= {GONE}")).await?;
    }
    let (start, now) = (GONE + 1, waiting - 1);
    let mut pages = Vec::new();
    for from in [start, i64::MIN] {
        let due = async || Ok(Deliveries::due(store, from, now, waiting, 200).await?);
        let pairs = async || Ok(Relations::due(store, from, now, waiting, 200).await?);
        ensure!(due().await?.is_empty() && pairs().await?.is_empty());
        ensure!(store.backlog(from, 1).await?.unfinished == 40);
        let backlog = async || Ok(store.backlog(from, 1).await?);
        pages.push([it.pages(due).await?, it.pages(pairs).await?, it.pages(backlog).await?]);
    }
    ensure!(pages[0][0] < 30 && pages[0][1] < 30 && pages[0][2] < 300, "{pages:?} pages from the start, and of all");
    let newest = PageRequest::newest(PageSize::try_new(20)?);
    let of_inbox = Ask::of_inbox(CandidateLimits { ahead: newest.need(), behind: 4 }, Wanted::ENTRIES);
    it.world.run("INSERT INTO inbox_states (user_id, floor_time, floor_content) VALUES (1, 1, 1)").await?;
    let page = it.pages(async || Ok(store.candidates(user(1), &newest, &of_inbox).await?)).await?;
    ensure!(page < 600, "{page} pages for what is in flight of one page of a timeline");
    ensure!(Deliveries::due(store, start, waiting, waiting + 1, 200).await?.len() == 40);
    ensure!(Relations::due(store, start, waiting, waiting + 1, 200).await?.len() == 40);
    snapshot.rollback().await.context("the snapshot lasted")
}

mod mariadb {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn turning_readers_off_passes_over_those_who_are_off() -> anyhow::Result<()> {
        super::turning_readers_off_passes_over_those_who_are_off().await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sweeps_and_counts_begin_behind_deleted_rows() -> anyhow::Result<()> {
        super::sweeps_and_counts_begin_behind_deleted_rows().await
    }
}
