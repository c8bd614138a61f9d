//! Tests writes that fail at every row they touch and at their commit: nothing of them remains, and the writer works
//! afterwards.

#![expect(clippy::panic, reason = "a write that is not known, or never passes, fails the test")]

use super::*;
use crate::{
    domain::{
        ContentId, EdgeMode, Position, Reaction, Reference, UserId,
        account::profile::Registration,
        content::Draft,
        delivery::{
            DeliveryPolicy, EdgeRule,
            subtask::{Progress, Range},
        },
    },
    store::{
        Accounts, Attempts, Contents, Deliveries, Exclusions, Follows, Inboxes, Inspect, Profiles, Reactions,
        ReadMarkers, StoreError,
        accounts::{NewAccount, PasswordHash},
        attempts::Subjects,
        contents::NewContent,
        deliveries::{Lease, Subtask},
        inspection::Verdict,
        profiles::ProfileEdit,
    },
};

/// A way in which SQLite ends a statement or a transaction.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The statement fails and SQLite undoes the whole transaction by itself, as it does when the disk is full.
    UndoneByItself,
    /// `SQLITE_FULL`; the transaction may stay open.
    Full,
    /// `COMMIT` fails and the transaction stays open.
    AtCommit,
}

fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

fn account(id: i64) -> NewAccount {
    let name = format!("user_{id}");
    NewAccount {
        id: user(id),
        registration: Registration::try_new(&name, &name, "", None).unwrap(),
        password_hash: Some(PasswordHash("a hash".to_owned())),
        incarnation: id,
        now_ms: 1,
    }
}

fn content(id: i64, author: i64) -> NewContent {
    let draft = Draft {
        text: format!("content {id} ").repeat(2_000),
        media: Vec::new(),
        idempotency_key: Some(format!("key {id}")),
        reference: Reference::Nothing,
        object: None,
    };
    NewContent { id: ContentId::try_new(id).unwrap(), author: user(author), draft, publish_time: id, version: id }
}

const POLICY: DeliveryPolicy =
    DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 100, active_days: 7 }, dormant_days: 30 };

/// All writes, one transaction each, in an order in which each has something to do.
const WRITES: [&str; 24] = [
    "register",
    "follow",
    "see",
    "publish",
    "at once",
    "chain",
    "take",
    "push",
    "finish",
    "another chain",
    "begin",
    "cover",
    "extend",
    "trim",
    "like",
    "take back",
    "read",
    "edit",
    "admit",
    "mute",
    "unfollow",
    "clear",
    "block",
    "remove",
];

async fn write(store: &SqlStore, what: &str) -> Result<(), StoreError> {
    let id = |id| ContentId::try_new(id).unwrap();
    let name = |of: &str| of.to_owned();
    let subjects = Subjects { pair: name("pair"), account: name("account"), network: name("network") };
    match what {
        "register" => store.register(account(4)).await.map(drop),
        "follow" => store.follow(user(4), user(1), EdgeMode::Fill, 9, 5).await.map(drop),
        "see" => store.mark_seen(&[user(4)], 5).await.map(drop),
        "publish" => store.publish(content(20, 1)).await.map(drop),
        "cover" => store.cover(user(4), user(1), 4, 6).await.map(drop),
        "extend" => store.extend(user(4), 4).await.map(drop),
        "trim" => store.trim(user(4), 2).await.map(drop),
        "like" => store.react(user(4), id(20), Reaction::Like, 1069, 30).await.map(drop),
        "take back" => store.take_back(user(4), id(20), Reaction::Like, 1073).await.map(drop),
        "read" => store.advance(user(4), Position::bound(20, 20)).await,
        "edit" => {
            let edit = ProfileEdit { name: Some(name("another name")), ..ProfileEdit::default() };
            store.edit(user(4), &edit, 2028).await.map(drop)
        }
        "admit" => store.admit(&subjects, 40).await.map(drop),
        "mute" => store.mute(user(4), user(1), 1070).await.map(drop),
        "unfollow" => store.unfollow(user(4), user(1), 1071, 50).await.map(drop),
        "clear" => store.clear_unfollowed(user(4), user(1)).await.map(drop),
        "block" => store.block(user(4), user(1), 1072, 60).await.map(drop),
        "remove" => store.remove(user(1), id(20), 70, 70).await.map(drop),
        delivery => deliver(store, delivery).await,
    }
}

