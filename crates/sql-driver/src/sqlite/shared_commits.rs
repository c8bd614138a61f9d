//! Transactions of SQLite that share a commit. One connection writes, and a commit waits for the disk. So a transaction
//! that ends while others wait for the connection leaves its commit to the last of them. Each transaction after the
//! first is a savepoint of the first, and can be rolled back alone.
//!
//! Every transaction reports its end only when the shared commit is on the disk. That holds for a rolled back one, too:
//! it may have read what the others wrote. If the commit fails, all of them fail.
//!
//! The holder of the connection's permit owns the open transaction. A caller that returns the permit with the
//! transaction still open queues for the permit again, behind the callers that already wait, and then commits for all.
//! If nobody waits, it gets the permit at once, so a lone transaction is not delayed.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use store_error::StoreError;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    task::spawn_blocking,
    time::Instant,
};

use crate::{
    connection_permits::ConnectionPermits,
    error::{WriterError, died, writer_commit_error},
    sqlite::writer::FileTransaction,
};

/// Transactions that end within this time after the first began may share its commit.
const LONGEST: Duration = Duration::from_millis(10);

/// Transactions that have ended and wait for their commit.
pub(crate) struct Group {
    /// The first transaction; the others are its savepoints.
    outer: FileTransaction,
    began: Instant,
    waiting: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

impl Group {
    /// Begins a savepoint of the first transaction.
    pub(crate) fn savepoint(&self) -> Result<FileTransaction, WriterError> {
        self.outer.savepoint()
    }

    /// A group with only the first transaction.
    pub(crate) fn of(outer: FileTransaction, began: Instant) -> Self {
        Self { outer, began, waiting: Vec::new() }
    }

    /// Commits on a thread for blocking work, because a commit waits for the disk. Answers all waiting callers.
    async fn commit(self) {
        let outer = self.outer;
        let done = match spawn_blocking(move || outer.commit()).await {
            Ok(done) => done.map_err(writer_commit_error),
            Err(error) => Err(died(error)),
        };
        for waiting in self.waiting {
            // A caller that has given up gets no answer.
            let _ = waiting.send(done.as_ref().copied().map_err(for_another));
        }
    }
}

/// The writing connection's commits. Clones share them.
#[derive(Clone)]
pub(crate) struct SharedCommits {
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
    /// For the connection that `permits` belong to.
    pub(crate) fn new(permits: ConnectionPermits) -> Self {
        Self { permits, open: Arc::default(), commits: Arc::default() }
    }

    /// The open group. Only the holder of the permit may call this; dropping the group rolls it back.
    pub(crate) fn take(&self) -> Option<Group> {
        self.slot().take()
    }

    /// Commits so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Waits until `group` is committed, by this caller or another. The caller holds the permit and has ended its own
    /// savepoint.
    pub(crate) async fn end(&self, mut group: Group, permit: OwnedSemaphorePermit) -> Result<(), StoreError> {
        let (sender, mut ended) = oneshot::channel();
        group.waiting.push(sender);
        if group.began.elapsed() > LONGEST {
            self.commit_all(group).await;
            return outcome(ended.await);
        }
        *self.slot() = Some(group);
        drop(permit);
        let permit = tokio::select! {
            biased;
            ended = &mut ended => return outcome(ended),
            permit = self.permits.take_again() => permit,
        };
        // Closing the store commits.
        let Ok(permit) = permit else { return outcome(ended.await) };
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
        outcome(ended.await)
    }

    /// Commits what is still open. The permits are closed and returned.
    pub(crate) async fn finish(&self) {
        if let Some(group) = self.take() {
            self.commit_all(group).await;
        }
    }

    async fn commit_all(&self, group: Group) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        group.commit().await;
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Group>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If the sender was dropped, the group was rolled back.
fn outcome(ended: Result<Result<(), StoreError>, oneshot::error::RecvError>) -> Result<(), StoreError> {
    ended.unwrap_or_else(|_| Err(undone()))
}

/// Nothing was done; a retry may help.
fn undone() -> StoreError {
    StoreError::Contended("undone with the transactions whose commit it would have shared".into())
}

/// A copy of the error for another caller.
fn for_another(error: &StoreError) -> StoreError {
    let cause = error.with_causes().into();
    match error {
        StoreError::Contended(_) => StoreError::Contended(cause),
        StoreError::TakesNoWrites(_) => StoreError::TakesNoWrites(cause),
        _ => StoreError::Unavailable(cause),
    }
}
