//! An open transaction: runs its statements, and commits it or rolls it back.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use sea_orm::{Value, sqlx};
use store_error::StoreError;
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    task::{JoinError, spawn_blocking},
    time::Instant,
};

use crate::{
    dialect::Dialect,
    error::{
        WriterError, commit_error, died, is_unique_violation, is_writers_unique_violation, store_error,
        writer_commit_error, writer_error,
    },
    finish::Finisher,
    fragment::Fragment,
    rows::{Answers, Row},
    server::transaction::ServerTransaction,
    sqlite::shared_commits::{Group, SharedCommits},
    sqlite::writer::FileTransaction,
};

/// The result of a transaction that has ended. Only [`Tx::commit`] and [`Tx::roll_back`] make it, so none can be left
/// open.
#[derive(Debug)]
pub struct Ended<T>(T);

impl<T> Ended<T> {
    /// What the transaction has returned.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Where the statements of a transaction run on SQLite. A server's statements wait for its answers instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// On the caller's thread: each statement changes or finds a few rows by their keys. Saves two hand-overs each.
    Here,
    /// On a thread for blocking work.
    HandedOver,
}

/// An open transaction. Dropping it rolls it back, after a running statement has ended.
pub struct Tx {
    pub(crate) dialect: Dialect,
    pub(crate) open: Arc<Open>,
    pub(crate) runs: Runs,
    pub(crate) sent: Arc<AtomicU64>,
    pub(crate) finisher: Finisher,
}

/// The parts of an open transaction, until it is ended or dropped.
pub(crate) struct Open(pub(crate) Option<Parts>);

/// Dropped in order, so that a transaction is rolled back before its permit is returned.
pub(crate) struct Parts {
    pub(crate) inner: Inner,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// A transaction of an engine.
pub(crate) enum Inner {
    /// MySQL, MariaDB.
    Server(ServerTransaction),
    /// SQLite.
    File(InFile),
}

/// Dropped in order: a savepoint is rolled back before its group.
pub(crate) struct InFile {
    pub(crate) transaction: FileTransaction,
    /// If `transaction` is a savepoint in it.
    pub(crate) group: Option<Group>,
    pub(crate) shared_commits: SharedCommits,
    pub(crate) began: Instant,
}

impl InFile {
    async fn commit(self, permit: OwnedSemaphorePermit) -> Result<(), StoreError> {
        let group = match self.group {
            None => Group::of(self.transaction, self.began),
            Some(group) => {
                self.transaction.commit().map_err(writer_commit_error)?;
                group
            }
        };
        self.shared_commits.end(group, permit).await
    }

    /// A savepoint waits for its group, because it may have read what the others wrote.
    async fn roll_back(self, permit: OwnedSemaphorePermit) -> Result<(), StoreError> {
        self.transaction.roll_back().map_err(writer_error)?;
        match self.group {
            Some(group) => self.shared_commits.end(group, permit).await,
            None => Ok(()),
        }
    }
}

impl Parts {
    async fn commit(self) -> Result<(), StoreError> {
        match self.inner {
            Inner::Server(transaction) => transaction.commit().await.map_err(commit_error),
            Inner::File(file) => file.commit(self.permit).await,
        }
    }

    async fn roll_back(self) -> Result<(), StoreError> {
        match self.inner {
            Inner::Server(transaction) => transaction.roll_back().await.map_err(store_error),
            Inner::File(file) => file.roll_back(self.permit).await,
        }
    }

    /// Whether dropping it would undo more than itself, or cost its connection.
    fn is_to_be_rolled_back(&self) -> bool {
        match &self.inner {
            Inner::Server(_) => true,
            Inner::File(file) => file.group.is_some(),
        }
    }
}

impl Open {
    fn server(&self) -> Result<&ServerTransaction, sqlx::Error> {
        match &self.0 {
            Some(Parts { inner: Inner::Server(transaction), .. }) => Ok(transaction),
            _ => Err(sqlx::Error::Protocol("there is no transaction on a server".to_owned())),
        }
    }