/// The writes of deliveries.
async fn deliver(store: &SqlStore, what: &str) -> Result<(), StoreError> {
    let id = |id| ContentId::try_new(id).unwrap();
    let progress = Progress { range: Range { after: 0, through: i64::MAX }, pushed_through: 0 };
    let subtask = Subtask { content: id(20), task_no: 1, progress };
    match what {
        "at once" => store.deliver_at_once(id(10), 10, &POLICY).await.map(drop),
        "chain" => store.extend_chain(id(20), 100, 1).await.map(drop),
        "take" => store.take_subtask((id(20), 0), Lease { now_ms: 10, until_ms: 20 }).await.map(drop),
        "push" => store.push_batch(&subtask, 100).await.map(drop),
        "finish" => store.finish(id(20)).await.map(drop),
        "another chain" => store.extend_chain(id(9), 100, 1).await.map(drop),
        "begin" => store.begin_subtask((id(9), 0), Lease { now_ms: 10, until_ms: 20 }, 100, &POLICY).await.map(drop),
        other => panic!("no such write: {other}"),
    }
}

/// Three users, two of them with contents and a follower.
async fn peopled(folder: &tempfile::TempDir) -> SqlStore {
    let store = migrated(folder).await;
    for id in 1..=3 {
        store.register(account(id)).await.unwrap();
    }
    store.follow(user(3), user(1), EdgeMode::Fill, 1, 1).await.unwrap();
    for id in 1..=10 {
        store.publish(content(id, 1 + id % 2)).await.unwrap();
    }
    store
}

async fn texts(store: &SqlStore, sql: &str) -> Vec<String> {
    store.read(sql, []).await.unwrap().iter().map(|row| row.get(0).unwrap()).collect()
}

