//! Transactions of SQLite that share a commit. One connection writes, and what a commit costs is its wait for the disk:
//! a transaction that ends while others wait for the connection leaves its commit to the last of them. Each one after
//! the first is a savepoint of the first, so that it can be undone alone.
//!
//! Nobody is told how a transaction has ended before the commit that it shares is on the disk: neither one that was
//! committed nor one that was rolled back, which may have read what the others wrote. If the commit fails, all of them
//! have failed.
//!
//! Who has the connection's turn has the open transaction. Who gives the turn away with a transaction still open takes
//! a turn again, behind those who have waited since before, and commits for all. Without others the turn is free at
//! once, so that nothing waits for company.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sea_orm::{DatabaseTransaction, DbErr, TransactionTrait};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};

use super::{connection_permits::ConnectionPermits, error::commit_error};
use crate::store::StoreError;

/// A commit is shared by transactions that end within this time after the first began.
const LONGEST: Duration = Duration::from_millis(10);

/// Transactions that have ended and wait for their commit.
pub(super) struct Group {
    /// The first one's, which the others are savepoints of.
    outer: DatabaseTransaction,
    began: Instant,
    waiting: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

impl Group {
    /// A savepoint of the first transaction.
    pub(super) async fn begin(&self) -> Result<DatabaseTransaction, DbErr> {
        self.outer.begin().await
    }

    /// Of the first transaction alone.
    pub(super) fn of(outer: DatabaseTransaction, began: Instant) -> Self {
        Self { outer, began, waiting: Vec::new() }
    }

    /// Commits, and tells all who wait.
    async fn commit(self) {
        let done = self.outer.commit().await.map_err(commit_error);
        for waiting in self.waiting {
            // Who has given up is not told.
            let _ = waiting.send(done.as_ref().copied().map_err(for_another));
        }
    }
}

/// The writing connection's commits. Clones share them.
#[derive(Clone)]
pub(super) struct SharedCommits {
    permits: ConnectionPermits,
    open: Arc<Mutex<Option<Group>>>,
    commits: Arc<AtomicU64>,
}

impl std::fmt::Debug for SharedCommits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedCommits").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl SharedCommits {
    /// Of the connection that `turns` are for.
    pub(super) fn new(permits: ConnectionPermits) -> Self {
        Self { permits, open: Arc::default(), commits: Arc::default() }
    }

    /// What was left open. Only for who has the turn, who then gives it back, or drops it and so undoes it.
    pub(super) fn take(&self) -> Option<Group> {
        self.slot().take()
    }

    /// Commits so far.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Waits until `group` has been committed, by whoever comes to it first. The caller has the turn, and has ended its
    /// own savepoint.
    pub(super) async fn end(&self, mut group: Group, permit: OwnedSemaphorePermit) -> Result<(), StoreError> {
        let (sender, mut ended) = oneshot::channel();
        group.waiting.push(sender);
        if group.began.elapsed() > LONGEST {
            self.commit_all(group).await;
            return told(ended.await);
        }
        *self.slot() = Some(group);
        drop(permit);
        let permit = tokio::select! {
            biased;
            ended = &mut ended => return told(ended),
            permit = self.permits.take_again() => permit?,
        };
        // Nobody else ends it from here on: it has ended, or is still there.
        match ended.try_recv() {
            Err(oneshot::error::TryRecvError::Empty) => {}
            Ok(ended) => return ended,
            Err(oneshot::error::TryRecvError::Closed) => return Err(undone()),
        }
        if let Some(group) = self.take() {
            self.commit_all(group).await;
        }
        drop(permit);
        told(ended.await)
    }

    async fn commit_all(&self, group: Group) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        group.commit().await;
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Group>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One whose sender was dropped was undone with its group.
fn told(ended: Result<Result<(), StoreError>, oneshot::error::RecvError>) -> Result<(), StoreError> {
    ended.unwrap_or_else(|_| Err(undone()))
}

/// Nothing was done, and trying again may help.
fn undone() -> StoreError {
    StoreError::Contended("undone with the transactions whose commit it would have shared".into())
}

/// The same failure, told to another one.
fn for_another(error: &StoreError) -> StoreError {
    let cause = error.with_causes().into();
    match error {
        StoreError::Contended(_) => StoreError::Contended(cause),
        StoreError::TakesNoWrites(_) => StoreError::TakesNoWrites(cause),
        _ => StoreError::Unavailable(cause),
    }
}
