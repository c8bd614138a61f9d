//! Counts the rows that a delivery touches on a private server: it reads only the followers that it serves.

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::delivery::{DeliveryPolicy, EdgeRule},
    store::{
        Deliveries as _, Follows as _,
        deliveries::{AtOnce, First},
    },
};

use crate::{
    servers::{FreshDatabase, Kind, Server},
    store::{
        conformance::{World, rows::entry, user},
        rows_touched::{read_by, rows_read},
    },
};

/// The author's id.
const STAR: i64 = 9_000_000;

/// An author with a hundred thousand followers, 200 of whom are pushed to.
async fn a_delivery_touches_its_targets(kind: Kind) -> Result<()> {
    let server = Server::start(kind).await?;
    let world = World::in_database(FreshDatabase::on(&server).await?).await?;
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
    let overhead = {
        let before = rows_read(&world).await?;
        rows_read(&world).await? - before
    };
    let (before, written) = (rows_read(&world).await?, read_by(&world, "Handler_write").await?);
    let (store, id) = (&world.store, content.content);
    let policy =
        DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 5_000, active_days: 7 }, dormant_days: 30 };
    ensure!(store.deliver_at_once(id, 1_000, &policy).await? == AtOnce::ToBeCut);
    let first = First { more_than: 1_000, seen_since_ms: 0, most: 1_000 };
    ensure!(store.serve_first(id, first).await? == 0, "one transaction serves them: nobody is first");
    ensure!(store.extend_chain(id, 1_000, 100).await?);
    let open = store.open_subtasks(id).await?;
    ensure!(open.len() == 1, "200 targets make one subtask: {open:?}");
    let readers = store.pushed_readers(user(STAR), open[0].progress.range, Some(0)).await?;
    ensure!(readers.is_empty(), "all were seen");
    let subtask = store.take_subtask(id, 0, 100, 200).await?.context("a subtask")?;
    let pushed = store.push_batch(&subtask, 1_000).await?;
    ensure!(pushed.rows == 200 && store.finish(id).await?, "{pushed:?}");
    let written = read_by(&world, "Handler_write").await? - written;
    let touched = rows_read(&world).await? - before - 3 * overhead + written;
    ensure!(touched < 2_000, "{touched} rows touched for 200 targets, {written} of them written");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_touches_its_targets_and_not_all_followers_on_mariadb() -> Result<()> {
    a_delivery_touches_its_targets(Kind::MariaDb).await
}

mod on_mysql {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_delivery_touches_its_targets_and_not_all_followers() -> anyhow::Result<()> {
        super::a_delivery_touches_its_targets(super::Kind::Mysql).await
    }
}