    fn file(&self) -> Option<&FileTransaction> {
        match &self.0 {
            Some(Parts { inner: Inner::File(file), .. }) => Some(&file.transaction),
            _ => None,
        }
    }
}

/// Rolls back what was abandoned: a savepoint without the others of its group; a transaction on a server so that its
/// connection can be used again.
impl Drop for Open {
    fn drop(&mut self) {
        let Some(parts) = self.0.take_if(|parts| parts.is_to_be_rolled_back()) else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            // If that fails, the whole group is rolled back, and its callers get an error; a server rolls back once
            // the connection is closed.
            let _ = parts.roll_back().await;
        });
    }
}

/// Why a statement failed.
enum StatementError {
    Server(sqlx::Error),
    File(WriterError),
    Died(JoinError),
}

impl StatementError {
    fn is_unique_violation(&self) -> bool {
        match self {
            Self::Server(error) => is_unique_violation(error),
            Self::File(error) => is_writers_unique_violation(error),
            Self::Died(_) => false,
        }
    }
}

impl From<StatementError> for StoreError {
    fn from(error: StatementError) -> Self {
        match error {
            StatementError::Server(error) => store_error(error),
            StatementError::File(error) => writer_error(error),
            StatementError::Died(error) => died(error),
        }
    }
}

impl Tx {
    /// Whether it shares a commit with transactions that began before it.
    #[cfg(test)]
    pub(crate) fn shares(&self) -> bool {
        self.open.file().is_some_and(FileTransaction::is_savepoint)
    }

