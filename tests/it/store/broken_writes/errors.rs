//! Tests that a server error leaves nothing of a transaction, whether the server rolls back all of it or only its last
//! statement.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use sea_orm::{ConnectionTrait as _, DatabaseTransaction, TransactionTrait as _};
use tidefeed::{
    domain::Reference,
    store::{
        Contents as _, StoreError,
        contents::{NewContent, Published},
        sql::SqlStore,
    },
};
use tokio::task::JoinHandle;

use super::{PATIENCE, World};
use crate::servers::{Backend, execute, is_tidb, numbers, on_each_backend};
use crate::store::conformance::{NOW, content, content_id};

/// Deadlocks until one undoes the reply.
const TRIES: usize = 20;

/// A reply to content 1. Its last statement counts it there.
fn reply(id: i64) -> NewContent {
    let mut new = content(id, 1, NOW + id);
    new.draft.reference = Reference::ReplyTo(content_id(1));
    new
}

async fn until(what: &str, is_so: impl Fn() -> bool) -> Result<()> {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait).await.with_context(|| what.to_owned())
}

impl World {
    /// Publishes contents 1 and 2, of which 2 is a reply to 1. Returns the number of a reply's statements.
    async fn with_a_reply(&self, store: &SqlStore) -> Result<u64> {
        store.publish(content(1, 1, NOW)).await?;
        let before = store.statements();
        ensure!(matches!(store.publish(reply(2)).await?, Published::Created { .. }));
        Ok(store.statements() - before)
    }

    /// Locks the row that the last statement of a reply writes, in a transaction that has written more than a reply
    /// does.
    async fn in_the_way(&self) -> Result<DatabaseTransaction> {
        let rows: Vec<_> = (0..500).map(|id| format!("({id}, 'a')")).collect();
        let other = self.rows.begin().await?;
        other
            .execute_unprepared(&format!("INSERT INTO user_names (user_id, folded) VALUES {}", rows.join(", ")))
            .await?;
        other.execute_unprepared("SELECT * FROM counters WHERE content_id = 1 FOR UPDATE").await?;
        Ok(other)
    }

    /// Checks that reply 3 exists once, and that it is counted.
    async fn has_replied(&self, writing: JoinHandle<Result<Published, StoreError>>) -> Result<()> {
        let done = writing.await??;
        ensure!(matches!(done, Published::Created { .. }) && self.has(3).await?, "{done:?}");
        ensure!(numbers(&self.rows, "SELECT replies FROM counters WHERE content_id = 1").await? == [2]);
        Ok(())
    }
}

fn replying(store: &SqlStore) -> JoinHandle<Result<Published, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.publish(reply(3)).await })
}

on_each_backend! {
    on mariadb, mysql;
    async fn a_statement_without_room_leaves_nothing_of_its_transaction(backend: Backend) -> Result<()> {
        let world = World::on_own_tables(backend).await?;
        let store = world.store(PATIENCE).await?;
        for number in [1021, 1114, 3675] {
            let trigger = format!(
                "CREATE TRIGGER no_room BEFORE INSERT ON deliveries FOR EACH ROW \
                 SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'no room'"
            );
            execute(&world.rows, &trigger).await?;
            let id = world.next().await?;
            let done = store.publish(content(id, 1, NOW + id)).await;
            ensure!(matches!(done, Err(StoreError::TakesNoWrites(_))), "{number}: {done:?}");
            ensure!(!world.has(id).await?);
            execute(&world.rows, "DROP TRIGGER no_room").await?;
            world.goes_on(&store).await.with_context(|| format!("after error {number}"))?;
        }
        Ok(())
    }

    async fn a_lock_waited_for_in_vain_undoes_the_whole_transaction(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let store = world.store(Duration::from_secs(3)).await?;
        let statements = world.with_a_reply(&store).await?;
        let other = world.in_the_way().await?;
        let first = store.statements() + statements;
        let writing = replying(&store);
        until("it is tried again", || store.statements() > first).await?;
        other.rollback().await?;
        world.has_replied(writing).await?;
        world.goes_on(&store).await
    }

    async fn a_deadlock_undoes_the_whole_transaction(backend: Backend) -> Result<()> {
        for _ in 0..TRIES {
            if is_undone_by_a_deadlock(backend).await? {
                return Ok(());
            }
        }
        bail!("TiDB has undone the other transaction {TRIES} times")
    }
}

/// Whether the reply was undone, and published in the end. MySQL and MariaDB undo who has written less. TiDB undoes who
/// is the last to ask, so that it may be the other one there.
async fn is_undone_by_a_deadlock(backend: Backend) -> Result<bool> {
    let world = World::on(backend).await?;
    let store = world.store(PATIENCE).await?;
    let statements = world.with_a_reply(&store).await?;
    let other = world.in_the_way().await?;
    let first = store.statements() + statements;
    let writing = replying(&store);
    until("it is at its last statement", || store.statements() == first).await?;
    let asked = other.execute_unprepared("SELECT * FROM user_counts WHERE user_id = 1 FOR UPDATE").await;
    let is_undone = match asked {
        Ok(_) => true,
        Err(error) => {
            ensure!(is_tidb() && error.to_string().contains("Deadlock found"), "{error}");
            false
        }
    };
    if is_undone {
        until("it is tried again", || store.statements() > first).await?;
    }
    other.rollback().await?;
    world.has_replied(writing).await?;
    world.goes_on(&store).await?;
    Ok(is_undone)
}
