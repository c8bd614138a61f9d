//! Tests what the reading connections promise: plans, ends, snapshots.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::panic, reason = "a read that must not end fails the test, and one panics on purpose")]

use rusqlite::StatementStatus;
use tokio::sync::oneshot;

use super::{
    super::{
        SqlStore,
        dialect::Dialect,
        fragment::Fragment,
        hot::{HotPage, HotStatement},
        tests::{migrated, plan, writer},
        timelines,
    },
    *,
};
use crate::domain::{
    ContentId, Direction, PageRequest, PageSize, Position, Reaction, UserId,
    search::{Source, Span, terms::terms_of},
    timeline::candidates::{CandidateLimits, Wanted},
};

const LONG: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT MAX(i) FROM n";

/// One connection to the file of `migrated`.
async fn readers(folder: &tempfile::TempDir, statement_timeout: Duration) -> Arc<SqliteReaders> {
    let _tables = migrated(folder).await;
    one_reader(folder, statement_timeout).await
}

async fn one_reader(folder: &tempfile::TempDir, statement_timeout: Duration) -> Arc<SqliteReaders> {
    let file = folder.path().join("deeper/tidefeed.db");
    let options = SqlOptions {
        url: String::new(),
        max_connections: 1,
        acquire_timeout: Duration::from_mins(1),
        statement_timeout,
    };
    Arc::new(SqliteReaders::open(file, &options).await.unwrap())
}

fn request(size: i64, bound: i64) -> PageRequest {
    let size = PageSize::try_new(size).unwrap();
    PageRequest { bound: Some(Position::bound(bound, bound)), ..PageRequest::newest(size) }
}

fn limits(request: &PageRequest) -> CandidateLimits {
    CandidateLimits { ahead: request.need(), behind: 1 }
}

fn page(request: &PageRequest) -> Fragment {
    timelines::definition(Dialect::Sqlite, UserId::try_new(7).unwrap(), request)
}

#[test]
fn operators_are_told_the_bounds_of_sqlites_caches() {
    let page = include_str!("../../../../docs/operations.md");
    let cache =
        format!("| pages of the file that SQLite caches | {} MiB for each connection, of `store.", CACHE_KIB / 1024);
    let prepared = format!("| prepared statements of a connection to SQLite (rusqlite) | {PREPARED} |");
    assert!(page.contains(&cache) && page.contains(&prepared), "{cache}\n{prepared}");
}

#[tokio::test]
async fn a_page_of_whatever_size_is_planned_once_a_connection() {
    let folder = tempfile::tempdir().unwrap();
    let readers = readers(&folder, Duration::from_mins(1)).await;
    let text = page(&request(1, 1)).text;
    for size in 1..=20 {
        let Fragment { text, values } = page(&request(size, 1_000 * size));
        assert!(readers.read(text.into(), values).await.unwrap().is_empty());
    }
    let connection = readers.take().unwrap();
    let statement = connection.prepare_cached(&text).unwrap();
    assert_eq!(statement.get_status(StatementStatus::Run), 20, "one connection ran them all");
    assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
}

#[tokio::test]
async fn hot_statements_are_planned_as_their_explanations_show() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let (reader, content) = (UserId::try_new(7).unwrap(), ContentId::try_new(7).unwrap());
    for request in [PageRequest::newest(PageSize::default()), request(20, 5)] {
        for statement in [
            HotStatement::Page(reader, request, HotPage::Definition),
            HotStatement::Page(reader, request, HotPage::Versions(vec![reader; 3])),
            HotStatement::Page(reader, request, HotPage::Candidates(limits(&request), Wanted::ALL, vec![reader; 3])),
            HotStatement::Followers(reader, vec![reader; 3], request),
            HotStatement::Following(reader, vec![reader; 3], request),
            HotStatement::Likers(reader, vec![content; 3], request),
            HotStatement::Outboxes(reader, vec![reader; 3], request),
            HotStatement::Replies(reader, vec![content; 3], request),
            HotStatement::ReactedTo(reader, Reaction::Bookmark, request),
            HotStatement::PulledAuthors(reader),
            HotStatement::Counts(
                vec![Source::Term(terms_of("word")[0]), Source::Author(reader)],
                Span { from: Some(1), below: request.bound },
            ),
        ] {
            let explained = plan(&store, Fragment::new(store.spell_out(statement.clone()), [])).await;
            assert_eq!(plan(&store, statement.clone().part(Dialect::Sqlite)).await, explained, "{statement:?}");
        }
    }
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
        let mut open = connection.prepare("SELECT 1 FROM seaql_migrations")?;
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
    let _tables = migrated(&folder).await;
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
fn left_in_the_wal(store: &SqlStore) -> Option<i32> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let checkpoint = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (is_held_up, frames): (i32, i32) = writer(store).run(|it| it.query_row(sql, [], checkpoint)).unwrap();
    (is_held_up == 0).then_some(frames)
}

