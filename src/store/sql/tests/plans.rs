//! Tests how SQLite plans the statements of the store, and what they read.

use rusqlite::StatementStatus;
use sql_driver::{Dialect, Fragment};

use super::{
    super::{
        hot::{HotPage, HotStatement},
        timelines,
    },
    *,
};
use crate::domain::{
    Direction, PageRequest, PageSize, Position, Reaction, UserId,
    search::{Source, Span, terms::terms_of},
    timeline::candidates::{CandidateLimits, Wanted},
};

/// The store of `migrated`, with one connection that reads.
async fn with_one_reader(folder: &tempfile::TempDir) -> SqlStore {
    let _tables = migrated(folder).await;
    SqlStore::connect(&SqlOptions { max_connections: 1, ..options(folder) }).await.unwrap()
}

fn on_reader<T>(store: &SqlStore, work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>) -> T {
    store.database.on_reader(work).unwrap().unwrap()
}

fn request(size: i64, bound: i64) -> PageRequest {
    let size = PageSize::try_new(size).unwrap();
    PageRequest { bound: Some(Position::bound(bound, bound)), ..PageRequest::newest(size) }
}

fn limits(request: &PageRequest) -> CandidateLimits {
    CandidateLimits { ahead: request.need(), behind: 1 }
}

fn page(request: &PageRequest) -> Fragment {
    timelines::definition(Dialect::Sqlite, UserId::try_new(7).unwrap(), request, [None; 2])
}

#[tokio::test]
async fn a_page_of_whatever_size_is_planned_once_a_connection() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_one_reader(&folder).await;
    let text = page(&request(1, 1)).text;
    for size in 1..=20 {
        let Fragment { text, values } = page(&request(size, 1_000 * size));
        assert!(store.read(&text, values).await.unwrap().is_empty());
    }
    let counts = [StatementStatus::Run, StatementStatus::RePrepare];
    let counted = on_reader(&store, |connection| {
        let statement = connection.prepare_cached(&text)?;
        Ok(counts.map(|count| statement.get_status(count)))
    });
    assert_eq!(counted, [20, 0], "one connection ran them all");
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
            HotStatement::PulledAuthors(vec![reader]),
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
        let store = with_one_reader(&folder).await;
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
            assert_eq!(store.read(&text, values).await.unwrap().len(), 21 + 1, "page and one more, behind");
            let steps = |connection: &rusqlite::Connection| {
                Ok(connection.prepare_cached(&text)?.reset_status(StatementStatus::VmStep))
            };
            of_pages.push(on_reader(&store, steps));
        }
        steps.push(of_pages);
    }
    assert_eq!(steps[0], steps[1]);
}
