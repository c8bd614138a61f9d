//! The connections to a server: made when they are needed, and kept while they are idle. Users take turns by permits
//! (`connection_permits`).
//!
//! A connection is kept only if its work has ended and its server has answered, so that nothing has to be asked of it.
//! The driver's own pool pings each connection that comes back, in a task of its own. A connection whose work is given
//! up half way is closed: sqlx counts a transaction only once its `BEGIN` is answered, and does not know how much of an
//! answer it has read.

use std::{
    io::{self, ErrorKind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use certificates::refusal;
use futures_util::TryStreamExt as _;
use sea_orm::{
    Value,
    sqlx::{
        self, Arguments as _, AssertSqlSafe, ConnectOptions as _, Connection as _, Either, Executor as _,
        MySqlConnection,
        mysql::{MySqlArguments, MySqlConnectOptions},
    },
};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    error::{has_ended_connection, is_of_read_only_server},
    rows::Row,
};

/// A connection that was idle for longer is pinged before it is used.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);
/// The same for a single statement that writes, which cannot be repeated: if its connection ends, nobody knows whether
/// it was done.
const TRUSTED_IDLE_FOR_A_WRITE: Duration = Duration::from_millis(20);
/// A connection that is older is replaced before it is used again, because a proxy or a DNS name may point to another
/// server by now.
const LONGEST_LIFE: Duration = Duration::from_mins(30);
/// The least time between two departures from a read-only server. While it stays read-only, writes are refused all the
/// time, and reads must not need a new connection after each.
const SHORTEST_STAY: Duration = Duration::from_secs(1);
/// The pause before a server that refuses connections is tried again; each later one is twice as long, up to the
/// longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The counter of requests to a server of SQL that were answered, or given up, by whether it is the primary or a
/// replica. Making a connection is not counted, nor preparing a statement, which each connection does once for each
/// text.
pub const ROUND_TRIPS: &str = "tidefeed_store_round_trips_total";

/// Clones share the connections.
#[derive(Clone)]
pub(crate) struct ServerConnections(Arc<Shared>);

struct Shared {
    server: MySqlConnectOptions,
    /// Configures a new session.
    session: String,
    /// How long to wait for a connection.
    patience: Duration,
    /// Whose certificates are taken, in words.
    authorities: String,
    /// "primary" or "replica".
    role: &'static str,
    trips: metrics::Counter,
    kept: Mutex<Kept>,
}

/// What is kept for later.
#[derive(Default)]
struct Kept {
    /// The last one was in use last.
    idle: Vec<Idle>,
    /// When a read-only server was left last. Connections that were made before are not kept.
    left: Option<Instant>,
}

struct Idle {
    connection: MySqlConnection,
    made: Instant,
    since: Instant,
}

/// The options hold a password.
impl std::fmt::Debug for ServerConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerConnections").field("idle", &self.kept().idle.len()).finish_non_exhaustive()
    }
}

impl ServerConnections {
    /// Connects to nobody yet. `session` is a statement that configures each new session; `authorities` says in words
    /// whose certificates are taken.
    pub(crate) fn to(server: MySqlConnectOptions, session: String, patience: Duration, authorities: String) -> Self {
        Self::with_role("primary", (server, session, authorities), patience)
    }

    /// The same server as a replica.
    pub(crate) fn of_replica(&self) -> Self {
        let Shared { server, session, authorities, patience, .. } = &*self.0;
        Self::with_role("replica", (server.clone(), session.clone(), authorities.clone()), *patience)
    }

    fn with_role(
        role: &'static str,
        (server, session, authorities): (MySqlConnectOptions, String, String),
        patience: Duration,
    ) -> Self {
        let trips = metrics::counter!(ROUND_TRIPS, "server" => role);
        Self(Arc::new(Shared { server, session, patience, authorities, role, trips, kept: Mutex::default() }))
    }

