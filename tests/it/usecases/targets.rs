//! Counts the rows that a delivery touches: it reads only the followers that it serves.

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, StatementStatus};
use tidefeed::{
    domain::{
        ContentId, Entry,
        delivery::{
            DeliveryPolicy, EdgeRule,
            subtask::{END, Range},
        },
    },
    store::{
        Deliveries as _, Follows as _,
        deliveries::{AtOnce, First, Lease},
        sql::HotStatement,
    },
};

use crate::{
    servers::{EmptyDatabase, Kind, MigratedDatabase, Server},
    store::{
        conformance::{World, rows::entry, user},
        rows_touched::{read_by, rows_read},
    },
};

/// The author's id.
const STAR: i64 = 9_000_000;
/// Targets of a subtask, and of a batch.
const SIZE: u32 = 1_000;

/// An author with a hundred thousand followers, of whom 200 are pushed to, and a content to be delivered.
async fn in_database(database: MigratedDatabase) -> Result<(World, Entry)> {
    let world = World::in_database(database).await?;
    world.hurry().await?;
    let edges: Vec<String> =
        (1..=100_000).map(|fan| format!("({fan}, {STAR}, {}, 1, 1)", if fan % 500 == 0 { 2 } else { 0 })).collect();
    world.insert("follows", "follower_id, author_id, mode, inc, followed_at", &edges).await?;
    let states: Vec<String> = (1..=100_000).map(|reader| format!("({reader}, 1, 1, 1)")).collect();
    world.insert("inbox_states", "user_id, floor_time, floor_content, last_seen", &states).await?;
    world.insert("user_counts", "user_id, followers", &[format!("({STAR}, 100000)")]).await?;
    let content = entry(77, user(STAR), 1_000);
    world.put_contents(&[content]).await?;
    world.deliver(&[content]).await?;
    world.analyze().await?;
    Ok((world, content))
}

/// The delivery from its beginning to its end.
async fn deliver(world: &World, id: ContentId) -> Result<()> {
    let store = &world.store;
    let policy =
        DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 5_000, active_days: 7 }, dormant_days: 30 };
    ensure!(store.deliver_at_once(id, SIZE, &policy).await? == AtOnce::ToBeCut);
    let first = First { more_than: SIZE, seen_since_ms: 0, most: 1_000 };
    ensure!(store.serve_first(id, first).await? == 0, "one transaction serves them: nobody is first");
    ensure!(store.extend_chain(id, SIZE, 100).await?);
    let open = store.open_subtasks(id).await?;
    ensure!(open.len() == 1, "200 targets make one subtask: {open:?}");
    let readers = store.pushed_readers(user(STAR), open[0].progress.range, Some(0)).await?;
    ensure!(readers.is_empty(), "all were seen");
    let subtask = store.take_subtask((id, 0), Lease { now_ms: 100, until_ms: 200 }).await?.context("a subtask")?;
    let pushed = store.push_batch(&subtask, SIZE).await?;
    ensure!(pushed.rows == 200 && store.finish(id).await?, "{pushed:?}");
    Ok(())
}

async fn a_delivery_touches_its_targets(kind: Kind) -> Result<()> {
    let server = Server::start(kind).await?;
    let (world, content) = in_database(EmptyDatabase::on(&server).await?.migrated().await?).await?;
    let overhead = {
        let before = rows_read(&world).await?;
        rows_read(&world).await? - before
    };
    let (before, written) = (rows_read(&world).await?, read_by(&world, "Handler_write").await?);
    deliver(&world, content.content).await?;
    let written = read_by(&world, "Handler_write").await? - written;
    let touched = rows_read(&world).await? - before - 3 * overhead + written;
    ensure!(touched < 2_000, "{touched} rows touched for 200 targets, {written} of them written");
    Ok(())
}

/// Steps of SQLite's machine for this statement, some for each row that it looks at; and how many rows it walked past
/// without an index.
fn steps(database: &Connection, sql: &str) -> Result<(i64, i64)> {
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    drop(rows);
    let status = |of| i64::from(statement.get_status(of));
    Ok((status(StatementStatus::VmStep), status(StatementStatus::FullscanStep)))
}

/// The store's own connections count for nobody else, so the statements on `follows` that a delivery sends are run on
/// another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_touches_its_targets_and_not_all_followers_on_sqlite() -> Result<()> {
    let database = MigratedDatabase::sqlite().await?;
    let file = database.url.trim_start_matches("sqlite://").split('?').next().context("a file")?.to_owned();
    let (world, content) = in_database(database).await?;
    let past = Connection::open(file)?;
    let (star, all) = (user(STAR), Range { after: 0, through: END });
    let end_of_range = [HotStatement::Filling(star, all), HotStatement::Targets(star, all, SIZE)];
    // Asked before those who are first, before the range is cut, and before the batch.
    let ends = [end_of_range.clone(), end_of_range.clone(), end_of_range].into_iter().flatten();
    let statements = ends.chain([HotStatement::PushedReaders(star, all), HotStatement::FanOut(content, all)]);
    past.execute_batch("BEGIN")?;
    let mut taken = 0;
    for statement in statements {
        let name = format!("{statement:?}");
        let (steps, scanned) = steps(&past, &world.store.spell_out(statement))?;
        ensure!(scanned == 0, "{name} walks past {scanned} rows");
        taken += steps;
    }
    ensure!(past.changes() == 200, "{} rows are written", past.changes());
    past.execute_batch("ROLLBACK")?;
    ensure!(taken < 20_000, "{taken} steps for 200 targets");
    let walk = format!("SELECT COUNT(*) FROM follows WHERE author_id = {STAR} AND mode + 0 > 0");
    let (walked, _) = steps(&past, &walk)?;
    ensure!(walked > 10 * taken, "a walk over all followers takes {walked} steps, the delivery {taken}");
    deliver(&world, content.content).await
}

mod mariadb {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_delivery_touches_its_targets_and_not_all_followers() -> anyhow::Result<()> {
        super::a_delivery_touches_its_targets(super::Kind::MariaDb).await
    }
}

mod mysql {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_delivery_touches_its_targets_and_not_all_followers() -> anyhow::Result<()> {
        super::a_delivery_touches_its_targets(super::Kind::Mysql).await
    }
}
