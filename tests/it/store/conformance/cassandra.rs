//! Tests what [`InboxStore`] promises only in Cassandra: rows are kept by fence, never removed one by one, and removed
//! with their fence for good.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use anyhow::Result;
use tidefeed::{
    domain::{
        Position,
        timeline::outside::{Basis, Claim, Cleared, Delivered, Fence, Generation, Nonce, Revision},
    },
    store::{InboxStore as _, inbox_store::InboxStoreError},
};

use super::outside_inboxes::{KEEP, all, at, fence, in_cassandra, push, reader};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cassandra_keeps_rows_that_come_before_their_inbox() -> Result<()> {
    let store = in_cassandra().await?;
    let fence = fence(&store).await?;
    assert_eq!(store.deliver(&push(fence, at(5), 9)).await?, [Delivered::Added]);
    assert_eq!(all(&store).await?, None);
    store.open(reader(1), fence, Nonce(1)).await?;
    let slice = all(&store).await?.unwrap();
    assert_eq!((slice.rows, slice.header.basis, slice.header.floor), (vec![at(5)], None, Position::NEWEST));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cassandra_neither_trims_nor_removes_single_rows() -> Result<()> {
    let store = in_cassandra().await?;
    let fence = fence(&store).await?;
    let opened = store.open(reader(1), fence, Nonce(1)).await?;
    let rows: Vec<Position> = (1..=40).map(at).collect();
    let claim = Claim { rows, floor: Position::OLDEST, basis: Basis(3), nonce: Nonce(2) };
    assert!(store.claim(reader(1), (fence.token, opened), &claim, KEEP).await?);
    assert!(!store.is_too_long(reader(1), KEEP).await?);
    let cleared = Cleared { rows: vec![at(40)], basis: Basis(4), nonce: Nonce(3) };
    assert!(!store.remove(reader(1), (fence.token, Revision(2)), &cleared).await?);
    store.deliver(&push(fence, at(41), 9)).await?;
    let slice = all(&store).await?.unwrap();
    assert_eq!((slice.rows.len(), slice.header.revision, slice.header.floor), (41, Revision(2), Position::OLDEST));
    assert!(store.is_too_long(reader(1), KEEP).await?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_in_cassandra_go_with_their_fence_for_good() -> Result<()> {
    let store = in_cassandra().await?;
    let first = fence(&store).await?;
    let second = Fence { generation: Generation(4), ..first };
    store.open(reader(1), first, Nonce(1)).await?;
    store.deliver(&push(first, at(5), 9)).await?;
    store.open(reader(1), second, Nonce(1)).await?;
    assert_eq!(all(&store).await?.unwrap().rows, []);
    let refused = store.open(reader(1), first, Nonce(2)).await;
    assert!(matches!(refused, Err(InboxStoreError::Spent)), "{refused:?}");
    assert_eq!(all(&store).await?.unwrap().header.fence, second);
    store.forget(reader(1)).await?;
    assert_eq!(all(&store).await?, None);
    let refused = store.open(reader(1), second, Nonce(3)).await;
    assert!(matches!(refused, Err(InboxStoreError::Spent)), "{refused:?}");
    Ok(())
}
