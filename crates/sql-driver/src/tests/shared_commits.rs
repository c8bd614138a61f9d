//! Tests transactions that share a commit: one write to the disk, separate rollbacks, and no answer before the commit.

#![expect(clippy::panic, reason = "what never happens fails the test")]

use super::*;
use crate::store::StoreError;

const INSERT: &str = "INSERT INTO outbox_heads (author_id, stamp) VALUES (?, 1)";
/// Rounds until a commit has been shared: on a busy machine a transaction may take too long for others to wait for it.
const ROUNDS: i64 = 200;

async fn authors(store: &SqlStore) -> Vec<i64> {
    let rows = store.read("SELECT author_id FROM outbox_heads ORDER BY author_id", []).await.unwrap();
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
    let store = migrated(&folder).await;
    for round in 0..ROUNDS {
        let before = store.commits();
        let writes = (1..=16).map(|number| {
            let store = store.clone();
            spawn(async move { store.write(INSERT, [(round * 16 + number).into()]).await })
        });
        for write in writes.collect::<Vec<_>>() {
            assert_eq!(write.await.unwrap().unwrap(), 1);
        }
        let there = authors(&store).await;
        assert!((1..=16).all(|number| there.contains(&(round * 16 + number))), "what was acknowledged is there");
        if store.commits() - before <= 8 {
            return;
        }
    }
    panic!("16 writes at once never shared commits");
}

#[tokio::test]
async fn a_write_alone_is_a_commit_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let before = store.commits();
    for number in 1..=3 {
        store.write(INSERT, [number.into()]).await.unwrap();
    }
    assert_eq!(store.commits() - before, 3);
}

#[tokio::test]
async fn a_rolled_back_transaction_does_not_affect_others_in_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    for round in 0..ROUNDS {
        let (base, before) = (round * 10, store.commits());
        let first = store.begin(Runs::HandedOver).await.unwrap();
        first.execute(INSERT, [(base + 1).into()]).await.unwrap();
        let (rolled, given_up, last) = (store.clone(), store.clone(), store.clone());
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
        let there: Vec<_> = authors(&store).await.into_iter().filter(|author| *author > base).collect();
        assert_eq!(there, [base + 1, base + 4]);
        if store.commits() == before + 1 {
            return;
        }
    }
    panic!("the four never shared a commit");
}

#[tokio::test]
async fn no_write_is_acknowledged_or_visible_before_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    for round in 0..ROUNDS {
        let base = round * 10;
        let first = store.begin(Runs::HandedOver).await.unwrap();
        first.execute(INSERT, [(base + 1).into()]).await.unwrap();
        let other = store.clone();
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
            assert!(!authors(&store).await.contains(&(base + 1)), "seen before the commit");
        }
        go_on.send(()).unwrap();
        first.await.unwrap().unwrap();
        other.await.unwrap().unwrap();
        assert!(authors(&store).await.ends_with(&[base + 1, base + 2]));
        if shares {
            return;
        }
    }
    panic!("the two never shared a commit");
}

#[tokio::test]
async fn a_dropped_commit_still_ends_its_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder).await;
    let first = store.begin(Runs::HandedOver).await.unwrap();
    first.execute(INSERT, [1.into()]).await.unwrap();
    let second = store.clone();
    let second = spawn(async move { second.write(INSERT, [2.into()]).await });
    queue_up().await;
    // Polled once, then dropped: it continues by itself.
    let commit = first.commit(());
    assert!(tokio::time::timeout(Duration::ZERO, commit).await.is_err() || authors(&store).await.contains(&1));
    second.await.unwrap().unwrap();
    store.write(INSERT, [3.into()]).await.unwrap();
    assert_eq!(authors(&store).await, [1, 2, 3]);
}
