//! Runs transactions: begins them as the engine needs it, always ends them, and repeats contended ones as a whole. All
//! ports share this one retry.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbErr, SqliteTransactionMode, Statement, TransactionOptions,
    TransactionTrait, Value,
};
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    SqlStore,
    dialect::Dialect,
    error::{commit_error, is_unique_violation, store_error},
    finish::Finisher,
    rows::Row,
    shared_commits::{Group, SharedCommits},
};
use crate::store::StoreError;

/// How often a contended transaction is tried at most.
const ATTEMPTS: u32 = 6;
/// The pause after the first attempt; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(4);

/// The result of a transaction that has ended. Only [`Tx::commit`] and [`Tx::roll_back`] make it, so none can be left
/// open.
#[derive(Debug)]
pub(super) struct Ended<T>(T);

/// An open transaction. Dropping it rolls it back, after a running statement has ended.
pub(super) struct Tx {
    dialect: Dialect,
    inner: Arc<Open>,
    sent: Arc<AtomicU64>,
    finisher: Finisher,
}

/// The parts of an open transaction, until it is ended or dropped.
struct Open(Option<Parts>);

/// Dropped in order: a savepoint is rolled back before its group, and then the permit is returned.
struct Parts {
    inner: DatabaseTransaction,
    /// On SQLite, if `inner` is a savepoint in it.
    group: Option<Group>,
    permit: OwnedSemaphorePermit,
    shared_commits: Option<SharedCommits>,
    began: Instant,
}

impl Parts {
    async fn commit(self) -> Result<(), StoreError> {
        let (Some(commits), group) = (self.shared_commits, self.group) else {
            return self.inner.commit().await.map_err(commit_error);
        };
        let group = match group {
            None => Group::of(self.inner, self.began),
            Some(group) => {
                self.inner.commit().await.map_err(commit_error)?;
                group
            }
        };
        commits.end(group, self.permit).await
    }

    /// A savepoint waits for its group, because it may have read what the others wrote.
    async fn roll_back(self) -> Result<(), StoreError> {
        self.inner.rollback().await.map_err(store_error)?;
        match (self.shared_commits, self.group) {
            (Some(commits), Some(group)) => commits.end(group, self.permit).await,
            _ => Ok(()),
        }
    }
}

impl Open {
    fn inner(&self) -> Result<&DatabaseTransaction, DbErr> {
        let parts = self.0.as_ref().ok_or_else(|| DbErr::Custom("the transaction has ended".to_owned()))?;
        Ok(&parts.inner)
    }
}

/// Rolls back an abandoned savepoint without the others of its group.
impl Drop for Open {
    fn drop(&mut self) {
        let Some(parts) = self.0.take_if(|parts| parts.group.is_some()) else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            // If that fails, the whole group is rolled back, and its callers get an error.
            let _ = parts.roll_back().await;
        });
    }
}

impl SqlStore {
    /// Runs `work` in one transaction, which `work` ends. After contention (a deadlock or a lock time-out) it is
    /// rolled back and run again after a short pause. So `work` may run several times and must not keep anything from
    /// a failed run.
    pub(super) async fn transaction<T, F>(&self, work: impl Fn(Tx) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Ended<T>, StoreError>>,
    {
        let work = &work;
        let whole = move || async move { work(self.begin().await?).await };
        let done = self.while_contended(whole).await.map(|Ended(value)| value);
        self.writability.note(&done);
        done
    }

    /// One statement that writes, in a transaction of its own. Returns the rows affected: on MySQL an update counts
    /// those it found, changed or not.
    pub(super) async fn write(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<u64, StoreError> {
        let statement = &self.dialect.statement(sql, values);
        let attempt = move || async move {
            let statement = statement.clone();
            if self.shared_commits.is_some() {
                let tx = self.begin().await?;
                let written = tx.run(statement).await.map_err(store_error)?;
                return tx.commit(written).await.map(|Ended(written)| written);
            }
            self.sent.fetch_add(1, Ordering::Relaxed);
            let writer = self.writer.clone();
            let write = async move { writer.execute_raw(statement).await };
            self.finished(write).await?.0.map(|done| done.rows_affected()).map_err(store_error)
        };
        let done = self.while_contended(attempt).await;
        self.writability.note(&done);
        done
    }

    /// Limits `work` to the store's time limit.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        match timeout(self.limits.operation, work).await {
            Ok(done) => done,
            Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
        }
    }

    /// Repeats `attempt` while it is contended, within the store's limit for a write.
    async fn while_contended<T, F>(&self, attempt: impl Fn() -> F) -> Result<T, StoreError>
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

