//! A transaction on a server, over one connection.

use sea_orm::{Value, sqlx};
use tokio::sync::Mutex;

use crate::{
    rows::Row,
    server::connections::{ServerConnection, ServerConnections, Several, is_usable_after},
};

/// An open transaction. Dropping it closes its connection, whereupon the server rolls back.
pub(crate) struct ServerTransaction(Mutex<State>);

enum State {
    /// It begins with its first statements, in one round trip.
    ToBegin(ServerConnections),
    Begun(ServerConnection),
    /// While statements use the connection, and after one that has ended it or was given up half way.
    Absent,
}

impl ServerTransaction {
    pub(crate) fn new(connections: ServerConnections) -> Self {
        Self(Mutex::new(State::ToBegin(connections)))
    }

    /// The rows of a statement, which stays prepared.
    pub(crate) async fn query(&self, sql: String, values: Vec<Value>) -> Result<Vec<Row>, sqlx::Error> {
        let mut state = self.0.lock().await;
        let mut connection = begun(&mut state).await?;
        let rows = connection.query(sql.into(), &values).await;
        *state = State::after(connection, &rows);
        rows
    }

    /// The rows affected by a statement, which stays prepared.
    pub(crate) async fn execute(&self, sql: String, values: Vec<Value>) -> Result<u64, sqlx::Error> {
        let mut state = self.0.lock().await;
        let mut connection = begun(&mut state).await?;
        let changed = connection.execute(sql, &values).await;
        *state = State::after(connection, &changed);
        changed
    }

    /// Statements in one round trip, up to the first that fails.
    pub(crate) async fn all(&self, statements: &[String]) -> Result<Several, sqlx::Error> {
        let mut state = self.0.lock().await;
        let (connection, done) = match std::mem::replace(&mut *state, State::Absent) {
            State::ToBegin(connections) => connections.begin(statements).await?,
            State::Begun(mut connection) => {
                let done = connection.all(statements.join("; ")).await;
                (connection, done)
            }
            State::Absent => return Err(ended()),
        };
        *state = State::after(connection, &done.1);
        Ok(done)
    }

    /// Commits. After an error except contention it is unknown whether the transaction was committed.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self.0.into_inner() {
            State::ToBegin(_) => Ok(()),
            State::Begun(connection) => connection.commit().await,
            State::Absent => Err(ended()),
        }
    }

    /// Rolls back. The server has done so already if the connection has ended.
    pub(crate) async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self.0.into_inner() {
            State::Begun(connection) => connection.roll_back().await,
            State::ToBegin(_) | State::Absent => Ok(()),
        }
    }
}

impl State {
    fn after<T>(connection: ServerConnection, done: &Result<T, sqlx::Error>) -> Self {
        if is_usable_after(done) { Self::Begun(connection) } else { Self::Absent }
    }
}

/// The connection of the transaction, which begins if it has not yet.
async fn begun(state: &mut State) -> Result<ServerConnection, sqlx::Error> {
    match std::mem::replace(state, State::Absent) {
        State::ToBegin(connections) => {
            let (connection, (_, begun)) = connections.begin(&[]).await?;
            begun.map(|()| connection)
        }
        State::Begun(connection) => Ok(connection),
        State::Absent => Err(ended()),
    }
}

fn ended() -> sqlx::Error {
    sqlx::Error::Protocol("the connection of this transaction has ended".to_owned())
}
