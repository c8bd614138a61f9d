//! Tests transactions that share a commit: one write to the disk, separate rollbacks, and no answer before the commit.

#![expect(clippy::panic, reason = "what never happens fails the test")]

use super::*;

const INSERT: &str = "INSERT INTO numbers (number) VALUES (?)";
/// Rounds until a commit has been shared: on a busy machine a transaction may take too long for others to wait for it.
const ROUNDS: i64 = 200;

async fn numbers(database: &Database) -> Vec<i64> {
    let rows = database.read("SELECT number FROM numbers ORDER BY number", []).await.unwrap();
    rows.iter().map(|row| row.get(0).unwrap()).collect()
}

/// Lets spawned tasks run until they wait for the connection.
async fn queue_up() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn writes_that_wait_for_each_other_share_commits_and_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    for round in 0..ROUNDS {
        let before = database.commits();
        let writes = (1..=16).map(|number| {
            let database = database.clone();
            spawn(async move { database.write(INSERT, [(round * 16 + number).into()]).await })
        });
        for write in writes.collect::<Vec<_>>() {
            assert_eq!(write.await.unwrap().unwrap(), 1);
        }
        let there = numbers(&database).await;
        assert!((1..=16).all(|number| there.contains(&(round * 16 + number))), "what was acknowledged is there");
        if database.commits() - before <= 8 {
            return;
        }
    }
    panic!("16 writes at once never shared commits");
}

#[tokio::test]
async fn a_write_alone_is_a_commit_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    let before = database.commits();
    for number in 1..=3 {
        database.write(INSERT, [number.into()]).await.unwrap();
    }
    assert_eq!(database.commits() - before, 3);
}

#[tokio::test]
async fn a_rolled_back_transaction_does_not_affect_others_in_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    for round in 0..ROUNDS {
        let (base, before) = (round * 10, database.commits());
        let first = database.begin(Runs::HandedOver).await.unwrap();
        first.execute(INSERT, [(base + 1).into()]).await.unwrap();
        let (rolled, given_up, last) = (database.clone(), database.clone(), database.clone());
        let rolled = spawn(async move {
            let tx = rolled.begin(Runs::HandedOver).await?;
            tx.execute(INSERT, [(base + 2).into()]).await?;
            tx.roll_back(()).await.map(drop)
        });
        let given_up = spawn(async move {
            let tx = given_up.begin(Runs::HandedOver).await?;
            tx.execute(INSERT, [(base + 3).into()]).await?;
            drop(tx);
            Ok::<_, StoreError>(())
        });
        let last = spawn(async move { last.write(INSERT, [(base + 4).into()]).await });
        queue_up().await;
        first.commit(()).await.unwrap();
        rolled.await.unwrap().unwrap();
        given_up.await.unwrap().unwrap();
        assert_eq!(last.await.unwrap().unwrap(), 1);
        let there: Vec<_> = numbers(&database).await.into_iter().filter(|number| *number > base).collect();
        assert_eq!(there, [base + 1, base + 4]);
        if database.commits() == before + 1 {
            return;
        }
    }
    panic!("the four never shared a commit");
}

#[tokio::test]
async fn no_write_is_acknowledged_or_visible_before_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    for round in 0..ROUNDS {
        let base = round * 10;
        let first = database.begin(Runs::HandedOver).await.unwrap();
        first.execute(INSERT, [(base + 1).into()]).await.unwrap();
        let other = database.clone();
        let (open, is_open) = tokio::sync::oneshot::channel();
        let (go_on, may_go_on) = tokio::sync::oneshot::channel::<()>();
        let other = spawn(async move {
            let tx = other.begin(Runs::HandedOver).await?;
            let shares = tx.shares();
            tx.execute(INSERT, [(base + 2).into()]).await?;
            open.send(shares).unwrap();
            may_go_on.await.unwrap();
            tx.commit(()).await.map(drop)
        });
        queue_up().await;
        let first = spawn(async move { first.commit(()).await.map(drop) });
        let shares = is_open.await.unwrap();
        if shares {
            queue_up().await;
            assert!(!first.is_finished(), "answered before the commit");
            assert!(!numbers(&database).await.contains(&(base + 1)), "seen before the commit");
        }
        go_on.send(()).unwrap();
        first.await.unwrap().unwrap();
        other.await.unwrap().unwrap();
        assert!(numbers(&database).await.ends_with(&[base + 1, base + 2]));
        if shares {
            return;
        }
    }
    panic!("the two never shared a commit");
}

#[tokio::test]
async fn a_dropped_commit_still_ends_its_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let database = with_numbers(&folder).await;
    let first = database.begin(Runs::HandedOver).await.unwrap();
    first.execute(INSERT, [1.into()]).await.unwrap();
    let second = database.clone();
    let second = spawn(async move { second.write(INSERT, [2.into()]).await });
    queue_up().await;
    // Polled once, then dropped: it continues by itself.
    let commit = first.commit(());
    assert!(tokio::time::timeout(Duration::ZERO, commit).await.is_err() || numbers(&database).await.contains(&1));
    second.await.unwrap().unwrap();
    database.write(INSERT, [3.into()]).await.unwrap();
    assert_eq!(numbers(&database).await, [1, 2, 3]);
}