#[tokio::test]
async fn readers_at_rest_hold_no_checkpoint_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let readers = one_reader(&folder, Duration::from_hours(1)).await;
    let insert = |id: usize| format!("INSERT INTO outbox_heads (author_id, stamp) VALUES ({id}, 1)");
    for id in 1..=3 {
        store.write(&insert(id), []).await.unwrap();
        for reader in 0..2 {
            let sql = "SELECT author_id FROM outbox_heads".to_owned();
            let rows =
                if reader == 0 { store.read(&sql, []).await } else { readers.read(sql.into(), Vec::new()).await };
            assert_eq!(rows.unwrap().len(), id, "a write that was acknowledged is read");
        }
        assert_eq!(left_in_the_wal(&store), Some(0));
    }
    give_up_a_long_read(&readers).await;
    readers.read("SELECT 1".into(), Vec::new()).await.unwrap();
    store.write(&insert(4), []).await.unwrap();
    assert_eq!(left_in_the_wal(&store), Some(0), "nor does one that was given up");
}

#[tokio::test]
async fn closing_waits_for_reads_and_leaves_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let wal = folder.path().join("deeper/tidefeed.db-wal");
    assert!(wal.exists());
    let read = store.read(LONG, [1_000_000_i64.into()]);
    let (read, closed) = tokio::join!(read, store.close());
    closed.unwrap();
    assert_eq!(read.unwrap()[0].get::<i64>(0).unwrap(), 1_000_000);
    assert!(!wal.exists(), "the last one to close writes the WAL into the file");
}

/// A reader of ten authors, all of whose contents lie in the inbox above the floor.
async fn with_an_inbox(store: &SqlStore, contents: i64) {
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {contents})");
    for (table, columns, values) in [
        ("contents", "id, author_id, kind, text, media, publish_time", "i, 101 + i % 10, 0, '', '[]', i FROM n"),
        ("inboxes", "user_id, publish_time, content_id, author_id", "7, i, i, 101 + i % 10 FROM n"),
        ("inbox_states", "user_id, floor_time, floor_content", "7, 1, 1 FROM n WHERE i = 1"),
        ("follows", "follower_id, author_id, mode, inc, followed_at", "7, 100 + i, 2, 1, 1 FROM n WHERE i <= 10"),
    ] {
        let sql = format!("INSERT INTO {table} ({columns}) {numbers} SELECT {values}");
        store.write(&sql, []).await.unwrap();
    }
}

#[tokio::test]
async fn a_page_reads_no_more_of_a_long_inbox() {
    let mut steps = Vec::new();
    for contents in [200, 4_000] {
        let folder = tempfile::tempdir().unwrap();
        with_an_inbox(&migrated(&folder).await, contents).await;
        let readers = one_reader(&folder, Duration::from_mins(1)).await;
        let mut of_pages = Vec::new();
        for (direction, bound) in [
            (Direction::Older, contents - 5),
            (Direction::Older, 100),
            (Direction::Newer, 50),
            (Direction::Newer, contents - 50),
        ] {
            let request = PageRequest { direction, ..request(20, bound) };
            let page = HotPage::Candidates(limits(&request), Wanted::ALL, Vec::new());
            let page = HotStatement::Page(UserId::try_new(7).unwrap(), request, page);
            let Fragment { text, values } = page.part(Dialect::Sqlite);
            assert_eq!(
                readers.read(text.as_str().into(), values).await.unwrap().len(),
                21 + 1,
                "page and one more, behind"
            );
            let connection = readers.take().unwrap();
            of_pages.push(connection.prepare_cached(&text).unwrap().reset_status(StatementStatus::VmStep));
            readers.put_back(connection);
        }
        steps.push(of_pages);
    }
    assert_eq!(steps[0], steps[1]);
}
