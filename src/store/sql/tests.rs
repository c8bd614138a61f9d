//! Tests what the adapter promises beyond the ports, on SQLite. tests/it runs the ports' suites on every engine.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::panic, reason = "a store of another engine fails the test")]

mod faults;
mod shared_commits;

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use super::{fragment::Fragment, open_transaction::Runs, sql_store::Writer, sqlite_writer::SqliteWriter, *};
use crate::{
    domain::{
        ContentId,
        delivery::{DeliveryPolicy, EdgeRule},
    },
    store::{Contents, Deliveries, Schema, StoreError, deliveries::AtOnce},
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

/// The connection that writes the store's file.
pub(super) fn writer(store: &SqlStore) -> &SqliteWriter {
    let Writer::File(writer, _) = &store.writer else { panic!("the store is on a server") };
    writer
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
    ];
    assert_eq!(store.pending_migrations().await.unwrap(), all);
    store.migrate().await.unwrap();
    store.migrate().await.unwrap();
    assert!(store.pending_migrations().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_rollback_undoes_the_writes_and_returns_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let insert = "INSERT INTO outbox_heads (author_id, stamp) VALUES (1, 1)";
    let given = store
        .transaction(move |tx| async move {
            tx.execute(insert, []).await?;
            tx.roll_back(7).await
        })
        .await;
    assert_eq!(given.unwrap(), 7);
    assert!(store.read("SELECT 1 FROM outbox_heads", []).await.unwrap().is_empty());
    let insert_it = || {
        store.transaction(move |tx| async move {
            let new = tx.insert(insert, []).await?;
            tx.commit(new).await
        })
    };
    assert!(insert_it().await.unwrap());
    assert!(!insert_it().await.unwrap(), "a key that is there is an outcome");
}

#[tokio::test]
async fn a_transaction_is_repeated_while_it_is_contended_and_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let calls = AtomicU32::new(0);
    let until = |enough: u32| {
        let calls = &calls;
        store.transaction(move |tx| async move {
            if calls.fetch_add(1, Ordering::SeqCst) + 1 < enough {
                return Err(StoreError::Contended("a deadlock".into()));
            }
            tx.commit(()).await
        })
    };
    until(3).await.unwrap();
    assert_eq!(calls.swap(0, Ordering::SeqCst), 3);
    assert!(matches!(until(u32::MAX).await, Err(StoreError::Contended(_))));
    assert_eq!(calls.swap(0, Ordering::SeqCst), 6);
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    assert!(store.read("DELETE FROM users", []).await.is_err());
}

#[tokio::test]
async fn a_closed_store_says_that_it_cannot_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    store.close().await.unwrap();
    assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))));
    assert!(store.transaction(|tx| tx.commit(())).await.unwrap_err().is_transient());
}

#[tokio::test]
async fn an_address_of_no_use_is_refused_without_being_repeated() {
    let refused = |url: &str| {
        let options = SqlOptions {
            url: url.to_owned(),
            max_connections: 1,
            acquire_timeout: Duration::from_millis(200),
            statement_timeout: Duration::from_secs(1),
        };
        async move { SqlStore::connect(&options).await.unwrap_err() }
    };
    for url in ["postgres://u:secret@h/d", "secret", "sqlite::memory:", "mysql://u:secret@127.0.0.1:1"] {
        let error = refused(url).await;
        assert!(matches!(error, StoreError::Refused(_)), "{url}: {error:?}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
    let nobody = refused("mysql://u:secret@127.0.0.1:1/d").await;
    assert!(matches!(nobody, StoreError::Unavailable(_)), "{nobody:?}");
    assert!(!format!("{nobody:?}").contains("secret"));
}

#[tokio::test]
async fn an_original_is_looked_up_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let [original, repost, later] = [1, 2, 3].map(|id| ContentId::try_new(id).unwrap());
    let insert = "INSERT INTO contents (id, author_id, kind, text, media, publish_time, repost_of) VALUES";
    store.write(&format!("{insert} (1, 2, 0, '', '[]', 50, NULL), (2, 2, 3, '', '[]', 60, 1)"), []).await.unwrap();
    let before = store.statements();
    for _ in 0..3 {
        assert_eq!(store.originals(&[original, repost, later]).await.unwrap(), [(repost, original)]);
    }
    assert_eq!(store.statements() - before, 3, "what is not there yet is asked for again");
    store.write(&format!("{insert} (3, 4, 3, '', '[]', 70, 1)"), []).await.unwrap();
    let before = store.statements();
    for _ in 0..3 {
        let mut found = store.originals(&[original, repost, later]).await.unwrap();
        found.sort_unstable();
        assert_eq!(found, [(repost, original), (later, original)]);
    }
    assert_eq!(store.statements() - before, 1);
}

/// The test's runtime has one thread: a wait on it would stop the reads, too.
#[tokio::test]
async fn a_lock_of_another_process_is_waited_for_without_stopping_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let other = rusqlite::Connection::open(folder.path().join("deeper/tidefeed.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writes = store.clone();
    let write = spawn(async move {
        let insert = "INSERT INTO outbox_heads (author_id, stamp) VALUES (1, 1)";
        let written = writes.brief_transaction(|tx| async move {
            tx.execute(insert, []).await?;
            tx.commit(()).await
        });
        written.await
    });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(store.read("SELECT author_id FROM outbox_heads", []).await.unwrap().is_empty());
    assert!(!write.is_finished());
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap().unwrap();
    assert_eq!(store.read("SELECT author_id FROM outbox_heads", []).await.unwrap().len(), 1);
}