    /// Other connections to the same server.
    pub(crate) fn separate(&self, patience: Duration) -> Self {
        let Shared { server, session, authorities, role, .. } = &*self.0;
        Self::with_role(role, (server.clone(), session.clone(), authorities.clone()), patience)
    }

    /// As [`Self::try_take`]; whatever the server says to a new connection, it cannot be reached.
    pub(crate) async fn take(&self) -> Result<ServerConnection, sqlx::Error> {
        self.try_take().await.map_err(unreachable)
    }

    /// An idle connection, or a new one. Waits for a server that refuses connections.
    pub(crate) async fn try_take(&self) -> Result<ServerConnection, sqlx::Error> {
        self.try_take_trusting(TRUSTED_IDLE).await
    }

    /// As [`Self::try_take`], where one that was idle for longer than `trusted` is pinged.
    async fn try_take_trusting(&self, trusted: Duration) -> Result<ServerConnection, sqlx::Error> {
        if let Some(taken) = self.take_trusted(trusted) {
            return Ok(taken);
        }
        // Boxed, because it is large and rare.
        let taken = timeout(self.0.patience, Box::pin(self.take_slowly(trusted)));
        taken.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// A new connection, such as after an idle one was found to have ended.
    pub(crate) async fn fresh(&self) -> Result<ServerConnection, sqlx::Error> {
        let made = timeout(self.0.patience, Box::pin(self.connect())).await;
        made.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map_err(unreachable)
    }

    /// Runs one statement that reads, on a connection of its own; again on a new one if it was an idle one that had
    /// ended.
    pub(crate) async fn query(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Vec<Row>, sqlx::Error> {
        let mut connection = self.take().await?;
        let mut rows = connection.query(Arc::clone(&sql), &values).await;
        if connection.was_idle && !is_usable_after(&rows) {
            connection = self.fresh().await?;
            rows = connection.query(sql, &values).await;
        }
        connection.give_back_after(&rows);
        rows
    }

    /// A connection on which a transaction has begun with these statements, and what they have answered; on a new one
    /// if an idle one had ended. What an ended one had begun is not committed.
    pub(crate) async fn begin(&self, statements: &[String]) -> Result<(ServerConnection, Several), sqlx::Error> {
        let text = std::iter::once("BEGIN").chain(statements.iter().map(String::as_str)).collect::<Vec<_>>().join("; ");
        let mut connection = self.take().await?;
        let mut begun = connection.all(text.clone()).await;
        if connection.was_idle && !is_usable_after(&begun.1) {
            connection = self.fresh().await?;
            begun = connection.all(text).await;
        }
        if !begun.0.is_empty() {
            begun.0.remove(0);
        }
        Ok((connection, begun))
    }

    /// Runs one statement that writes, on a connection of its own; returns the rows affected.
    pub(crate) async fn execute(&self, sql: String, values: Vec<Value>) -> Result<u64, sqlx::Error> {
        let mut connection = self.try_take_trusting(TRUSTED_IDLE_FOR_A_WRITE).await.map_err(unreachable)?;
        let changed = connection.execute(sql, &values).await;
        connection.give_back_after(&changed);
        changed
    }

    /// Closes an idle connection, if there is one.
    pub(crate) async fn close_one(&self) {
        let idle = self.kept().idle.pop();
        if let Some(Idle { connection, .. }) = idle {
            close(connection).await;
        }
    }

    /// How long to wait for a connection.
    pub(crate) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// The server.
    pub(crate) fn server(&self) -> &MySqlConnectOptions {
        &self.0.server
    }

    /// Configures a new session.
    pub(crate) async fn configure(&self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
        connection.execute(AssertSqlSafe(self.0.session.clone())).await.map(drop)
    }

    /// Closes the idle connections. The caller has made sure that no others are in use.
    pub(crate) async fn close(&self) {
        let idle = std::mem::take(&mut self.kept().idle);
        for Idle { connection, .. } in idle {
            close(connection).await;
        }
    }

    /// The connection that was in use last, if that was just now.
    fn take_trusted(&self, trusted: Duration) -> Option<ServerConnection> {
        let is_trusted = |it: &mut Idle| it.since.elapsed() <= trusted && it.made.elapsed() <= LONGEST_LIFE;
        let Idle { connection, made, .. } = self.kept().idle.pop_if(is_trusted)?;
        Some(ServerConnection { connection, made, was_idle: true, home: self.clone() })
    }

    async fn take_slowly(&self, trusted: Duration) -> Result<ServerConnection, sqlx::Error> {
        match self.take_idle(trusted).await {
            Some(taken) => Ok(taken),
            None => self.connect().await,
        }
    }

    async fn take_idle(&self, trusted: Duration) -> Option<ServerConnection> {
        loop {
            let Idle { mut connection, made, since } = self.kept().idle.pop()?;
            if made.elapsed() > LONGEST_LIFE {
                close(connection).await;
            } else if since.elapsed() <= trusted || self.answers(&mut connection).await {
                return Some(ServerConnection { connection, made, was_idle: true, home: self.clone() });
            }
        }
    }

    /// Whether its server answers, soon.
    async fn answers(&self, connection: &mut MySqlConnection) -> bool {
        self.0.trips.increment(1);
        matches!(timeout(TRUSTED_IDLE, connection.ping()).await, Ok(Ok(())))
    }

    async fn connect(&self) -> Result<ServerConnection, sqlx::Error> {
        let mut pause = FIRST_PAUSE;
        let (mut connection, made) = loop {
            // Before it is known which server answers: that one may be left meanwhile.
            let made = Instant::now();
            match self.0.server.connect().await {
                Err(error) if is_refused(&error) => sleep(pause).await,
                done => break (done.map_err(|error| self.explained(error))?, made),
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        };
        self.configure(&mut connection).await?;
        Ok(ServerConnection { connection, made, was_idle: false, home: self.clone() })
    }

    /// What a refusal because of a certificate means.
    fn explained(&self, error: sqlx::Error) -> sqlx::Error {
        match refusal(&error, &self.0.authorities) {
            Some(refusal) => sqlx::Error::Tls(Box::new(refusal)),
            None => error,
        }
    }

    /// Leaves a server that takes no writes: it may be a former primary, whose name leads to another one by now. Idle
    /// connections are closed, and those in use after their work.
    fn leave(&self) {
        let mut kept = self.kept();
        if kept.left.is_none_or(|left| left.elapsed() >= SHORTEST_STAY) {
            kept.idle.clear();
            kept.left = Some(Instant::now());
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rows of each statement that has run and how many it has affected, and the error of the one after them.
pub(crate) type Several = (Vec<(Vec<Row>, u64)>, Result<(), sqlx::Error>);

/// A connection in use. Dropping it closes it.
pub(crate) struct ServerConnection {
    connection: MySqlConnection,
    made: Instant,
    /// Whether it was kept for later, and may have ended meanwhile.
    was_idle: bool,
    home: ServerConnections,
}

impl ServerConnection {
    /// Whether it need not be replaced yet.
    pub(crate) fn is_young(&self) -> bool {
        self.made.elapsed() <= LONGEST_LIFE
    }

    /// The rows of a statement, which stays prepared.
    pub(crate) async fn query(&mut self, sql: Arc<str>, values: &[Value]) -> Result<Vec<Row>, sqlx::Error> {
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments(values)?);
        self.home.0.trips.increment(1);
        let rows = query.fetch_all(&mut self.connection).await.map_err(|error| self.noted(error))?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// The rows affected by a statement, which stays prepared.
    pub(crate) async fn execute(&mut self, sql: String, values: &[Value]) -> Result<u64, sqlx::Error> {
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments(values)?);
        self.home.0.trips.increment(1);
        let done = query.execute(&mut self.connection).await.map_err(|error| self.noted(error));
        Ok(done?.rows_affected())
    }

    /// Runs the statements of a text, in one round trip, up to the first that fails.
    pub(crate) async fn all(&mut self, text: String) -> Several {
        self.home.0.trips.increment(1);
        let mut results = sqlx::raw_sql(AssertSqlSafe(text)).fetch_many(&mut self.connection);
        let (mut given, mut rows) = (Vec::new(), Vec::new());
        let error = loop {
            match results.try_next().await {
                Ok(Some(Either::Right(row))) => rows.push(Row::from(row)),
                Ok(Some(Either::Left(done))) => given.push((std::mem::take(&mut rows), done.rows_affected())),
                Ok(None) => return (given, Ok(())),
                Err(error) => break error,
            }
        };
        drop(results);
        (given, Err(self.noted(error)))
    }

    /// Leaves a server that takes no writes.
    fn noted(&self, error: sqlx::Error) -> sqlx::Error {
        if error.as_database_error().is_some_and(is_of_read_only_server) {
            self.home.leave();
        }
        error
    }

    /// Commits. After an error except contention it is unknown whether the transaction was committed.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.home.0.trips.increment(1);
        self.connection.execute("COMMIT").await?;
        self.give_back();
        Ok(())
    }

    /// Rolls back. If the server does not answer, it rolls back once the connection is closed.
    pub(crate) async fn roll_back(mut self) -> Result<(), sqlx::Error> {
        self.home.0.trips.increment(1);
        let undone = timeout(self.home.0.patience, self.connection.execute("ROLLBACK")).await;
        undone.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        self.give_back();
        Ok(())
    }

    /// As [`Self::give_back`], unless its last statement has ended it.
    fn give_back_after<T>(self, done: &Result<T, sqlx::Error>) {
        if is_usable_after(done) {
            self.give_back();
        }
    }

    /// Keeps it for the next user, unless its server was left meanwhile.
    pub(crate) fn give_back(self) {
        let Self { connection, made, home, .. } = self;
        let mut kept = home.kept();
        if kept.left.is_none_or(|left| made > left) {
            kept.idle.push(Idle { connection, made, since: Instant::now() });
        }
    }
}

/// Whether a connection goes on after a statement that ended so: the server has answered, and has not closed it.
pub(crate) fn is_usable_after<T>(done: &Result<T, sqlx::Error>) -> bool {
    match done {
        Ok(_) => true,
        Err(sqlx::Error::Database(error)) => !has_ended_connection(error.as_ref()),
        Err(_) => false,
    }
}

/// Tells the server, if it listens.
async fn close(connection: MySqlConnection) {
    // An error means that the connection has ended already.
    let _ = timeout(TRUSTED_IDLE, connection.close()).await;
}

/// Whether nobody listens at the address yet, or no more.
fn is_refused(error: &sqlx::Error) -> bool {
    let sqlx::Error::Io(error) = error else { return false };
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

/// Whatever the server says to a new connection, it cannot be reached.
fn unreachable(error: sqlx::Error) -> sqlx::Error {
    match error {
        sqlx::Error::Database(_) => sqlx::Error::Io(io::Error::other(error)),
        other => other,
    }
}

fn arguments(values: &[Value]) -> Result<MySqlArguments, sqlx::Error> {
    let mut arguments = MySqlArguments::default();
    for value in values {
        let added = match value {
            Value::Bool(it) => arguments.add(*it),
            Value::TinyInt(it) => arguments.add(*it),
            Value::SmallInt(it) => arguments.add(*it),
            Value::Int(it) => arguments.add(*it),
            Value::BigInt(it) => arguments.add(*it),
            Value::TinyUnsigned(it) => arguments.add(*it),
            Value::SmallUnsigned(it) => arguments.add(*it),
            Value::Unsigned(it) => arguments.add(*it),
            Value::BigUnsigned(it) => arguments.add(*it),
            Value::Double(it) => arguments.add(*it),
            Value::String(it) => arguments.add(it.clone()),
            Value::Bytes(it) => arguments.add(it.clone()),
            other => return Err(sqlx::Error::Encode(format!("no column takes {other:?}").into())),
        };
        added.map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}