    /// Runs a statement; returns the rows affected, as [`Database::write`](crate::Database::write) does.
    pub async fn execute(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<u64, StoreError> {
        self.execute_on(self.runs, sql, values).await
    }

    /// As [`Self::execute`], for a statement that runs elsewhere than the transaction's others on SQLite.
    pub async fn execute_on(
        &self,
        runs: Runs,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<u64, StoreError> {
        Ok(self.run(runs, sql, values).await?)
    }

    /// Runs an insert; `false` if a unique value of the row is there already, in which case nothing was inserted and
    /// the transaction goes on.
    pub async fn insert(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<bool, StoreError> {
        match self.run(self.runs, sql, values).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_unique_violation() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Rows of a statement.
    pub async fn query(&self, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<Vec<Row>, StoreError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        if self.dialect == Dialect::Sqlite {
            return Ok(self.in_file(self.runs, sql, values, FileTransaction::query).await?);
        }
        let (open, sql, values) = (Arc::clone(&self.open), sql.to_owned(), values.into_iter().collect());
        let asked = async move { open.server()?.query(sql, values).await };
        Ok(self.finisher.finish(asked).await.map_err(StatementError::Server)?)
    }

    /// The first row of a statement that gives one or none.
    pub async fn query_one(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// Runs statements one after the other, on a server in one round trip.
    pub async fn all(&self, statements: impl IntoIterator<Item = Fragment>) -> Result<Answers, StoreError> {
        self.all_on(self.runs, statements).await
    }

    /// As [`Self::all`], for statements that run elsewhere than the transaction's others on SQLite.
    pub async fn all_on(
        &self,
        runs: Runs,
        statements: impl IntoIterator<Item = Fragment>,
    ) -> Result<Answers, StoreError> {
        match self.run_all(runs, statements.into_iter().collect()).await? {
            (answers, None) => Ok(answers),
            (_, Some(error)) => Err(error.into()),
        }
    }

    /// As [`Self::all`], up to the first that finds a unique value of its row there, which the answers name. It has
    /// inserted nothing, and the transaction goes on.
    pub async fn all_unless_there(
        &self,
        statements: impl IntoIterator<Item = Fragment>,
    ) -> Result<Answers, StoreError> {
        match self.run_all(self.runs, statements.into_iter().collect()).await? {
            (answers, Some(error)) if error.is_unique_violation() => {
                Ok(Answers { stopped_at: Some(answers.given.len()), ..answers })
            }
            (answers, None) => Ok(answers),
            (_, Some(error)) => Err(error.into()),
        }
    }

    /// The engine's dialect.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Commits, then returns `value`. Without the engine's confirmation the outcome is unknown:
    /// [`StoreError::Unavailable`].
    pub async fn commit<T>(self, value: T) -> Result<Ended<T>, StoreError> {
        let (parts, finisher) = self.into_parts()?;
        finisher.finish(parts.commit()).await?;
        Ok(Ended(value))
    }

    /// Rolls back, then returns `value`.
    pub async fn roll_back<T>(self, value: T) -> Result<Ended<T>, StoreError> {
        let (parts, finisher) = self.into_parts()?;
        finisher.finish(parts.roll_back()).await?;
        Ok(Ended(value))
    }

    /// The answers up to the first statement that fails, and its error.
    async fn run_all(
        &self,
        runs: Runs,
        statements: Vec<Fragment>,
    ) -> Result<(Answers, Option<StatementError>), StoreError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        if self.dialect != Dialect::Sqlite {
            let texts: Result<Vec<String>, _> = statements.iter().map(Fragment::literal).collect();
            let (open, texts) = (Arc::clone(&self.open), texts.map_err(store_error)?);
            let asked = async move { open.server()?.all(&texts).await };
            let (given, error) = self.finisher.finish(asked).await.map_err(store_error)?;
            return Ok((Answers { given, stopped_at: None }, error.err().map(StatementError::Server)));
        }
        let mut answers = Answers::default();
        for Fragment { text, values } in statements {
            let answer = if text.starts_with("SELECT") {
                self.in_file(runs, &text, values, FileTransaction::query).await.map(|rows| (rows, 0))
            } else {
                self.in_file(runs, &text, values, FileTransaction::execute).await.map(|changed| (Vec::new(), changed))
            };
            match answer {
                Ok(answer) => answers.given.push(answer),
                Err(error) => return Ok((answers, Some(error))),
            }
        }
        Ok((answers, None))
    }

    async fn run(&self, runs: Runs, sql: &str, values: impl IntoIterator<Item = Value>) -> Result<u64, StatementError> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        if self.dialect == Dialect::Sqlite {
            return self.in_file(runs, sql, values, FileTransaction::execute).await;
        }
        let (open, sql, values) = (Arc::clone(&self.open), sql.to_owned(), values.into_iter().collect());
        let sent = async move { open.server()?.execute(sql, values).await };
        self.finisher.finish(sent).await.map_err(StatementError::Server)
    }

    /// If the caller is dropped, a statement that was handed over runs to its end, and then the transaction is dropped.
    async fn in_file<T: Send + 'static>(
        &self,
        runs: Runs,
        sql: &str,
        values: impl IntoIterator<Item = Value>,
        statement: fn(&FileTransaction, &str, Vec<Value>) -> Result<T, WriterError>,
    ) -> Result<T, StatementError> {
        let (open, values) = (Arc::clone(&self.open), values.into_iter().collect());
        let run = move |sql: &str| open.file().map_or(Err(WriterError::Undone), |file| statement(file, sql, values));
        let done = match runs {
            Runs::Here => run(sql),
            Runs::HandedOver => {
                let sql = sql.to_owned();
                spawn_blocking(move || run(&sql)).await.map_err(StatementError::Died)?
            }
        };
        done.map_err(StatementError::File)
    }

    /// Fails while an abandoned statement is running.
    fn into_parts(self) -> Result<(Parts, Finisher), StoreError> {
        let parts = Arc::into_inner(self.open).and_then(|mut open| open.0.take());
        let parts = parts.ok_or("a statement that was given up is under way");
        Ok((parts.map_err(|reason| StoreError::Unavailable(reason.into()))?, self.finisher))
    }
}