async fn tables(store: &SqlStore) -> Vec<String> {
    texts(store, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name").await
}

/// Every committed row of every table.
async fn committed(store: &SqlStore) -> Vec<String> {
    let mut rows = Vec::new();
    for table in tables(store).await {
        let columns =
            texts(store, &format!("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('{table}')")).await;
        let sql = format!("SELECT '{table} ' || {} FROM {table} ORDER BY 1", columns.join(" || ', ' || "));
        rows.extend(texts(store, &sql).await);
    }
    rows
}

/// Runs statements on the connection that writes.
fn run(store: &SqlStore, sql: &str) {
    store.database.on_writer(|connection| connection.execute_batch(sql)).unwrap().unwrap();
}

/// From now on the `nth` row written on this connection of the writer, or the commit of its transaction, fails.
async fn arm(store: &SqlStore, fault: Fault, nth: u32) {
    let failing = match fault {
        Fault::UndoneByItself => "SELECT RAISE(ROLLBACK, 'undone') FROM temp.steps WHERE left = 0",
        Fault::Full => "INSERT INTO temp.filler SELECT zeroblob(1000000) FROM temp.steps WHERE left = 0",
        Fault::AtCommit => "INSERT INTO temp.orphans SELECT 1 FROM temp.steps WHERE left = 0",
    };
    let mut sql = format!(
        "CREATE TABLE temp.steps (left INTEGER); INSERT INTO temp.steps VALUES ({nth}); CREATE TABLE temp.filler (it); \
         CREATE TABLE temp.parents (id INTEGER PRIMARY KEY); \
         CREATE TABLE temp.orphans (id REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);"
    );
    let failing = failing.replace("temp.", "");
    for table in tables(store).await {
        sql.extend(["INSERT", "UPDATE", "DELETE"].map(|act| {
            format!(
                "CREATE TEMP TRIGGER {act}_{table} BEFORE {act} ON main.{table} BEGIN \
                 UPDATE steps SET left = left - 1; {failing}; END;"
            )
        }));
    }
    run(store, &format!("BEGIN; {sql} COMMIT; PRAGMA temp.max_page_count = 200;"));
}

/// Removes the fault if the connection still exists.
fn disarm(store: &SqlStore) {
    let names = "SELECT name FROM temp.sqlite_schema WHERE type IN ('table', 'trigger') ORDER BY type DESC";
    let names = store.database.on_writer(|connection| {
        let mut statement = connection.prepare(names)?;
        statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
    });
    let dropped = names.unwrap().unwrap().into_iter().map(|name| {
        let kind = if name.contains('_') { "TRIGGER" } else { "TABLE" };
        format!("DROP {kind} temp.{name}; ")
    });
    run(store, &format!("BEGIN; {} COMMIT;", dropped.collect::<String>()));
}

/// Makes a write fail at each of its rows in turn until it passes. Returns how often it has failed.
async fn step_through(store: &SqlStore, what: &str, fault: Fault) -> u32 {
    let before = committed(store).await;
    for nth in 1..200 {
        arm(store, fault, nth).await;
        let done = write(store, what).await;
        let after = committed(store).await;
        disarm(store);
        assert_eq!(done.is_err(), before == after, "{what}, {fault:?} at row {nth}: {done:?}");
        if done.is_ok() {
            return nth - 1;
        }
        store.transaction(|tx| tx.roll_back(())).await.unwrap();
        let marker = format!("INSERT INTO outbox_heads (author_id, stamp) VALUES ({}, 1)", 1000 + nth);
        store.write(&marker, []).await.unwrap();
        let seen = store.read("SELECT 1 FROM outbox_heads WHERE author_id = ?", [(1000 + nth).into()]).await.unwrap();
        assert_eq!(seen.len(), 1, "{what}, {fault:?} at row {nth}: the next write is acknowledged and not there");
        store.write("DELETE FROM outbox_heads WHERE author_id > 1000", []).await.unwrap();
        assert_eq!(committed(store).await, before, "{what}, {fault:?} at row {nth}: something came later");
    }
    panic!("{what} never passes");
}

async fn step_through_all(fault: Fault) {
    let folder = tempfile::tempdir().unwrap();
    let store = peopled(&folder).await;
    for what in WRITES {
        let failed = step_through(&store, what, fault).await;
        assert!(failed > 0, "{what} writes nothing");
    }
    let expected = committed(&store).await;
    store.close().await.unwrap();
    assert_eq!(committed(&SqlStore::connect(&options(&folder)).await.unwrap()).await, expected, "after a restart");
}

#[tokio::test]
async fn a_write_that_sqlite_undoes_leaves_nothing_and_the_next_is_kept() {
    step_through_all(Fault::UndoneByItself).await;
}

#[tokio::test]
async fn a_write_to_a_full_file_leaves_no_trace() {
    step_through_all(Fault::Full).await;
}

#[tokio::test]
async fn a_commit_that_fails_leaves_nothing_and_the_next_is_kept() {
    step_through_all(Fault::AtCommit).await;
}

/// Makes a write fail at each of its rows in turn while it shares its commit with an earlier one. Checks for both that
/// the outcome reported is the outcome stored. Returns how often both were kept by one commit.
async fn fail_in_company(store: &SqlStore, what: &'static str, fault: Fault) -> u32 {
    const MARKER: &str = "outbox_heads 1000, 1, NULL, NULL";
    let mut shared = 0;
    for nth in 2..8 {
        let (before, commits) = (committed(store).await, store.commits());
        arm(store, fault, nth).await;
        let first = store.database.begin(Runs::HandedOver).await.unwrap();
        first.execute("INSERT INTO outbox_heads (author_id, stamp) VALUES (1000, 1)", []).await.unwrap();
        let other = spawn({
            let store = store.clone();
            async move { write(&store, what).await }
        });
        // Lets it run until it waits for the connection.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let kept = first.commit(()).await;
        let done = other.await.unwrap();
        let mut after = committed(store).await;
        disarm(store);
        let rows = after.len();
        after.retain(|row| row != MARKER);
        assert_eq!(kept.is_ok(), after.len() < rows, "{what}, {fault:?} at row {nth}: the first got {kept:?}");
        assert_eq!(done.is_err(), before == after, "{what}, {fault:?} at row {nth}: it got {done:?}");
        store.write("DELETE FROM outbox_heads WHERE author_id = 1000", []).await.unwrap();
        if done.is_ok() {
            shared += u32::from(kept.is_ok() && store.commits() == commits + 2);
            break;
        }
        assert_eq!(committed(store).await, before, "{what}, {fault:?} at row {nth}: something came later");
    }
    shared
}

mod slow {
    use super::*;

    #[tokio::test]
    async fn a_failed_write_in_a_group_leaves_the_others_as_acknowledged() {
        for fault in [Fault::UndoneByItself, Fault::Full, Fault::AtCommit] {
            let folder = tempfile::tempdir().unwrap();
            let store = peopled(&folder).await;
            let mut shared = 0;
            for what in WRITES {
                shared += fail_in_company(&store, what, fault).await;
                // Succeeds if it has not succeeded yet.
                let _ = write(&store, what).await;
            }
            let expected = committed(&store).await;
            store.close().await.unwrap();
            assert_eq!(
                committed(&SqlStore::connect(&options(&folder)).await.unwrap()).await,
                expected,
                "after a restart"
            );
            assert!(shared > 0, "{fault:?}: no write ever shared its commit");
        }
    }
}

/// Limits the pages of the file from now on, on this connection of the writer.
fn limit_pages(store: &SqlStore, pages: i64) {
    run(store, &format!("PRAGMA max_page_count = {pages}"));
}

async fn pages(store: &SqlStore) -> i64 {
    store.read("PRAGMA page_count", []).await.unwrap()[0].get(0).unwrap()
}

#[tokio::test]
async fn a_file_at_its_size_limit_refuses_writes_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = peopled(&folder).await;
    let mut refused = 0;
    for what in WRITES {
        let (before, used) = (committed(&store).await, pages(&store).await);
        for room in 0..100 {
            limit_pages(&store, used + room);
            let done = write(&store, what).await;
            limit_pages(&store, i64::from(i32::MAX));
            let Err(error) = done else { break };
            assert!(matches!(error, StoreError::TakesNoWrites(_)), "{what}: {error:?}");
            assert_eq!(committed(&store).await, before, "{what} with room for {room} pages");
            refused += 1;
        }
        assert_ne!(committed(&store).await, before, "{what} was acknowledged");
    }
    assert!(refused > 3, "{refused} were refused");
}

#[tokio::test]
async fn a_store_that_takes_no_writes_says_so_until_a_probe_passes() {
    let folder = tempfile::tempdir().unwrap();
    let store = peopled(&folder).await;
    let known = || store.writes().borrow().clone();
    run(&store, "PRAGMA query_only = ON");
    assert_eq!(known(), Writes::Taken);
    for refused in [write(&store, "register").await, write(&store, "read").await, store.probe_writes().await] {
        assert!(matches!(refused, Err(StoreError::TakesNoWrites(_))), "{refused:?}");
        assert!(matches!(known(), Writes::Refused(reason) if reason.contains("readonly")), "{:?}", known());
    }
    assert_eq!(store.counts(&[user(1)]).await.unwrap().len(), 1, "reads go on");
    let found = store.inspect_tables().await;
    assert!(found.iter().any(|it| it.subject == "writes" && it.verdict == Verdict::Broken), "{found:?}");
    run(&store, "PRAGMA query_only = OFF");
    write(&store, "register").await.unwrap();
    assert!(matches!(known(), Writes::Refused(_)), "a small write may have found the last room");
    let before = committed(&store).await;
    store.probe_writes().await.unwrap();
    assert_eq!((known(), committed(&store).await), (Writes::Taken, before));
}
