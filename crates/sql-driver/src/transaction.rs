//! Runs transactions: begins them as the engine needs it, always ends them, and repeats contended ones as a whole. All
//! transactions share this one retry.

use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use sea_orm::Value;
use store_error::StoreError;
use tokio::{
    sync::OwnedSemaphorePermit,
    task::spawn_blocking,
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    database::{Database, Writer},
    error::{committing_error, died, writer_error},
    open_transaction::{Ended, InFile, Inner, Open, Parts, Runs, Tx},
    server::transaction::ServerTransaction,
    sqlite::shared_commits::SharedCommits,
    sqlite::writer::{FileTransaction, SqliteWriter},
};

/// How often a contended transaction is tried at most.
const ATTEMPTS: u32 = 6;
/// The pause after the first attempt; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(4);

impl Database {
    /// Runs `work` in one transaction, which `work` ends. After contention (a deadlock or a lock time-out) it is
    /// rolled back and run again after a short pause. So `work` may run several times and must not keep anything from
    /// a failed run.
    pub async fn transaction<T, F>(&self, work: impl Fn(Tx) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Ended<T>, StoreError>>,
    {
        self.transaction_that(Runs::HandedOver, work).await
    }

    /// As [`Self::transaction`], for one whose statements each change or find a few rows by their keys. A statement
    /// that does not is handed over by [`Tx::execute_on`].
    pub async fn brief_transaction<T, F>(&self, work: impl Fn(Tx) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Ended<T>, StoreError>>,
    {
        self.transaction_that(Runs::Here, work).await
    }

    async fn transaction_that<T, F>(&self, runs: Runs, work: impl Fn(Tx) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Ended<T>, StoreError>>,
    {
        let work = &work;
        let whole = move || async move { work(self.begin(runs).await?).await };
        let done = self.while_contended(whole).await.map(Ended::into_inner);
        self.writability.note(&done);
        done
    }

    /// One statement that writes, in a transaction of its own. Returns the rows affected: on MySQL an update counts
    /// those it found, changed or not.
    pub async fn write(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<u64, StoreError> {
        let values = &values.into_iter().collect::<Vec<_>>();
        let attempt = move || async move {
            let Writer::Server(connections) = &self.writer else {
                let tx = self.begin(Runs::HandedOver).await?;
                let written = tx.execute(sql, values.iter().cloned()).await?;
                return tx.commit(written).await.map(Ended::into_inner);
            };
            self.sent.fetch_add(1, Ordering::Relaxed);
            let (connections, sql, values) = (connections.clone(), sql.to_owned(), values.clone());
            let write = async move { connections.execute(sql, values).await };
            self.finished(write).await?.0.map_err(committing_error)
        };
        let done = self.while_contended(attempt).await;
        self.writability.note(&done);
        done
    }

    /// Limits `work` to the time limit of an operation.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        match timeout(self.limits.operation, work).await {
            Ok(done) => done,
            Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
        }
    }

    /// Repeats `attempt` while it is contended, within the limit for a write.
    pub(crate) async fn while_contended<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let deadline = Instant::now() + self.limits.write;
        let mut pause = FIRST_PAUSE;
        let mut attempts = 1;
        loop {
            match timeout_at(deadline, attempt()).await {
                // An attempt that would be cut off is not begun, so that a contended result means that nothing was
                // done.
                Ok(Err(StoreError::Contended(_)))
                    if attempts < ATTEMPTS && Instant::now() + pause + self.limits.lock_wait <= deadline =>
                {
                    sleep(pause).await;
                }
                Ok(done) => return done,
                Err(elapsed) => return Err(StoreError::Unavailable(Box::new(elapsed))),
            }
            pause *= 2;
            attempts += 1;
        }
    }

    /// Begins a transaction, once a connection is free, which its owner ends and nobody repeats. On a server it begins
    /// with its first statement.
    pub async fn begin(&self, runs: Runs) -> Result<Tx, StoreError> {
        let permit = self.permits.take().await?;
        self.begun.fetch_add(1, Ordering::Relaxed);
        let parts = match &self.writer {
            Writer::Server(connections) => {
                Parts { inner: Inner::Server(ServerTransaction::new(connections.clone())), permit }
            }
            Writer::File(writer, shared_commits) => begin_in_file(writer, shared_commits, permit).await?,
        };
        let open = Open(Some(parts));
        let (open, sent, finisher) = (Arc::new(open), Arc::clone(&self.sent), self.finisher);
        Ok(Tx { dialect: self.dialect, open, runs, sent, finisher })
    }

    /// Runs `work` with a permit and returns both. If the caller is dropped, work that has a permit runs to its end,
    /// and work that waits for one is dropped, so abandoned tasks never queue for connections.
    pub(crate) async fn finished<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<(T, OwnedSemaphorePermit), StoreError> {
        let permit = self.permits.take().await?;
        Ok(self.finisher.finish(async move { (work.await, permit) }).await)
    }
}

/// Joins the group of transactions whose commit is due, if there is one.
async fn begin_in_file(
    writer: &Arc<SqliteWriter>,
    shared_commits: &SharedCommits,
    permit: OwnedSemaphorePermit,
) -> Result<Parts, StoreError> {
    let group = shared_commits.take();
    let (transaction, permit) = match &group {
        Some(group) => (group.savepoint().map_err(writer_error)?, permit),
        None => begin_alone(writer, permit).await?,
    };
    let file = InFile { transaction, group, shared_commits: shared_commits.clone(), began: Instant::now() };
    Ok(Parts { inner: Inner::File(file), permit })
}

/// Waits for another process on a thread for blocking work, and keeps the permit there.
async fn begin_alone(
    writer: &Arc<SqliteWriter>,
    permit: OwnedSemaphorePermit,
) -> Result<(FileTransaction, OwnedSemaphorePermit), StoreError> {
    if let Some(transaction) = writer.try_begin().map_err(writer_error)? {
        return Ok((transaction, permit));
    }
    let writer = Arc::clone(writer);
    let waited = spawn_blocking(move || writer.begin().map(|transaction| (transaction, permit))).await;
    waited.map_err(died)?.map_err(writer_error)
}
