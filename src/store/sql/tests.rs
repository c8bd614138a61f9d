//! Tests what the adapter promises beyond the ports, on SQLite. tests/it runs the ports' suites on every engine.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod faults;
mod plans;

use std::time::Duration;

use sql_driver::{Fragment, Runs};

use super::*;
use crate::{
    domain::{
        ContentId,
        delivery::{DeliveryPolicy, EdgeRule},
    },
    store::{Deliveries, Schema, deliveries::AtOnce},
};

fn options(folder: &tempfile::TempDir) -> SqlOptions {
    SqlOptions {
        url: format!("sqlite://{}", folder.path().join("deeper/tidefeed.db").display()),
        max_connections: 4,
        acquire_timeout: Duration::from_mins(1),
        statement_timeout: Duration::from_mins(1),
    }
}

/// Runs `work` beside the test, on the test's runtime.
fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> tokio::task::JoinHandle<T> {
    tokio::runtime::Handle::current().spawn(work)
}

/// SQLite's plan of a statement, a line for each step.
pub(super) async fn plan(store: &SqlStore, Fragment { text, values }: Fragment) -> String {
    let rows = store.read(&format!("EXPLAIN QUERY PLAN {text}"), values).await.unwrap();
    rows.iter().map(|row| row.get::<String>(3).unwrap() + "\n").collect()
}

/// A store on a new file with all tables.
pub(super) async fn migrated(folder: &tempfile::TempDir) -> SqlStore {
    let store = SqlStore::connect(&options(folder)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// A statement that ends only when its caller no longer waits.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n";

/// Whether all readers are in use.
async fn is_exhausted(store: &SqlStore) -> bool {
    tokio::time::timeout(Duration::from_millis(200), store.ping()).await.is_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_go_on_while_all_readers_are_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let read = |store: SqlStore| async move { store.read(ENDLESS, []).await.map(drop) };
    let reads: Vec<_> = (0..4).map(|_| spawn(read(store.clone()))).collect();
    while !is_exhausted(&store).await {}
    let separate = store.with_own_connections(&SqlOptions { max_connections: 1, ..options(&folder) }).await.unwrap();
    let (id, rule) = (ContentId::try_new(1).unwrap(), EdgeRule::Random { seed: 1 });
    let policy = DeliveryPolicy { rule, dormant_days: 1 };
    assert_eq!(separate.deliver_at_once(id, 1, &policy).await.unwrap(), AtOnce::Ended { rows: 0 });
    assert!(separate.open_subtasks(id).await.unwrap().is_empty());
    assert!(is_exhausted(&store).await, "readers were free all the while");
    reads.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn statistics_are_made_when_tables_have_grown_much() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let follow = async |from: i64, through: i64| {
        let sql = "WITH RECURSIVE n (i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?) \
                   INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) SELECT i, 1, 2, 1, 1 FROM n";
        store.write(sql, [from.into(), through.into()]).await.unwrap();
        store.refresh_statistics().await.unwrap();
        let sql = "SELECT stat FROM sqlite_stat1 WHERE tbl = 'follows' AND idx = 'fans'";
        store.read(sql, []).await.unwrap()[0].get::<String>(0).unwrap()
    };
    let first = follow(1, 2_000).await;
    assert!(!first.is_empty());
    assert_eq!(follow(2_001, 2_010).await, first, "ten more change nothing");
    assert_ne!(follow(2_011, 90_000).await, first);
}

#[tokio::test]
async fn a_missing_file_is_made_and_migrated_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&options(&folder)).await.unwrap();
    store.ping().await.unwrap();
    let all = [
        "m20261121_000001_tables",
        "m20261121_000002_exclusions",
        "m20261121_000003_policy",
        "m20261121_000004_accounts",
        "m20261121_000005_social",
        "m20261121_000006_search",
        "m20261122_000007_deletions",
        "m20261123_000008_people",
        "m20261123_000009_fill_user_names",
        "m20261123_000010_media",
        "m20261124_000011_versions",
        "m20261124_000012_counters",
        "m20261124_000013_targets",
        "m20261124_000014_outside",
        "m20261124_000015_reactions",
        "m20261126_000016_search_tasks",
        "m20261127_000017_services",
        "m20261127_000018_external_ids",
        "m20261127_000019_spread_counts",
        "m20261127_000020_deactivations",
        "m20261128_000021_content_objects",
        "m20261128_000023_imports",
        "m20261128_000025_unseen",
    ];
    assert_eq!(store.pending_migrations().await.unwrap(), all);
    store.migrate().await.unwrap();
    store.migrate().await.unwrap();
    assert!(store.pending_migrations().await.unwrap().is_empty());
}
