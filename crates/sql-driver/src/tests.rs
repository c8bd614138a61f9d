//! Tests on SQLite; tests/it of the product runs the same on every engine.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::panic, reason = "a database of another engine fails the test")]

mod shared_commits;

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::{Database, Runs, SqlOptions, StoreError, database::Writer, sqlite::writer::SqliteWriter};

pub(crate) fn options(folder: &tempfile::TempDir) -> SqlOptions {
    SqlOptions {
        url: format!("sqlite://{}", folder.path().join("deeper/test.db").display()),
        max_connections: 4,
        acquire_timeout: Duration::from_mins(1),
        statement_timeout: Duration::from_mins(1),
    }
}

/// Runs `work` beside the test, on the test's runtime.
fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> tokio::task::JoinHandle<T> {
    tokio::runtime::Handle::current().spawn(work)
}

/// The connection that writes the file.
pub(crate) fn writer(database: &Database) -> &SqliteWriter {
    let Writer::File(writer, _) = &database.writer else { panic!("the database is on a server") };
    writer
}

/// A new file with the table `numbers`.
pub(crate) async fn with_numbers(folder: &tempfile::TempDir) -> Database {
    let database = Database::connect(&options(folder)).await.unwrap();
    database.write("CREATE TABLE numbers (number INTEGER PRIMARY KEY)", []).await.unwrap();
    database
}

#[tokio::test]
async fn a_rollback_undoes_the_writes_and_returns_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    let insert = "INSERT INTO numbers (number) VALUES (1)";
    let given = database
        .transaction(move |tx| async move {
            tx.execute(insert, []).await?;
            tx.roll_back(7).await
        })
        .await;
    assert_eq!(given.unwrap(), 7);
    assert!(database.read("SELECT 1 FROM numbers", []).await.unwrap().is_empty());
    let insert_it = || {
        database.transaction(move |tx| async move {
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
    let database = with_numbers(&folder).await;
    let calls = AtomicU32::new(0);
    let until = |enough: u32| {
        let calls = &calls;
        database.transaction(move |tx| async move {
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
    let database = with_numbers(&folder).await;
    assert!(database.read("DELETE FROM numbers", []).await.is_err());
}

#[tokio::test]
async fn a_closed_database_says_that_it_cannot_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    database.close().await.unwrap();
    assert!(matches!(database.ping("t").await, Err(StoreError::Unavailable(_))));
    assert!(database.transaction(|tx| tx.commit(())).await.unwrap_err().is_transient());
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
        async move { Database::connect(&options).await.unwrap_err() }
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

/// The test's runtime has one thread: a wait on it would stop the reads, too.
#[tokio::test]
async fn a_lock_of_another_process_is_waited_for_without_stopping_others() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    let other = rusqlite::Connection::open(folder.path().join("deeper/test.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writes = database.clone();
    let write = spawn(async move {
        let written = writes.brief_transaction(|tx| async move {
            tx.execute("INSERT INTO numbers (number) VALUES (1)", []).await?;
            tx.commit(()).await
        });
        written.await
    });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(database.read("SELECT number FROM numbers", []).await.unwrap().is_empty());
    assert!(!write.is_finished());
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap().unwrap();
    assert_eq!(database.read("SELECT number FROM numbers", []).await.unwrap().len(), 1);
}