    /// On SQLite it takes the writer's lock at once. Otherwise a transaction that reads first would fail if another
    /// process wrote in between.
    pub(super) async fn begin(&self) -> Result<Tx, StoreError> {
        let immediate = Some(SqliteTransactionMode::Immediate);
        let options = TransactionOptions { sqlite_transaction_mode: immediate, ..TransactionOptions::default() };
        let (writer, shared_commits) = (self.writer.clone(), self.shared_commits.clone());
        let permit = self.permits.take().await?;
        self.begun.fetch_add(1, Ordering::Relaxed);
        let work = async move {
            let group = shared_commits.as_ref().and_then(SharedCommits::take);
            let inner = match &group {
                Some(group) => group.begin().await,
                None => writer.begin_with_options(options).await,
            };
            inner.map(|inner| Open(Some(Parts { inner, group, permit, shared_commits, began: Instant::now() })))
        };
        let (inner, finisher) = (self.finisher.finish(work).await.map_err(store_error)?, self.finisher.clone());
        Ok(Tx { dialect: self.dialect, inner: Arc::new(inner), sent: Arc::clone(&self.sent), finisher })
    }

    /// Runs `work` with a permit and returns both. If the caller is dropped, work that has a permit runs to its end,
    /// and work that waits for one is dropped, so abandoned tasks never queue for connections.
    pub(super) async fn finished<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<(T, OwnedSemaphorePermit), StoreError> {
        let permit = self.permits.take().await?;
        Ok(self.finisher.finish(async move { (work.await, permit) }).await)
    }
}

impl Tx {
    /// Whether it shares a commit with transactions that began before it.
    #[cfg(test)]
    pub(super) fn shares(&self) -> bool {
        self.inner.0.as_ref().is_some_and(|parts| parts.group.is_some())
    }

    /// Runs a statement; returns the rows affected, as [`SqlStore::write`] does.
    pub(super) async fn execute(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<u64, StoreError> {
        self.run(self.dialect.statement(sql, values)).await.map_err(store_error)
    }

    /// Runs an insert; `false` if a unique value of the row is there already, in which case nothing was inserted and
    /// the transaction goes on.
    pub(super) async fn insert(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<bool, StoreError> {
        match self.run(self.dialect.statement(sql, values)).await {
            Ok(_) => Ok(true),
            Err(error) if is_unique_violation(&error) => Ok(false),
            Err(error) => Err(store_error(error)),
        }
    }

    /// Rows of a statement.
    pub(super) async fn query(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let (inner, statement) = (Arc::clone(&self.inner), self.dialect.statement(sql, values));
        let asked = self.finisher.finish(async move { inner.inner()?.query_all_raw(statement).await });
        let rows = asked.await.map_err(store_error)?;
        Ok(rows.into_iter().map(Row::Driver).collect())
    }

    /// The first row of a statement that gives one or none.
    pub(super) async fn query_one(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// The engine's dialect.
    pub(super) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// For migrations, which use sea-orm.
    pub(super) fn inner(&self) -> Result<&DatabaseTransaction, StoreError> {
        self.inner.inner().map_err(store_error)
    }

    /// Commits, then returns `value`. Without the engine's confirmation the outcome is unknown:
    /// [`StoreError::Unavailable`].
    pub(super) async fn commit<T>(self, value: T) -> Result<Ended<T>, StoreError> {
        let (parts, finisher) = self.into_parts()?;
        finisher.finish(parts.commit()).await?;
        Ok(Ended(value))
    }

    /// Rolls back, then returns `value`.
    pub(super) async fn roll_back<T>(self, value: T) -> Result<Ended<T>, StoreError> {
        let (parts, finisher) = self.into_parts()?;
        finisher.finish(parts.roll_back()).await?;
        Ok(Ended(value))
    }

    async fn run(&self, statement: Statement) -> Result<u64, DbErr> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let inner = Arc::clone(&self.inner);
        let sent = self.finisher.finish(async move { inner.inner()?.execute_raw(statement).await });
        Ok(sent.await?.rows_affected())
    }

    /// Fails while an abandoned statement is running.
    fn into_parts(self) -> Result<(Parts, Finisher), StoreError> {
        let parts = Arc::into_inner(self.inner).and_then(|mut open| open.0.take());
        let parts = parts.ok_or("a statement that was given up is under way");
        Ok((parts.map_err(|reason| StoreError::Unavailable(reason.into()))?, self.finisher))
    }
}
