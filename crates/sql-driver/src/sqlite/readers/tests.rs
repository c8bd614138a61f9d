//! Tests what the reading connections promise: ends and snapshots.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::panic, reason = "a read that must not end fails the test, and one panics on purpose")]

use tokio::sync::oneshot;

use super::*;
use crate::{
    Database,
    tests::{with_numbers, writer},
};

const LONG: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT MAX(i) FROM n";

/// One connection to the file of [`with_numbers`].
async fn readers(folder: &tempfile::TempDir, statement_timeout: Duration) -> Arc<SqliteReaders> {
    let _tables = with_numbers(folder).await;
    one_reader(folder, statement_timeout).await
}

async fn one_reader(folder: &tempfile::TempDir, statement_timeout: Duration) -> Arc<SqliteReaders> {
    let file = folder.path().join("deeper/test.db");
    let options = SqlOptions {
        url: String::new(),
        max_connections: 1,
        acquire_timeout: Duration::from_mins(1),
        statement_timeout,
    };
    Arc::new(SqliteReaders::open(file, &options).await.unwrap())
}

#[test]
fn operators_are_told_the_bounds_of_sqlites_caches() {
    let page = include_str!("../../../../../docs/operations.md");
    let cache =
        format!("| pages of the file that SQLite caches | {} MiB for each connection, of `store.", CACHE_KIB / 1024);
    let prepared = format!("| prepared statements of a connection to SQLite (rusqlite) | {PREPARED} |");
    assert!(page.contains(&cache) && page.contains(&prepared), "{cache}\n{prepared}");
}

#[tokio::test]
async fn an_interrupted_statement_leaves_its_connection_usable() {
    let folder = tempfile::tempdir().unwrap();
    let readers = readers(&folder, Duration::from_millis(50)).await;
    let ended = readers.read(LONG.into(), vec![i64::MAX.into()]).await;
    assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
    let rows = readers.read(LONG.into(), vec![3_i64.into()]).await.unwrap();
    assert_eq!(rows[0].get::<i64>(0).unwrap(), 3);
}

/// Begins the endless statement `LONG`, and with it a snapshot of the file, then drops its caller.
async fn give_up_a_long_read(readers: &Arc<SqliteReaders>) {
    let (signal, begins) = oneshot::channel();
    let running = readers.lend(move |connection| {
        let mut open = connection.prepare("SELECT 1 FROM sqlite_schema")?;
        let mut snapshot = open.query([])?;
        snapshot.next()?;
        signal.send(()).unwrap();
        rows(connection, LONG, vec![i64::MAX.into()])
    });
    tokio::select! {
        ended = running => panic!("{ended:?}"),
        begun = begins => begun.unwrap(),
    }
}

#[tokio::test]
async fn an_abandoned_statement_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let _tables = with_numbers(&folder).await;
    let readers = one_reader(&folder, Duration::from_hours(1)).await;
    give_up_a_long_read(&readers).await;
    let rows = readers.read("SELECT ?, ?".into(), vec![None::<String>.into(), "b".into()]).await.unwrap();
    assert_eq!(rows[0].get::<Option<String>>(0).unwrap(), None);
    assert_eq!(rows[0].get::<String>(1).unwrap(), "b");
}

#[tokio::test]
async fn a_read_that_panics_costs_its_connection_alone() {
    let folder = tempfile::tempdir().unwrap();
    let readers = readers(&folder, Duration::from_mins(1)).await;
    for _ in 0..3 {
        let ended: Result<(), _> = readers.lend(|_| panic!("on purpose")).await;
        assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
        assert_eq!(readers.read("SELECT 5".into(), Vec::new()).await.unwrap()[0].get::<i64>(0).unwrap(), 5);
    }
}

/// Frames of the WAL that a checkpoint could not write into the file, or `None` if it was blocked.
fn left_in_the_wal(database: &Database) -> Option<i32> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let checkpoint = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (is_held_up, frames): (i32, i32) = writer(database).run(|it| it.query_row(sql, [], checkpoint)).unwrap();
    (is_held_up == 0).then_some(frames)
}

#[tokio::test]
async fn readers_at_rest_hold_no_checkpoint_up() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    let readers = one_reader(&folder, Duration::from_hours(1)).await;
    let insert = |id: usize| format!("INSERT INTO numbers (number) VALUES ({id})");
    for id in 1..=3 {
        database.write(&insert(id), []).await.unwrap();
        for reader in 0..2 {
            let sql = "SELECT number FROM numbers".to_owned();
            let rows =
                if reader == 0 { database.read(&sql, []).await } else { readers.read(sql.into(), Vec::new()).await };
            assert_eq!(rows.unwrap().len(), id, "a write that was acknowledged is read");
        }
        assert_eq!(left_in_the_wal(&database), Some(0));
    }
    give_up_a_long_read(&readers).await;
    readers.read("SELECT 1".into(), Vec::new()).await.unwrap();
    database.write(&insert(4), []).await.unwrap();
    assert_eq!(left_in_the_wal(&database), Some(0), "nor does one that was given up");
}

#[tokio::test]
async fn closing_waits_for_reads_and_leaves_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    let wal = folder.path().join("deeper/test.db-wal");
    assert!(wal.exists());
    let read = database.read(LONG, [1_000_000_i64.into()]);
    let (read, closed) = tokio::join!(read, database.close());
    closed.unwrap();
    assert_eq!(read.unwrap()[0].get::<i64>(0).unwrap(), 1_000_000);
    assert!(!wal.exists(), "the last one to close writes the WAL into the file");
}
